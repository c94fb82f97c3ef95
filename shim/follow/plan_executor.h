/* plan_executor.h - one device on the course of an iteration: which of its blocks is which tensor this time, and what its
 * plan has it do next.
 *
 * The cursor (course/cursor.h) keeps the place among the operations; here are the blocks behind its tensors, and the actions
 * that are tied to its places. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_PLAN_EXECUTOR_H
#define SPILLWAY_SHIM_PLAN_EXECUTOR_H
#include "pending_evictions.h"
#include "place.h"
#include "plan_tuning.h"

struct spw_op;

struct spw_plan_executor {
    struct spw_device *device;
    struct spw_place place;
    struct spw_tuned_iteration *now;      /* whose course the device is on; NULL: none */
    struct spw_block **blocks;            /* by tensor of the course */
    uint32_t next_due;                    /* index in the plan's list */
    struct spw_pending_evictions pending; /* of those before it, what could not begin yet */
    uint64_t made_bytes;                  /* that an iteration of the course allocates */
    uint64_t live_bytes;                  /* of the device, when this one began */
    uint8_t *is_missing;           /* by tensor alive at the beginning: nothing stands for it, in this iteration so far */
    uint32_t missing_count;        /* of those */
    uint64_t throughout_bytes;     /* of what the course works on, and lives throughout */
    uint64_t missing_bytes;        /* of that, missing */
    unsigned in_turn, out_of_turn; /* times that an operation was given the tensor that it should be, or another one */
    uint64_t strange_bytes;        /* allocated in this one, and none of the course's tensors */
    bool has_branched;             /* in this one: not all operations of the backbone were the course's, or not all came */
    uint32_t strange;              /* of those that are not the course's, the last ones in a row */
    uint32_t overdue;              /* actions before this one were planned before operations that did not come */
    bool conforms;                 /* what the plan has away at this point has left */
    struct spw_stream *stream;     /* of the operation that was told last */
    const struct spw_course_plan *kept; /* for which operations are kept that it has run again */
};

void spw_plan_executor_init(struct spw_plan_executor *on, struct spw_device *d); /* on none */

/* Every operation gets a closer look while the detector is `told` of everything, and while versions are kept. */
void spw_plan_executor_look_closer(struct spw_plan_executor *on, bool told);

/* One of these iterations is about to begin; the device is on no course. 0; -ENOMEM: it is on none after either. */
int spw_plan_executor_enter_locked(struct spw_plan_executor *on, struct spw_tuned_iteration *tuned);
void spw_plan_executor_leave_locked(struct spw_plan_executor *on); /* fine where it is on none */

/* Some tensor of its course, or what the program has freed and the plan still wants, was allocated in the context. */
bool spw_plan_executor_works_in_locked(const struct spw_plan_executor *on, CUcontext context);

/* No operation is kept for running again any more, until spw_plan_executor_keep_operations_unlocking(). What is dropped
 * stays so until somebody uses it. Fine where it is on none. */
void spw_plan_executor_end_replays_locked(struct spw_plan_executor *on);

/* ---- all of the rest: on a course */

/* Whether most of what the course works on, and lives throughout, is there: as the iteration began, or found in it since
 * (see below). A program that makes its tensors anew goes through the same operations, but they are none of the course's. */
bool spw_plan_executor_is_there(const struct spw_plan_executor *on);

/* Operation `operation` of the course came: what it is given where a tensor is gone, and has its size, stands for that
 * tensor from now on. A plan takes that only for what it moves. */
void spw_plan_executor_find_missing(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* Whether it is given those tensors of the course that it should be. False: it has become clear that the iteration goes
 * through the same operations with others of them, as equal models that are trained in turn do, and began out of turn. */
bool spw_plan_executor_is_in_turn(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* What came is operation `operation` of the course, though another one was expected: some of the tensors that it is given
 * are known to be those that it should be given, and none is another. */
bool spw_plan_executor_fits(const struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* It is that one: what it is given stands for those of its tensors that nobody was so far. What the iteration allocates may
 * have another size each time: a plan moves what there is. */
void spw_plan_executor_recognise(struct spw_plan_executor *on, const struct spw_op *op, uint32_t operation);

/* The cursor was rewound: what lived on takes its new number, and the others of the iteration are nobody any more. */
void spw_plan_executor_rewind_locked(struct spw_plan_executor *on);

/* Its plan was replaced. */
void spw_plan_executor_take_up_plan(struct spw_plan_executor *on);

/* The block is new: one of the course's tensors, or nobody where it is not expected. */
void spw_plan_executor_alloc(struct spw_plan_executor *on, struct spw_block *b);
/* The operation came in between, beside the backbone: noted, for the detector to be told of it later. */
void spw_plan_executor_note_extra(struct spw_plan_executor *on, const struct spw_op *op);

static inline bool spw_plan_executor_is_complete(const struct spw_plan_executor *on)
{
    return on->now && on->place.cursor.op == on->now->course->op_count;
}

/* The operation is one that is kept, to be run again. */
static inline bool spw_plan_executor_keeps(const struct spw_plan_executor *on, uint32_t operation)
{
    return on->kept == on->now->plan && on->now->plan->marks.recorded[operation];
}

/* The program frees the block. Fine on no course. */
void spw_plan_executor_free_locked(struct spw_plan_executor *on, struct spw_block *b);

/* ---- slow lock held as well; fine where the device is on no course */

/* On a course: what the plan has away from the device at this point leaves, as far as it is there. 0 or -ENOMEM. */
int spw_plan_executor_conform_locked(struct spw_plan_executor *on);

/* What is planned before the next operation. Behind the operation before that, the program may be about to free what there
 * is to be room from: what would have to run again, but for room, is left then, with all behind it, until the next operation
 * is there (`is_due`). While something is run again other threads go on, and so may the course. */
void spw_plan_executor_carry_out_due_unlocking(struct spw_plan_executor *on, bool is_due);

/* All that the plan has so far in this iteration is under way. */
static inline bool spw_plan_executor_is_done(const struct spw_plan_executor *on)
{
    return on->next_due == on->now->plan->actions.count && !on->pending.count;
}

static inline bool spw_plan_executor_has_left(const struct spw_plan_executor *on)
{
    return on->now && on->next_due < on->now->plan->actions.first[on->place.cursor.op + 1];
}

/* The plan has some operations run again, or relies on it that they could be: they are kept from here on. Without memory for
 * that nothing is dropped. */
void spw_plan_executor_keep_operations_unlocking(struct spw_plan_executor *on);
#endif
