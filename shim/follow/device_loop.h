/* device_loop.h - takes one device from iteration to iteration: keeps whether it is watched or on a course, and does what
 * is due when an iteration ends.
 *
 * Engine lock held throughout. Functions that end in _unlocking need the device's slow lock as well, and may release the
 * engine lock in between. */
#ifndef SPILLWAY_SHIM_DEVICE_LOOP_H
#define SPILLWAY_SHIM_DEVICE_LOOP_H
#include "known_iterations.h"
#include "probe_session.h"
#include "plan_executor.h"
#include "throttle.h"

/* The states of a device, once its memory has been short (until then it has no loop, and nothing is observed):
 *
 *     WATCHED --finish_recording(), learn(): its iteration is known--> FOLLOWING
 *        ^  ^                                                           |  |  ^
 *        |  |                                                           |  |  | count_iteration(): with other sizes
 *        |  +--lose(), give_up(), or learn(): a longer one is known-----+  |  |
 *        |                                                                 v  | count_iteration(): often in a row
 *        +--the same---------------------------------------------------- CONFIRMED
 *
 *     state      what holds in it
 *     WATCHED    on no course; the detector is told of everything, and blocks are evicted and brought in on demand
 *     FOLLOWING  on the course of `on.now`, with or without a plan; the detector is told of everything all the same, since
 *                the iteration may be a part of a longer one
 *     CONFIRMED  on the course; the detector is told of nothing until the course is lost; memory may change hands before
 *                it is out of use (deferred_unmap.h)
 *
 * An iteration that has been followed before may be CONFIRMED at once. Two other states are kept apart from this one: how
 * far an iteration has come that is not known yet (known_iterations.h), since a device can be on one course and record
 * another; and what is known of the plans of each known iteration (plan_tuning.h). */
enum spw_device_state { SPW_DEVICE_WATCHED, SPW_DEVICE_FOLLOWING, SPW_DEVICE_CONFIRMED };

struct spw_device_loop {
    uint64_t waits_in_vain; /* spw_waits_in_vain, of the process, at the end of the last complete iteration */
    unsigned prompt;        /* complete iterations in a row without any such wait */
    enum spw_device_state state;
    struct spw_plan_executor on;
    struct spw_known_iterations known;
    uint32_t ended;                    /* the iteration that the detector saw end last, whatever is followed; */
    unsigned ended_in_a_row;           /* how many of it ended in a row */
    uint32_t left;                     /* the iteration that was left since one was last complete; 0: none was */
    struct spw_probe_session *session; /* NULL: there was nothing to learn yet */
    bool began; /* an iteration of the course has begun, and spw_device_loop_look_after_unlocking() has not seen it yet */
    struct spw_throttle pace; /* of the host on the course */
};

int spw_device_loop_create(struct spw_device *d, struct spw_device_loop **ret_loop); /* WATCHED; 0 or -ENOMEM */
void spw_device_loop_destroy(struct spw_device_loop *loop);

/* Returns true if the detector observes each operation. */
static inline bool spw_device_loop_is_observing(const struct spw_device_loop *loop)
{
    return loop->state != SPW_DEVICE_CONFIRMED;
}

/* Call before the next operation or allocation is told: settles what was complete before it. */
void spw_device_loop_settle_locked(struct spw_device_loop *loop);

/* Follows the course with the next operation: it is the expected one, one in between, or the course is lost. */
void spw_device_loop_follow_locked(struct spw_device_loop *loop, struct spw_op *op);

/* Tells the operation to the detector, and to the recording if there is one. Arguments as of spw_follower.op. */
void spw_device_loop_observe_locked(struct spw_device_loop *loop, struct spw_op *op, struct spw_object *const *objects,
                                    unsigned count);

/* Between two operations: carries out what is due. Calls `spare_versions` when the device may no longer need versions. */
void spw_device_loop_look_after_unlocking(struct spw_device_loop *loop,
                                          void (*spare_versions)(struct spw_device *d, struct spw_stream *s));

/* Call when the next operation is there: carries out what was left for it. */
void spw_device_loop_go_before_unlocking(struct spw_device_loop *loop);

/* Keeps the host close to the device while a tensor waits for memory. The device runs the operations of that stream. */
void spw_device_loop_keep_pace_unlocking(struct spw_device_loop *loop, struct spw_stream *s);

/* Returns true if something is being learned, or some plan needs versions kept (versions.h). */
bool spw_device_loop_want_versions(const struct spw_device_loop *loop);

/* Call before a context and all its allocations go: leaves a course that works on some of them. */
void spw_device_loop_context_gone_locked(struct spw_device_loop *loop, CUcontext context);

/* Logs once that the host has no memory left for `what`. */
void spw_device_loop_lack_memory(const struct spw_device *d, const char *what);
#endif
