/* known_iterations.h - which iterations of a device are known, and how one gets to be known: the detector sees it, the next
 * one is recorded, the device does what was recorded, and its durations are there.
 *
 * Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_KNOWN_ITERATIONS_H
#define SPILLWAY_SHIM_KNOWN_ITERATIONS_H
#include "plan_tuning.h"
#include "observer.h"

struct spw_op;

/* How far the device has come with an iteration that is not known yet:
 *
 *     LOOKING --boundary(): one that is not known has ended--> RECORDING --boundary(): one more of it has ended--> RECORDED
 *      ^ ^ ^                                                     |                                                |   |
 *      | | +--stop_recording_locked(): something else came-------+------------------------------------------------+   |
 *      | +----take_locked(): it makes no course, or there is no memory------------------------------------------------+
 *      |                                                                                                              |
 *      +--timed_locked(): the device has done it too-- TIMING <--take_locked(): something new happens-----------------+
 *
 *     state      what holds in it
 *     LOOKING    the detector is told, nothing is recorded
 *     RECORDING  so is the observer's recording, taken for one of `recording_shape`, and the device's times are taken
 *     RECORDED   its last operation was there; frees may still follow
 *     TIMING     `awaited` has a course, which may be followed; it has no plan before the device has done all of it, but
 *                where an earlier run has left its durations
 *
 * In TIMING nothing else is recorded. forget_locked() of what is awaited goes back to LOOKING. */
enum spw_known_state { SPW_KNOWN_LOOKING, SPW_KNOWN_RECORDING, SPW_KNOWN_RECORDED, SPW_KNOWN_TIMING };

struct spw_known_iterations {
    struct spw_device *device;
    struct spw_observer *watch;
    struct spw_tuned_iterations iterations;
    enum spw_known_state state;
    uint64_t clock;    /* boundaries met */
    bool ended;        /* the detector was told of the last operation of an `ended_shape`, and of nothing since */
    bool ended_surely; /* else the place was only a likely one, as in the first iteration behind an evaluation */
    uint32_t ended_shape;
    bool has_begun; /* RECORDING: an operation of the iteration was recorded */
    uint32_t
        recorded; /* the number of the operation that was told of last, in the recording; SPW_NO_INDEX: it is not in it */
    uint32_t recording_shape;
    struct spw_tuned_iteration *awaited; /* NULL but while TIMING */
};

int spw_known_iterations_init(struct spw_known_iterations *known, struct spw_device *d); /* 0 or -ENOMEM */
void spw_known_iterations_finish(struct spw_known_iterations *known);

static inline bool spw_known_iterations_is_recording(const struct spw_known_iterations *known)
{
    return known->state == SPW_KNOWN_RECORDING || known->state == SPW_KNOWN_RECORDED;
}

/* What the device does next, and what it touches (plan_follower.h). Sets op->timed where its duration is wanted. 0; -ENOMEM:
 * it could not be recorded, or nobody was told of it. */
int spw_known_iterations_observe_locked(struct spw_known_iterations *known, struct spw_op *op,
                                        struct spw_object *const *objects, unsigned count);

/* Something new happens after the last operation of an `ended_shape`: the boundary. Has the next iteration recorded if that
 * is wanted. The tuned iteration where it is known in full and nothing is being recorded, else NULL. */
struct spw_tuned_iteration *spw_known_iterations_boundary(struct spw_known_iterations *known);

/* Something new happens after what was RECORDED: takes it. `but`: one that does not make room for it. The iteration, whose
 * durations are awaited from now on; NULL: none, without memory if `ret_lacks_memory`. */
struct spw_tuned_iteration *spw_known_iterations_take_locked(struct spw_known_iterations *known,
                                                             const struct spw_tuned_iteration *but, bool *ret_lacks_memory);

/* How long the operations of what was taken take, as far as earlier runs have left that (kernel_profile.h): plans it at
 * once. Its durations are awaited all the same: where they differ, it is planned anew. */
void spw_known_iterations_plan_remembered_locked(struct spw_known_iterations *known);

/* Leaves what is known of each iteration of the device for later runs. */
void spw_known_iterations_note_locked(struct spw_known_iterations *known);

/* The iteration whose durations have become complete, now that it has a plan; else NULL. Where it had one before, that is to
 * be taken up anew all the same: what is not where the plan has it leaves then, in the middle of the first iteration. */
struct spw_tuned_iteration *spw_known_iterations_timed_locked(struct spw_known_iterations *known);

/* What is recorded, if anything, is none. */
void spw_known_iterations_stop_recording_locked(struct spw_known_iterations *known);

/* It is to be learned anew. */
void spw_known_iterations_forget_locked(struct spw_known_iterations *known, struct spw_tuned_iteration *tuned,
                                        const char *why);
#endif
