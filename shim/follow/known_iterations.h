/* known_iterations.h - which iterations of a device are known, and how one gets to be known: the detector sees it, the next
 * one is recorded, the device does what was recorded, and its durations are there.
 *
 * Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_KNOWN_ITERATIONS_H
#define SPILLWAY_SHIM_KNOWN_ITERATIONS_H
#include "plan_tuning.h"
#include "observer.h"

struct spw_known_iterations {
    struct spw_device *device;
    struct spw_observer *watch;
    struct spw_tuned_iterations shapes;
    uint64_t clock; /* boundaries met */
    bool ended;     /* the detector was told of the last operation of an `ended_shape`, and of nothing since */
    uint32_t ended_shape;
    uint32_t recording_shape;            /* what is recorded is taken for this one */
    bool recorded;                       /* what is recorded was complete with the last operation, but for frees */
    struct spw_tuned_iteration *awaited; /* recorded, but its durations are not complete */
};

int spw_known_iterations_init(struct spw_known_iterations *known, struct spw_device *d); /* 0 or -ENOMEM */
void spw_known_iterations_finish(struct spw_known_iterations *known);

/* What the device does next, and what it touches (plan_follower.h). Sets op->timed where its duration is wanted. 0; -ENOMEM:
 * it could not be recorded, or nobody was told of it. */
int spw_known_iterations_tell_locked(struct spw_known_iterations *known, struct spw_op *op,
                                     struct spw_object *const *objects, unsigned count);

/* Something new happens after the last operation of an `ended_shape`: the boundary. Has the next iteration recorded if that
 * is wanted. The shape where it is known in full and nothing is being recorded, else NULL. */
struct spw_tuned_iteration *spw_known_iterations_boundary(struct spw_known_iterations *known);

/* Something new happens after what was `recorded`: takes it. `but`: a shape that does not make room for it. The shape, whose
 * durations are awaited from now on; NULL: none, without memory if `ret_lacks_memory`. */
struct spw_tuned_iteration *spw_known_iterations_take_locked(struct spw_known_iterations *known,
                                                             const struct spw_tuned_iteration *but, bool *ret_lacks_memory);

/* The shape whose durations have become complete, now that it has a plan; else NULL. */
struct spw_tuned_iteration *spw_known_iterations_timed_locked(struct spw_known_iterations *known);

void spw_known_iterations_stop_recording_locked(struct spw_known_iterations *known);

/* The shape is to be learned anew. */
void spw_known_iterations_forget_locked(struct spw_known_iterations *known, struct spw_tuned_iteration *shape,
                                        const char *why);
#endif
