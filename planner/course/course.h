/* course.h - describes one iteration as it is expected to repeat: all operations, allocations and frees in order, with
 * numbers that denote the same tensor each time.
 *
 * A recording (recording.h) makes a course, and a cursor (cursor.h) tracks the position in it. The planner gets the
 * course as a graph, and its plan is translated back into actions on the course's tensors. */
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
    SPW_COURSE_BELIEVED = 4, /* it reads, and probably does not write: only observation says so */
    /* It works in the tensor and does nothing else with it. A replay of the operation gets other memory to work in. */
    SPW_COURSE_SCRATCH = 8
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
    uint64_t key; /* what was called, with which geometry: equal for equal operations of one process */
    /* It comes every time, in this order; other operations (copies from and to the host) may be missing. */
    bool backbone;
    bool replayable; /* learned: run again on the same bytes, it makes the same bytes */
    double us;       /* < 0: unknown */
    uint32_t first_touch, touch_count;
    uint32_t first_alloc; /* number of allocations made before it in the iteration */
};

/* The tensors alive at the beginning come first, in the order in which they were reported. Those that the iteration
 * allocates follow in order: allocation number k is tensor live_count + k. */
struct spw_course_tensor {
    uint64_t id; /* id while it was recorded; a tensor alive throughout keeps it */
    uint64_t bytes;
    uint32_t alloc_before; /* index of an operation; 0 if it is alive at the beginning */
    /* The operation after which it was freed; SPW_NO_INDEX: it lives on. For a tensor that was freed with no operation in
     * between: the operation that follows both its allocation and its free. */
    uint32_t free_after;
    uint32_t first_use, last_use; /* operations that touch it; SPW_NO_INDEX: none */
    /* For a tensor that is alive at the beginning and freed during the iteration: the tensor of the previous iteration
     * that it is, one that lives on (a batch loaded one step ahead, say). A tensor alive throughout: itself. SPW_NO_INDEX
     * for those that the iteration allocates, and where none fits. */
    uint32_t from;
    uint32_t to; /* the reverse, for a tensor that lives on: the tensor that it is in the next iteration */
    bool evictable;
};

/* A tensor that always stays on the device and whose bytes are negligible. It only matters for replays: whether it still
 * holds what it held then. */
struct spw_course_small {
    uint64_t id; /* id while it was recorded */
    uint64_t bytes;
    uint32_t freed_before; /* operation before which it was freed; SPW_NO_INDEX: it lives on */
};

/* What a detector is told about an operation (struct spw_iteration_op), which the course only stores, and what replays
 * need in addition. */
struct spw_course_call {
    uint64_t function, geometry;
    uint32_t kind; /* enum spw_iteration_kind */
    bool everything;
    uint32_t first_mention, mention_count, loose_count; /* the last loose_count mentions are loose */
    uint32_t first_small, small_count;                  /* in small_touches */
    uint32_t first_hit, hit_count;
};
struct spw_course_mention { /* a touch as it was reported: one for each parameter, in order, the loose ones last */
    uint64_t offset;
    uint32_t tensor;
};

struct spw_course {
    struct spw_course_op *ops;
    struct spw_course_tensor *tensors;
    struct spw_course_touch *touches; /* each tensor at most once in an operation */
    struct spw_course_call *calls;    /* one for each operation */
    struct spw_course_mention *mentions;
    struct spw_course_small *smalls;
    /* Each small tensor at most once in an operation; `tensor` is its index in smalls. */
    struct spw_course_touch *small_touches;
    /* The tensors of each operation's touches in the order in which they were reported: the tensor; SPW_COURSE_SMALL
     * or-ed to the small tensor; SPW_NO_INDEX: neither. */
    uint32_t *hits;
    uint32_t op_count, tensor_count, live_count, touch_count, mention_count, small_count, small_touch_count, hit_count;
};
void spw_course_destroy(struct spw_course *course);                                   /* NULL is allowed */
int spw_course_copy(const struct spw_course *course, struct spw_course **ret_course); /* returns 0 or -ENOMEM */

#define SPW_COURSE_SMALL  0x80000000u
#define SPW_COURSE_MAKERS 64 /* most operations that make one tensor again */

/* Stores how operation `op` really uses its touches. `access` (enum spw_course_access, or-ed) has `count` entries, in the
 * order in which the touches were reported to the recording. A tensor that was reported several times is used in all
 * these ways. `replayable`: whether the operation is. Returns 0, or -EINVAL if the recording had another number of
 * touches. */
int spw_course_learn(struct spw_course *course, uint32_t op, const uint8_t *access, uint32_t count, bool replayable);

struct spw_course_terms {
    double d2h_bytes_per_us, h2d_bytes_per_us; /* > 0 */
    /* Sizes are rounded up to multiples of it, but not the copy times; 0: no rounding. */
    uint64_t granule_bytes;
    double unknown_us; /* for operations of unknown duration */
    /* Most bytes that an operation may need because of tensors that are freed later than used. */
    uint64_t working_bytes;
    /* Tensors are present only for operations that use them: no execution by the engine is faster. */
    bool holds_nothing;
    bool may_replay; /* false: no operation of the graph is replayable, and small tensors are left out */
};

/* Makes a graph for planners; course_graph.c says how the life of a tensor is represented. The operations have the same
 * numbers. `ret_tensor_of` gives, for each tensor of the graph, its index in the course, or SPW_NO_INDEX for a small one;
 * the caller frees it with free().
 *
 * Returns 0; -EINVAL: the recording is not a valid iteration (ret_problem); -ENOMEM. */
int spw_course_graph(const struct spw_course *course, const struct spw_course_terms *terms, struct spw_graph **ret_graph,
                     uint32_t **ret_tensor_of, struct spw_graph_problem *ret_problem);

/* Adds to a schedule for that graph the copies out that the engine makes in any case (course_keep.c): of tensors that the
 * plan drops before the program frees them, that have no copy, and that no operation makes again. Each is placed where its
 * tensor is complete (if it is copied alone: after its last use), or, if `late`, right before its drop. Stores their number
 * in *ret_count. Returns 0, or -ENOMEM with the schedule unchanged. */
int spw_course_keep(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of, bool late,
                    struct spw_schedule *schedule, uint32_t *ret_count);

/* What a plan requires of the engine besides its actions. */
struct spw_course_marks {
    /* By tensor: the program frees it before the last replay that touches it. It stays, and its address with it, until it
     * is dropped. */
    uint8_t *ghosts;
    uint8_t *recorded; /* by operation: it has to be kept in each iteration for a replay */
    /* By tensor: it is evicted without a copy, since launches since its last copy are believed only to read it. */
    uint8_t *believed;
    bool believes; /* some tensor is */
};

/* Converts actions for the graph (spw_actions_of()) in place into actions for the course. Tensor ids and `start` become
 * the course's. Unnecessary actions are left out: drops of tensors that the program has freed by then, unless they are
 * ghosts, and copies in of tensors that are not touched again before their free. A drop that remains means: the tensor
 * leaves the device although the program, or a replay, still holds it; it has been copied out or can be made again.
 * Release the marks with spw_course_marks_finish(). Returns 0, or -ENOMEM with the actions unchanged. */
int spw_course_actions(const struct spw_course *course, const struct spw_graph *graph, const uint32_t *tensor_of,
                       struct spw_actions *actions, struct spw_course_marks *ret_marks);
void spw_course_marks_finish(struct spw_course_marks *marks);

/* Sets in `away`, by tensor, whether it is away from the device after the first `done` of these actions. */
void spw_course_find_away(const struct spw_course *course, const struct spw_actions *actions, uint32_t done, uint8_t *away);
#endif
