/* observer.h - observes one device: finds out which iteration it is in, and records one iteration in full.
 *
 * Everything that the device does is told to the iteration detector and, from a boundary on, to a recording. What was not
 * told, because everything went as the course expects, is told later in one go. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_OBSERVER_H
#define SPILLWAY_SHIM_OBSERVER_H
#include "course/cursor.h"
#include "ledger.h"
#include "place.h"

struct spw_observer;

/* Creates an observer that knows the device's blocks as they are now. Returns 0 or -ENOMEM. */
int spw_observer_create(struct spw_device *d, struct spw_observer **ret_watch);
void spw_observer_destroy(struct spw_observer *watch); /* NULL is fine */

void spw_observer_alloc(struct spw_observer *watch, const struct spw_block *b);
void spw_observer_free(struct spw_observer *watch, uint64_t serial);
void spw_observer_pin(struct spw_observer *watch, uint64_t serial);

void spw_observer_free_small(struct spw_observer *watch, uint64_t serial); /* a slot of a slab */

/* Call when the program says that an iteration begins (spw_iteration_hint()). */
void spw_observer_hint(struct spw_observer *watch);

struct spw_observer_touch {
    uint64_t serial, bytes, offset; /* serial 0: nothing on this device */
    bool writes;
    bool small;   /* a slot: only the recording is told of it */
    bool loose;   /* the operation touches it, but is not recognised by it */
    bool doubted; /* it is doubtful that the operation is passed it: only the recording is told of it */
};

/* An operation of the device, with its touches in the order of the parameters if `order_known`. spw_observer_note() tells
 * it and stores the detector's answer in *ret_place. Returns the operation's number in the recording, or SPW_NO_INDEX if
 * nothing is recorded. */
struct spw_observer_op {
    struct spw_signature signature;
    const struct spw_observer_touch *touches;
    uint32_t count;
    bool everything; /* it may touch everything there is */
    bool order_known;
    uint64_t function; /* what the detector knows the call by: the signature's function, or a number that is the same in each
                          process */
};
uint32_t spw_observer_note(struct spw_observer *watch, const struct spw_observer_op *op,
                           struct spw_iteration_place *ret_place);

/* Returns the key that an operation is known by. It does not contain its sizes while the iteration comes with tensors of
 * other sizes each time. */
uint64_t spw_observer_key(const struct spw_observer *watch, const struct spw_signature *signature);

/* For the profile (kernel_profile.h): the hash of an iteration that the detector knows, 0 if there is none, and its shape
 * as spw_iteration_save_shape() makes it. An iteration that is known without sizes is not kept for later runs. */
uint64_t spw_observer_hash_of(const struct spw_observer *watch, uint32_t shape);
int spw_observer_save_shape(const struct spw_observer *watch, uint32_t shape, void **ret_bytes, size_t *ret_size);

/* Call when an iteration ends: begins to record the next one. Returns 0 or -ENOMEM. */
int spw_observer_record(struct spw_observer *watch);
bool spw_observer_is_recording(const struct spw_observer *watch);
void spw_observer_stop_recording(struct spw_observer *watch); /* forgets the recording */

/* Says that operation `number` of the recording mostly waits for others: a plan counts no time for it. */
void spw_observer_takes_no_time(struct spw_observer *watch, uint32_t number);

/* Makes a course of the recording when it is complete: since its last operation nothing happened but frees. The course
 * still lacks durations. Returns 0, -EINVAL or -ENOMEM. */
int spw_observer_course(struct spw_observer *watch, struct spw_course **ret_course);

/* Tells what the device has done on its course up to the cursor's place, which nobody was told of. */
void spw_observer_catch_up(struct spw_observer *watch, const struct spw_cursor *cursor);
/* The same at the end of an iteration; the cursor goes on with the next iteration, all of which is told. */
void spw_observer_catch_up_and_rewind(struct spw_observer *watch, struct spw_cursor *cursor);
#endif
