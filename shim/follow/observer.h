/* observer.h - one device under observation: which iteration it is in, and one of them written down in full.
 *
 * Everything that the device does is told to the iteration detector and, from a boundary on, to a recording. What was not
 * told, because all went as a course expects, is told afterwards in one go. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_OBSERVER_H
#define SPILLWAY_SHIM_OBSERVER_H
#include "course/cursor.h"
#include "ledger.h"
#include "place.h"

struct spw_observer;

/* The device's blocks are told of as they are now. 0 or -ENOMEM. */
int spw_observer_create(struct spw_device *d, struct spw_observer **ret_watch);
void spw_observer_destroy(struct spw_observer *watch); /* NULL is fine */

void spw_observer_alloc(struct spw_observer *watch, const struct spw_block *b);
void spw_observer_free(struct spw_observer *watch, uint64_t serial);
void spw_observer_pin(struct spw_observer *watch, uint64_t serial);

void spw_observer_free_small(struct spw_observer *watch, uint64_t serial); /* a slot of a slab */

/* The program says that an iteration begins (spw_iteration_hint()). */
void spw_observer_hint(struct spw_observer *watch);

struct spw_observer_touch {
    uint64_t serial, bytes, offset; /* serial 0: nothing of the device's */
    bool writes;
    bool small;   /* a slot: the recording alone is told of it */
    bool loose;   /* the operation is not recognised by it, but touches it */
    bool doubted; /* the operation is not known by it: the recording alone, too */
};

/* What the device does next, with its touches in the order of the parameters, unless the order is not `known`. `ret_place`
 * as the detector answers. Returns the operation's number in the recording, SPW_NO_INDEX: nothing is recorded. */
struct spw_observer_op {
    struct spw_signature signature;
    const struct spw_observer_touch *touches;
    uint32_t count;
    bool everything; /* that there is */
    bool order_known;
    uint64_t
        function; /* what the detector knows the call by: the signature's, or a number that is the same in each process */
};
uint32_t spw_observer_note(struct spw_observer *watch, const struct spw_observer_op *op,
                           struct spw_iteration_place *ret_place);

/* What an operation is known by. Where the iteration comes with tensors of other sizes each time, nothing of its sizes. */
uint64_t spw_observer_key(const struct spw_observer *watch, const struct spw_signature *signature);

/* An iteration that the detector knows, for the profile (kernel_profile.h): its hash, 0 where there is none, and its shape
 * as spw_iteration_save_shape() makes it. One that is known without sizes is not for later runs. */
uint64_t spw_observer_hash_of(const struct spw_observer *watch, uint32_t shape);
int spw_observer_save_shape(const struct spw_observer *watch, uint32_t shape, void **ret_bytes, size_t *ret_size);

/* An iteration ends here: records the next one. 0 or -ENOMEM. */
int spw_observer_record(struct spw_observer *watch);
bool spw_observer_is_recording(const struct spw_observer *watch);
void spw_observer_stop_recording(struct spw_observer *watch); /* it was none; forgets it */

/* Operation `number` of the recording waits for others most of the time that it takes: a plan counts none of it. */
void spw_observer_takes_no_time(struct spw_observer *watch, uint32_t number);

/* The recording is complete: nothing happened since its last operation but frees. Durations are still missing. 0, -EINVAL or
 * -ENOMEM. */
int spw_observer_course(struct spw_observer *watch, struct spw_course **ret_course);

/* While the device was on its course, up to the cursor's place, nothing was told: tells it. */
void spw_observer_catch_up(struct spw_observer *watch, const struct spw_cursor *cursor);
/* The same at the end of an iteration; the cursor goes on with the next one, of which everything is told. */
void spw_observer_catch_up_and_rewind(struct spw_observer *watch, struct spw_cursor *cursor);
#endif
