/* device_loop.h - one device from iteration to iteration: whether it is watched or on a course, and what follows when one
 * ends.
 *
 * Engine lock held throughout. What ends in _unlocking holds the device's slow lock as well and may let go of the engine
 * lock in between. */
#ifndef SPILLWAY_SHIM_DEVICE_LOOP_H
#define SPILLWAY_SHIM_DEVICE_LOOP_H
#include "known_iterations.h"
#include "probe_session.h"
#include "plan_executor.h"
#include "throttle.h"

/* Where a device is, once its memory has been short (until then there is no loop, and nobody looks):
 *
 *     WATCHED --finish_recording(), learn(): its iteration is known--> FOLLOWING
 *        ^  ^                                                           |  |  ^
 *        |  |                                                           |  |  | count_iteration(): with other sizes
 *        |  +--lose(), give_up(), or learn(): a longer one is known-----+  |  |
 *        |                                                                 v  | count_iteration(): often in a row
 *        +--the same---------------------------------------------------- CONFIRMED
 *
 *     state      what holds in it
 *     WATCHED    on no course; the detector is told of everything, and memory comes and goes on demand
 *     FOLLOWING  on the course of `on.now`, planned or not; the detector is told all the same, for the iteration may be a
 *                part of a longer one
 *     CONFIRMED  on the course, and nobody but it is told: the detector is, once the course is lost; memory may change
 *                hands before it is out of use (deferred_unmap.h)
 *
 * An iteration that has been followed before may be CONFIRMED at once. Two other things are told beside that: how far an
 * iteration that is not known yet has come (known_iterations.h), for a device can be on one course and record another, and
 * what is known of the plans of each that is known (plan_tuning.h). */
enum spw_device_state { SPW_DEVICE_WATCHED, SPW_DEVICE_FOLLOWING, SPW_DEVICE_CONFIRMED };

struct spw_device_loop {
    uint64_t waits_in_vain; /* of the process, up to the last iteration that was complete */
    unsigned prompt;        /* complete ones in a row without any */
    enum spw_device_state state;
    struct spw_plan_executor on;
    struct spw_known_iterations known;
    uint32_t ended;                    /* the iteration that was seen to end last, whatever is followed; */
    unsigned ended_in_a_row;           /* so many of it in a row */
    uint32_t left;                     /* the iteration that was left since one was complete last; 0: none was */
    struct spw_probe_session *session; /* NULL: nothing was to be learned yet */
    bool began;                        /* an iteration of the course, and nothing was looked after since */
    struct spw_throttle pace;          /* of the host on its course */
};

int spw_device_loop_create(struct spw_device *d, struct spw_device_loop **ret_loop); /* watched; 0 or -ENOMEM */
void spw_device_loop_destroy(struct spw_device_loop *loop);

/* The detector observes each operation. */
static inline bool spw_device_loop_is_observing(const struct spw_device_loop *loop)
{
    return loop->state != SPW_DEVICE_CONFIRMED;
}

/* Something happens next: what was complete before it is settled first. */
void spw_device_loop_settle_locked(struct spw_device_loop *loop);

/* The operation comes next, on a course: the one expected, one in between, or the course is lost. */
void spw_device_loop_follow_locked(struct spw_device_loop *loop, struct spw_op *op);

/* For the detector, and the recording if there is one (spw_plan_follower_op_locked()). */
void spw_device_loop_observe_locked(struct spw_device_loop *loop, struct spw_op *op, struct spw_object *const *objects,
                                    unsigned count);

/* Between two operations: carries out what is due now. `spare_versions` is called where the device may not want versions any
 * more. */
void spw_device_loop_look_after_unlocking(struct spw_device_loop *loop,
                                          void (*spare_versions)(struct spw_device *d, struct spw_stream *s));

/* The next operation is there: carries out what was left. */
void spw_device_loop_go_before_unlocking(struct spw_device_loop *loop);

/* While a tensor waits for memory the host stays close to the device, which does the operations of that stream. */
void spw_device_loop_keep_pace_unlocking(struct spw_device_loop *loop, struct spw_stream *s);

/* Something is being learned, or some plan or other wants versions kept (versions.h). */
bool spw_device_loop_want_versions(const struct spw_device_loop *loop);

/* A context goes, and all of its allocations with it: a course that works on some of them is left, before they go. */
void spw_device_loop_context_gone_locked(struct spw_device_loop *loop, CUcontext context);

/* Says once that the host has no memory left for `what`. */
void spw_device_loop_lack_memory(const struct spw_device *d, const char *what);
#endif
