/* saved_variables.h - saves what the variables of a module hold before a launch that is kept, in the stash, and gives it to
 * the module's twin before the launch is run again.
 *
 * It is not known which variables of a module a kernel uses, so each launch is taken to read and write all of them. When it
 * is run again, the twin's variables hold what the module's held when it ran first; what it writes to them stays in the
 * twin.
 *
 * A kernel of the module may have left an address in a variable, which this launch follows: run again in the twin, it would
 * write to that address a second time, unnoticed. So if a variable is large enough for an address, the saved bytes are
 * searched on the device, and the launch is not run again before the answer has arrived.
 *
 *     PLAIN     no address was found, or no variable is large enough for one
 *     SEARCHED  the answer is awaited                         -> PLAIN, ADDRESSES, UNKNOWN
 *     ADDRESSES of tensors, or of memory that is not ours, were found
 *     UNKNOWN   there will be no answer
 *
 * The caller holds the engine lock throughout, and the context of the module is current where something is submitted. */
#ifndef SPILLWAY_SHIM_SAVED_VARIABLES_H
#define SPILLWAY_SHIM_SAVED_VARIABLES_H
#include "ledger.h"
#include "variables.h"

struct spw_stream;

enum spw_saved_state { SPW_SAVED_PLAIN, SPW_SAVED_SEARCHED, SPW_SAVED_ADDRESSES, SPW_SAVED_UNKNOWN };

struct spw_saved_variables { /* the saved bytes, in the stash */
    struct spw_device *device;
    uint32_t offset, bytes; /* 0 bytes: the module has no such variables */
    enum spw_saved_state state;
    uint32_t ticket, stream; /* SEARCHED: ticket of the answer, which operation `number` of the stream `stream` sends */
    uint64_t number;
};

/* Copies the variables of the program's module to the stash, as a part of the stream's last operation, and has the copy
 * searched. Returns 0, -ENOSPC if there is no room, or a failure of the driver or of digest.h; then nothing is kept. */
int spw_variables_save_locked(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s,
                              struct spw_saved_variables *ret_saved);
void spw_variables_give_locked(struct spw_saved_variables *saved); /* releases the saved bytes; empty is fine */

/* Returns the state, after looking whether the answer has arrived. */
enum spw_saved_state spw_variables_settle_locked(struct spw_saved_variables *saved);

/* Copies the saved bytes to the variables of the twin, as a part of the stream's last operation. */
int spw_variables_lend_locked(const struct spw_variables *v, struct spw_stream *s, const struct spw_saved_variables *saved);
#endif
