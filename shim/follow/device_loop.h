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

struct spw_device_loop {
    struct spw_plan_executor on; /* no course: the device is watched */
    struct spw_known_iterations known;
    struct spw_probe_session *session; /* NULL: nothing was to be learned yet */
    bool began;                        /* an iteration of the course, and nothing was looked after since */
    struct spw_throttle pace;          /* of the host on its course */
};

int spw_device_loop_create(struct spw_device *d, struct spw_device_loop **ret_rounds); /* watched; 0 or -ENOMEM */
void spw_device_loop_destroy(struct spw_device_loop *rounds);

/* The detector is told of everything. */
static inline bool spw_device_loop_is_told(const struct spw_device_loop *rounds)
{
    return !rounds->on.now || rounds->on.place.told;
}

/* Something happens next: what was complete before it is settled first. */
void spw_device_loop_settle_locked(struct spw_device_loop *rounds);

/* The operation comes next, on a course: the one expected, one in between, or the course is lost. */
void spw_device_loop_follow_locked(struct spw_device_loop *rounds, struct spw_op *op);

/* The detector, and the recording if there is one, are told of it (spw_plan_follower_op_locked()). */
void spw_device_loop_tell_locked(struct spw_device_loop *rounds, struct spw_op *op, struct spw_object *const *objects,
                                 unsigned count);

/* Between two operations: carries out what is due now. `spare_versions` is called where the device may not want versions any
 * more. */
void spw_device_loop_look_after_unlocking(struct spw_device_loop *rounds,
                                          void (*spare_versions)(struct spw_device *d, struct spw_stream *s));

/* The next operation is there: carries out what was left. */
void spw_device_loop_go_before_unlocking(struct spw_device_loop *rounds);

/* While a tensor waits for memory the host stays close to the device, which does the operations of that stream. */
void spw_device_loop_keep_pace_unlocking(struct spw_device_loop *rounds, struct spw_stream *s);

/* Something is being learned, or some plan or other wants versions kept (versions.h). */
bool spw_device_loop_want_versions(const struct spw_device_loop *rounds);

/* Says once that the host has no memory left for `what`. */
void spw_device_loop_lack_memory(const struct spw_device *d, const char *what);
#endif
