/* plan_executor.h - takes one device along the course of an iteration: knows which block is which tensor this time, and
 * carries out the plan's actions.
 *
 * The cursor (course/cursor.h) keeps the place among the operations; this file keeps the blocks behind its tensors, and the
 * actions that are tied to its places. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_PLAN_EXECUTOR_H
#define SPILLWAY_SHIM_PLAN_EXECUTOR_H
#include "pending_evictions.h"
#include "place.h"
#include "plan_tuning.h"

struct spw_op;

struct spw_plan_executor {
    struct spw_device *device;
    struct spw_place place;
    struct spw_tuned_iteration *now;      /* the iteration whose course the device is on; NULL: none */
    struct spw_block **blocks;            /* by tensor of the course */
    uint32_t next_due;                    /* index of the next action in the plan's list */
    struct spw_pending_evictions pending; /* earlier actions that could not begin yet */
    uint64_t made_bytes;                  /* bytes that an iteration of the course allocates */
    uint64_t live_bytes;                  /* bytes allocated on the device when this iteration began */
    uint8_t *is_missing;       /* by tensor alive at the beginning: no block stands for it, in this iteration so far */
    uint32_t missing_count;    /* of those */
    uint64_t throughout_bytes; /* bytes of the tensors that the course uses and that live throughout */
    uint64_t missing_bytes;    /* of these, the bytes of missing ones */
    unsigned in_turn,
        out_of_turn;           /* times that an operation was passed the tensor that it should be passed, or another one */
    uint64_t strange_bytes;    /* bytes allocated in this iteration that are none of the course's tensors */
    bool has_branched;         /* in this iteration not all operations of the backbone were the course's, or not all came */
    uint32_t strange;          /* the last operations in a row that are not the course's */
    uint32_t overdue;          /* actions before this one were planned for operations that did not come */
    bool conforms;             /* what the plan has away at this point has been evicted */
    struct spw_stream *stream; /* the stream of the operation that was told last */
    const struct spw_course_plan *kept; /* the plan for whose replays operations are kept */
};

void spw_plan_executor_init(struct spw_plan_executor *on, struct spw_device *d); /* on no course */

/* Has every operation take a closer look while the detector is `told` of everything, and while versions are kept. */
void spw_plan_executor_look_closer(struct spw_plan_executor *on, bool told);

/* Enters the course of an iteration that is about to begin; the device is on no course. Returns 0, or -ENOMEM: then it
 * still is on none. */
int spw_plan_executor_enter_locked(struct spw_plan_executor *on, struct spw_tuned_iteration *tuned);
void spw_plan_executor_leave_locked(struct spw_plan_executor *on); /* does nothing if the device is on no course */

/* Returns true if a tensor of the course, or a block that the program has freed and the plan still wants, was allocated in
 * the context. */
bool spw_plan_executor_works_in_locked(const struct spw_plan_executor *on, CUcontext context);

/* Stops keeping operations for replays, until spw_plan_executor_keep_operations_unlocking(). What is dropped stays so until
 * it is used. Does nothing if the device is on no course. */
void spw_plan_executor_end_replays_locked(struct spw_plan_executor *on);

/* ---- all of the rest: on a course */

/* Returns true if most of what the course uses and lives throughout is there, either since the iteration began or found in
 * it since. A program that makes its tensors anew goes through the same operations, but its tensors are none of the
 * course's. */
bool spw_plan_executor_is_there(const struct spw_plan_executor *on);

/* Call when operation `operation` of the course has come: a block that it is passed in place of a missing tensor, and that
 * has its size, stands for that tensor from now on. A plan relies on that only for which block to move. */
void spw_plan_executor_find_missing(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* Returns false once it is clear that the iteration goes through the same operations with other tensors of the course, as
 * equal models that are trained in turn do, and so has begun out of turn. */
bool spw_plan_executor_is_in_turn(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* Returns true if an operation that was not expected may be operation `operation` of the course: of the tensors that it is
 * passed, some are known to be the right ones, and none is another. */
bool spw_plan_executor_fits(const struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* Call when it is that operation: blocks that it is passed stand for those of its tensors that had no block so far. What
 * the iteration allocates may have another size each time: a plan moves what there is. */
void spw_plan_executor_recognise(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* Call when the cursor was rewound: tensors that live on get their new numbers, and the others of the iteration have no
 * block any more. */
void spw_plan_executor_rewind_locked(struct spw_plan_executor *on);

/* Call when the iteration's plan was replaced. */
void spw_plan_executor_take_up_plan(struct spw_plan_executor *on);

/* Call for a block that was just allocated: it becomes the expected tensor of the course, or none. */
void spw_plan_executor_alloc(struct spw_plan_executor *on, struct spw_block *b);
/* Notes an operation that came in between and is not of the backbone, so that the detector can be told of it later. */
void spw_plan_executor_note_extra(struct spw_plan_executor *on, const struct spw_op *op);

static inline bool spw_plan_executor_is_complete(const struct spw_plan_executor *on)
{
    return on->now && on->place.cursor.op == on->now->course->op_count;
}

/* Returns true if the operation is one that is kept so that it can be replayed. */
static inline bool spw_plan_executor_keeps(const struct spw_plan_executor *on, uint32_t operation)
{
    return on->kept == on->now->plan && on->now->plan->marks.recorded[operation];
}

/* Call when the program frees the block; also on no course. */
void spw_plan_executor_free_locked(struct spw_plan_executor *on, struct spw_block *b);

/* ---- slow lock held as well; fine where the device is on no course */

/* On a course: begins to evict what the plan has away from the device at this point, as far as it is there. Returns 0 or
 * -ENOMEM. */
int spw_plan_executor_conform_locked(struct spw_plan_executor *on);

/* Carries out what is planned before the next operation. Just after an operation, the program may be about to free memory
 * that is to make room: a replay that lacks only room is left then, with everything after it, until the next operation is
 * there (`is_due`). During a replay other threads go on, and so may the course. */
void spw_plan_executor_carry_out_due_unlocking(struct spw_plan_executor *on, bool is_due);

/* Returns true if everything that the plan has so far in this iteration is under way. */
static inline bool spw_plan_executor_is_done(const struct spw_plan_executor *on)
{
    return on->next_due == on->now->plan->actions.count && !on->pending.count;
}

static inline bool spw_plan_executor_has_left(const struct spw_plan_executor *on)
{
    return on->now && on->next_due < on->now->plan->actions.first[on->place.cursor.op + 1];
}

/* Begins to keep operations if the plan has some replayed, or relies on being able to. If there is no memory for that,
 * nothing is dropped. */
void spw_plan_executor_keep_operations_unlocking(struct spw_plan_executor *on);
#endif
