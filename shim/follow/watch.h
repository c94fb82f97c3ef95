/* watch.h - one device under observation: which iteration it is in, and one of them written down in full.
 *
 * Everything that the device does is told to the iteration detector and, from a boundary on, to a recording. What was not
 * told, because all went as a course expects, is told afterwards in one go. Engine lock held throughout. */
#ifndef SPILLWAY_SHIM_WATCH_H
#define SPILLWAY_SHIM_WATCH_H
#include "course/cursor.h"
#include "planned.h"

struct spw_watch;

/* The device's blocks are told of as they are now. 0 or -ENOMEM. */
int spw_watch_create(struct spw_device *d, struct spw_watch **ret_watch);
void spw_watch_destroy(struct spw_watch *watch); /* NULL is fine */

void spw_watch_alloc(struct spw_watch *watch, const struct spw_block *b);
void spw_watch_free(struct spw_watch *watch, uint64_t serial);
void spw_watch_pin(struct spw_watch *watch, uint64_t serial);

void spw_watch_free_small(struct spw_watch *watch, uint64_t serial); /* a slot of a slab */

struct spw_watch_touch {
    uint64_t serial, bytes, offset; /* serial 0: nothing of the device's */
    bool writes;
    bool small;   /* a slot: the recording alone is told of it */
    bool loose;   /* the operation is not recognised by it, but touches it */
    bool doubted; /* the operation is not known by it: the recording alone, too */
};

/* What the device does next, with its touches in the order of the parameters, unless the order is not `known`. `ret_place`
 * as the detector answers. Returns the operation's number in the recording, SPW_NO_INDEX: nothing is recorded. */
struct spw_watch_op {
    struct spw_signature signature;
    const struct spw_watch_touch *touches;
    uint32_t count;
    bool everything; /* that there is */
    bool order_known;
};
uint32_t spw_watch_note(struct spw_watch *watch, const struct spw_watch_op *op, struct spw_iteration_place *ret_place);

/* An iteration ends here: records the next one. 0 or -ENOMEM. */
int spw_watch_record(struct spw_watch *watch);
bool spw_watch_is_recording(const struct spw_watch *watch);
void spw_watch_stop_recording(struct spw_watch *watch); /* it was none; forgets it */

/* The recording is complete: nothing happened since its last operation but frees. Durations are still missing. 0, -EINVAL or
 * -ENOMEM. */
int spw_watch_course(struct spw_watch *watch, struct spw_course **ret_course);

/* While the device was on its course, up to the cursor's place, nothing was told: tells it. */
void spw_watch_catch_up(struct spw_watch *watch, const struct spw_cursor *cursor);
/* The same at the end of an iteration; the cursor goes on with the next one, of which everything is told. */
void spw_watch_catch_up_and_rewind(struct spw_watch *watch, struct spw_cursor *cursor);
#endif
