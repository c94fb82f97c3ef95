/* saved_variables.h - what the variables of a module held before a launch that is kept: in the stash, for its twin before
 * that is run again.
 *
 * Which kernel of a module uses which of its variables nobody tells, so each launch may read and write all of them. What
 * it is run again with is what they held when it ran first; what it makes of them stays in the twin. Engine lock throughout,
 * and the context of the module is current. */
#ifndef SPILLWAY_SHIM_SAVED_VARIABLES_H
#define SPILLWAY_SHIM_SAVED_VARIABLES_H
#include "ledger.h"
#include "variables.h"

struct spw_stream;

struct spw_saved_variables { /* what they held, in the stash */
    struct spw_device *device;
    uint32_t offset, bytes; /* 0 bytes: there are none */
};

/* Copies what the program's hold to the stash, as a part of the last operation of the stream. 0, -ENOSPC (there is no room),
 * or a failure of the driver: nothing is kept. */
int spw_variables_save_locked(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s,
                              struct spw_saved_variables *ret_saved);
void spw_variables_give_locked(struct spw_saved_variables *saved); /* empty is fine */

/* Copies that to the twin's, in the same way. */
int spw_variables_lend_locked(const struct spw_variables *v, struct spw_stream *s, const struct spw_saved_variables *saved);
#endif
