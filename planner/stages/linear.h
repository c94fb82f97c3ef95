/* linear.h - views a graph as a chain of stages: forward from the first to the last, then backward in reverse order.
 *
 * The forward operations end at the turn. They are cut where few bytes cross. The operations after the turn are assigned to
 * the stages whose values they read, as one range for each stage, the last stage first. So the scopes of the stages are
 * nested, like brackets: what stage k and all later ones need from the stages before is its *input*; what it made itself
 * and its own backward reads is its *record*. The operations after the last backward range (the optimizer) are the tail.
 *
 * The chain does not include persistent tensors and those that are *held*: tensors that cannot be made again (their
 * operation is not replayable), tensors that may not be evicted, and negligible ones. A chain's planner leaves them on
 * the device. */
#ifndef SPILLWAY_PLANNER_LINEAR_H
#define SPILLWAY_PLANNER_LINEAR_H
#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"

#define SPW_STAGES_DEFAULT 64u

struct spw_stage {
    uint32_t first_op, end_op;     /* forward: the operations first_op .. end_op - 1 */
    uint32_t first_back, end_back; /* backward, likewise; never empty */
    double forward_us, backward_us;
    uint64_t input_bytes; /* a_i */
    /* abar_(i+1): its record, and the part of the next stage's input that it made outside the record. */
    uint64_t record_bytes;
    uint64_t gradient_bytes; /* d_i: what its backward leaves for the stages before it */
    uint64_t left_bytes;     /* what its backward makes that stays until the tail (gradients of parameters) */
    /* Most additional bytes: besides input and output while it runs and keeps nothing else; besides input and record
     * while it runs and keeps its record; besides input, record and the next stage's d while its backward runs. */
    uint64_t walk_extra_bytes, forward_extra_bytes, backward_extra_bytes;
    uint32_t first_input, input_count;   /* tensors, in chain->listed */
    uint32_t first_record, record_count; /* likewise */
    uint32_t first_part, part_count;     /* in chain->parts */
    /* Stages of one branch depend on no other branch before the join; SPW_NO_INDEX: it joins several. */
    uint32_t branch;
};

/* A part of a stage's record that may be kept instead of the whole: what is expensive to make again. The rest is made
 * again, from the part and from the stage's input, just before the backward. Later parts of a stage keep less. */
struct spw_part {
    uint32_t first, count; /* tensors, in chain->part_listed */
    uint64_t bytes;        /* including what the stage made of the next one's input */
    double again_us;       /* time to make what is missing */
};
#define SPW_PARTS_MOST 3u /* most parts of one stage */

struct spw_chain {
    const struct spw_graph *graph;
    struct spw_stage *stages;
    uint32_t count;
    uint32_t turn;           /* the first operation that is not forward */
    uint32_t tail;           /* the first operation after the last backward range */
    uint32_t branches;       /* chains that meet; 1: a plain chain */
    uint64_t resident_bytes; /* of persistent tensors, plus the most held bytes at once, while the stages run */
    uint64_t tail_bytes;     /* most bytes at once while the tail runs */
    uint32_t *listed, *part_listed;
    struct spw_part *parts;
    uint64_t *input_since; /* bytes of stage i's input that stages s .. i - 1 made: input_since[i * count + s] */
    bool *held;            /* for each tensor */
    uint32_t *version;     /* for each tensor: its version at the turn */
};

/* Makes a chain of at most `most_stages` (>= 1) stages. Returns 0; -ENOTSUP: nothing that is made before the turn is read
 * after it; -ENOMEM. */
int spw_chain_create(const struct spw_graph *graph, uint32_t most_stages, struct spw_chain **ret_chain);
void spw_chain_destroy(struct spw_chain *chain); /* NULL is allowed */

/* Finds the first operation after the forward ones: where the most bytes rest that were used before and are used again
 * later; 0: there is no such place. Returns 0 or -ENOMEM. */
int spw_find_turn(const struct spw_graph *graph, uint32_t *ret_turn);
#endif
