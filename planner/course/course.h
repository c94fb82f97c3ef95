/* course.h - one iteration as it is expected to come again: every operation, allocation and free in order, by numbers that
 * mean the same tensor each time.
 *
 * A recording (recording.h) makes it, a cursor (cursor.h) keeps the place in it, the planner gets it as a graph, and what
 * the planner decides comes back as actions on its tensors. */
#ifndef SPILLWAY_PLANNER_COURSE_H
#define SPILLWAY_PLANNER_COURSE_H
#include <stdbool.h>
#include <stdint.h>

#include "detect/iteration.h"
#include "plan/graph.h"
#include "plan/schedule.h"

struct spw_actions; /* plan/actions.h */

enum spw_course_access {
    SPW_COURSE_READS = 1,
    SPW_COURSE_WRITES = 2,
    SPW_COURSE_BELIEVED = 4, /* it reads; that it does not write as well was observed, and nothing else says so */
    SPW_COURSE_SCRATCH = 8   /* and nothing else: it is given the tensor as a place to work in, and is given another place
                              * when it is run again */
};

struct spw_course_touch {
    uint32_t tensor;
    uint32_t access;
};

static inline bool spw_course_is_scratch(const struct spw_course_touch *touch)
{
    return touch->access == SPW_COURSE_SCRATCH;
}

struct spw_course_op {
    uint64_t key;    /* what was called, with which geometry: equal for equal operations of one process */
    bool backbone;   /* comes every time, in this order; the others (copies from and to the host) may be missing */
    bool replayable; /* learned: run again on the same bytes it makes the same bytes */
    double us;       /* < 0: not known */
    uint32_t first_touch, touch_count;
    uint32_t first_alloc; /* allocations made before it, since the beginning */
};

/* Those alive at the beginning come first, in the order in which they were told; then those that the iteration allocates, in
 * order: allocation number k is tensor live_count + k. */
struct spw_course_tensor {
    uint64_t id; /* whose it was while it was recorded; for those alive at the beginning it still is */
    uint64_t bytes;
    uint32_t alloc_before; /* operation; 0 for those alive at the beginning */
    uint32_t free_after;   /* operation after which it was freed; SPW_NO_INDEX: it lives on. For one that was freed with
                            * no operation in between: the one that both came before */
    uint32_t first_use, last_use; /* operations that touch it; SPW_NO_INDEX: none does */
    uint32_t from; /* alive at the beginning, and freed during the iteration: the tensor of the iteration before that it
                    * is, one that lives on (a batch loaded one step ahead, say). Itself where it is alive throughout;
                    * SPW_NO_INDEX for those that the iteration allocates, and where nothing fits */
    uint32_t to;   /* the other way round, for who lives on: which tensor it is in the next iteration */
    bool evictable;
};

/* A tensor that stays on the device and whose bytes are not worth counting. It matters only for what is run again: whether
 * it still holds what it held then. */
struct spw_course_small {
    uint64_t id; /* whose it was while it was recorded */
    uint64_t bytes;
    uint32_t freed_before; /* operation before which it was freed; SPW_NO_INDEX: it lives on */
};

/* What a detector is told of an operation (struct spw_iteration_op), which the course only keeps, and what replays ask for
 * besides. */
struct spw_course_call {
    uint64_t function, geometry;
    uint32_t kind; /* enum spw_iteration_kind */
    bool everything;
    uint32_t first_mention, mention_count, loose_count; /* of the mentions, the last ones that are loose */
    uint32_t first_small, small_count;                  /* in small_touches */
    uint32_t first_hit, hit_count;
};
struct spw_course_mention { /* a touch as it was told: once for each parameter, in their order, the loose ones behind */
    uint64_t offset;
    uint32_t tensor;
};

struct spw_course {
    struct spw_course_op *ops;
    struct spw_course_tensor *tensors;
    struct spw_course_touch *touches; /* each tensor once in an operation */
    struct spw_course_call *calls;    /* one for each operation */
    struct spw_course_mention *mentions;
    struct spw_course_small *smalls;
    struct spw_course_touch *small_touches; /* each small tensor once in an operation; `tensor` is its index in smalls */
    uint32_t *hits; /* by what was told of an operation, one after the other: the tensor; SPW_COURSE_SMALL or-ed to the small
                     * tensor; SPW_NO_INDEX: neither */
    uint32_t op_count, tensor_count, live_count, touch_count, mention_count, small_count, small_touch_count, hit_count;
};
void spw_course_destroy(struct spw_course *course);                                   /* NULL is fine */
int spw_course_copy(const struct spw_course *course, struct spw_course **ret_course); /* 0 or -ENOMEM */

#define SPW_COURSE_SMALL  0x80000000u
#define SPW_COURSE_MAKERS 64 /* operations that one tensor is made again by, at most */

/* How operation `op` really uses what it was told to touch: `access` (enum spw_course_access, or-ed) by the order in which
 * the recording was told, `count` of them. What was told several times is used in all these ways. And whether it is
 * replayable. 0; -EINVAL: the recording was told of another number. */
int spw_course_learn(struct spw_course *course, uint32_t op, const uint8_t *access, uint32_t count, bool replayable);

struct spw_course_terms {
    double d2h_bytes_per_us, h2d_bytes_per_us; /* > 0 */
    uint64_t granule_bytes; /* sizes are rounded up to multiples of it; the copies take as long as the bytes do. 0: not */
    double unknown_us;      /* for an operation whose duration is not known */
    uint64_t working_bytes; /* one operation may need so many for the sake of tensors that are freed later than used */
    bool holds_nothing;     /* tensors are there for who uses them only: whatever the engine does takes as long at least */
    bool may_replay;        /* else no operation of the graph is replayable, and nobody is told of small tensors */
};

/* What planners take. `ret_tensor_of`, one number for each tensor of the graph: its index in the course, SPW_NO_INDEX for a
 * small one; the caller's, to be given to free(). How a life becomes one of the graph: course_graph.c says. Operations have
 * the same numbers.
 *
 * 0; -EINVAL: what was recorded makes no iteration (ret_problem); -ENOMEM. */
int spw_course_graph(const struct spw_course *course, const struct spw_course_terms *terms, struct spw_graph **ret_graph,
                     uint32_t **ret_tensor_of, struct spw_graph_problem *ret_problem);

/* Adds to a schedule for that graph the copies out that the engine makes in any case (course_keep.c): of what is dropped
 * before the program frees it, has no copy, and is made again by no operation. In the order of the copies out each comes as
 * soon as the tensor is complete, or `late`, behind all those before it is dropped. *ret_count of them. 0; -ENOMEM: the
 * schedule is as it was. */
int spw_course_keep(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of, bool late,
                    struct spw_schedule *schedule, uint32_t *ret_count);

/* What replays ask of the engine besides the actions. */
struct spw_course_marks {
    uint8_t *ghosts;   /* by tensor: the program frees it before the last replay that touches it: until it is dropped it
                        * stays, and its address with it */
    uint8_t *recorded; /* by operation: it has to be kept for running again, each time */
    uint8_t *believed; /* by tensor: it leaves without a copy, as launches since its last one are taken to read it only */
    bool believes;     /* there is one */
};

/* Makes actions for the graph (spw_actions_of()) into actions for the course, in place: ids of tensors and `start` are the
 * course's, and what need not be done is left out: drops of what the program has freed by then, unless it is a ghost, copies
 * in of what nothing touches any more until it is freed. A drop that is left says: this is to leave the device, although the
 * program, or a replay, goes on holding it; it is either copied out by then or can be made again. The marks are for
 * spw_course_marks_finish(). 0; -ENOMEM: they are as they were. */
int spw_course_actions(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of,
                       struct spw_actions *actions, struct spw_course_marks *ret_marks);
void spw_course_marks_finish(struct spw_course_marks *marks);

/* After the first `done` of these actions: sets in `away`, by tensor, whether they have it away from the device. */
void spw_course_find_away(const struct spw_course *course, const struct spw_actions *actions, uint32_t done, uint8_t *away);
#endif
