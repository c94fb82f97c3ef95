/* known_iterations.h - keeps which iterations of a device are known, and makes one known: the detector sees it, the next
 * one is recorded, the device does what was recorded, and its durations are measured.
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
 *     LOOKING    the detector is told of everything, nothing is recorded
 *     RECORDING  the observer's recording is told as well, and is taken for one of `recording_shape`; operations are timed
 *     RECORDED   its last operation has come; frees may still follow
 *     TIMING     `awaited` has a course, which may be followed; it has no plan before the device has done all of it, unless
 *                an earlier run has left its durations
 *
 * In TIMING nothing else is recorded. forget_locked() of the awaited iteration goes back to LOOKING. */
enum spw_known_state { SPW_KNOWN_LOOKING, SPW_KNOWN_RECORDING, SPW_KNOWN_RECORDED, SPW_KNOWN_TIMING };

struct spw_known_iterations {
    struct spw_device *device;
    struct spw_observer *watch;
    struct spw_tuned_iterations iterations;
    enum spw_known_state state;
    uint64_t clock;    /* boundaries so far */
    bool ended;        /* the detector was told of the last operation of an `ended_shape`, and of nothing since */
    bool ended_surely; /* false: the place was only a likely one, as in the first iteration after an evaluation */
    uint32_t ended_shape;
    bool has_begun;    /* RECORDING: an operation of the iteration was recorded */
    uint32_t recorded; /* the number, in the recording, of the operation that was told last; SPW_NO_INDEX: it is not in it */
    uint32_t recording_shape;
    struct spw_tuned_iteration *awaited; /* NULL except while TIMING */
};

int spw_known_iterations_init(struct spw_known_iterations *known, struct spw_device *d); /* 0 or -ENOMEM */
void spw_known_iterations_finish(struct spw_known_iterations *known);

static inline bool spw_known_iterations_is_recording(const struct spw_known_iterations *known)
{
    return known->state == SPW_KNOWN_RECORDING || known->state == SPW_KNOWN_RECORDED;
}

/* Tells the detector and the recording what the device does next, and what it touches. Sets op->timed if the duration of
 * the operation is wanted. Returns 0; or -ENOMEM if it could not be recorded, or nobody was told of it. */
int spw_known_iterations_observe_locked(struct spw_known_iterations *known, struct spw_op *op,
                                        struct spw_object *const *objects, unsigned count);

/* Call at the boundary: when something happens after the last operation of an `ended_shape`. Has the next iteration
 * recorded if that is wanted. Returns the tuned iteration if it is known in full and nothing is being recorded, else
 * NULL. */
struct spw_tuned_iteration *spw_known_iterations_boundary(struct spw_known_iterations *known);

/* Call when something happens after what was RECORDED: takes it. `but` is an iteration that must not make room for it.
 * Returns the iteration, whose durations are awaited from now on, or NULL; then *ret_lacks_memory says whether memory was
 * lacking. */
struct spw_tuned_iteration *spw_known_iterations_take_locked(struct spw_known_iterations *known,
                                                             const struct spw_tuned_iteration *but, bool *ret_lacks_memory);

/* Plans what was taken at once, with the durations that earlier runs have left (kernel_profile.h). Its durations are
 * awaited all the same; if they differ, it is planned again. */
void spw_known_iterations_plan_remembered_locked(struct spw_known_iterations *known);

/* Leaves what is known of each iteration of the device for later runs. */
void spw_known_iterations_note_locked(struct spw_known_iterations *known);

/* Returns the iteration whose durations have become complete, which has a plan then; else NULL. If it had a plan before,
 * that has to be taken up again all the same: blocks that are on the device against the plan leave then, in the middle of
 * the first iteration. */
struct spw_tuned_iteration *spw_known_iterations_timed_locked(struct spw_known_iterations *known);

/* Stops and forgets the recording, if there is one. */
void spw_known_iterations_stop_recording_locked(struct spw_known_iterations *known);

/* Forgets the iteration, which is to be learned again; `why` completes a message. */
void spw_known_iterations_forget_locked(struct spw_known_iterations *known, struct spw_tuned_iteration *tuned,
                                        const char *why);
#endif
