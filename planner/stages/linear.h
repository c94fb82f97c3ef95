/* linear.h - a graph seen as a chain of stages: forward from the first to the last, then backward the other way round.
 *
 * The forward operations end at the turn. They are cut where few bytes cross, and the operations behind the turn are given
 * to the stages whose values they read, as one range for each stage, the last stage first. So the scopes of the stages are
 * nested, like brackets: what stage k and all that follow it need from the stages before is its *input*; what it made itself
 * and its own backward reads is its *record*. The operations behind the last backward range (the optimizer) are the tail.
 *
 * Not part of the chain are persistent tensors and those that are *held*: what cannot be made again (its operation may not
 * be replayed), what may not leave, and small change. A chain's planner leaves them on the device. */
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
    uint64_t input_bytes;    /* a_i */
    uint64_t record_bytes;   /* abar_(i+1): its record, and what else of the next stage's input it made */
    uint64_t gradient_bytes; /* d_i: what its backward leaves to the stages before it */
    uint64_t left_bytes;     /* what its backward makes that stays to the tail (gradients of parameters) */
    /* Most bytes beside input and output while it runs and keeps nothing else; beside input and record while it runs and
     * keeps its record; beside input, record and the next stage's d while its backward runs. */
    uint64_t walk_extra_bytes, forward_extra_bytes, backward_extra_bytes;
    uint32_t first_input, input_count;   /* tensors, in chain->listed */
    uint32_t first_record, record_count; /* likewise */
    uint32_t first_part, part_count;     /* in chain->parts */
    uint32_t branch; /* stages of one branch depend on no other before the join; SPW_NO_INDEX: joins several */
};

/* A part of a stage's record that may be kept in place of it: what is dear to make again. The rest is made again, from it
 * and from the stage's input, just before the backward. The later a stage's part, the less it keeps. */
struct spw_part {
    uint32_t first, count; /* tensors, in chain->part_listed */
    uint64_t bytes;        /* together with what the stage made of the next one's input */
    double again_us;       /* for what is missing */
};
#define SPW_PARTS_MOST 3u /* of one stage */

struct spw_chain {
    const struct spw_graph *graph;
    struct spw_stage *stages;
    uint32_t count;
    uint32_t turn;           /* the first operation that is not forward */
    uint32_t tail;           /* the first one behind the last backward range */
    uint32_t branches;       /* chains that meet; 1: a plain chain */
    uint64_t resident_bytes; /* of persistent tensors, and the most held bytes at once, while the stages run */
    uint64_t tail_bytes;     /* most bytes at once while the tail runs */
    uint32_t *listed, *part_listed;
    struct spw_part *parts;
    uint64_t *input_since; /* bytes of stage i's input that stages s .. i - 1 made: input_since[i * count + s] */
    bool *held;            /* for each tensor */
    uint32_t *version;     /* for each tensor: its version at the turn */
};

/* At most `most_stages` stages (>= 1). 0; -ENOTSUP: nothing is made before the turn that is read behind it; -ENOMEM. */
int spw_chain_create(const struct spw_graph *graph, uint32_t most_stages, struct spw_chain **ret_chain);
void spw_chain_destroy(struct spw_chain *chain); /* NULL is fine */

/* The first operation behind the forward ones: where the most bytes lie that were used before and are used again later;
 * 0: there is no such place. 0 or -ENOMEM. */
int spw_find_turn(const struct spw_graph *graph, uint32_t *ret_turn);
#endif
