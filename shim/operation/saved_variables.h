/* saved_variables.h - what the variables of a module held before a launch that is kept: in the stash, for its twin before
 * that is run again.
 *
 * Which kernel of a module uses which of its variables nobody tells, so each launch may read and write all of them. What
 * it is run again with is what they held when it ran first; what it makes of them stays in the twin.
 *
 * A kernel of the module may have left an address in one of them, which this one follows: in the twin it would write there
 * once more, behind everybody's back. So where an address has room, what was saved is searched on the device, and nothing is
 * run again before the answer has come.
 *
 *     PLAIN     no address was found, or none has room
 *     SEARCHED  the answer is awaited                         -> PLAIN, ADDRESSES, UNKNOWN
 *     ADDRESSES of tensors, or of memory that is not ours
 *     UNKNOWN   there will be no answer
 *
 * Engine lock throughout, and where something is submitted the context of the module is current. */
#ifndef SPILLWAY_SHIM_SAVED_VARIABLES_H
#define SPILLWAY_SHIM_SAVED_VARIABLES_H
#include "ledger.h"
#include "variables.h"

struct spw_stream;

enum spw_saved_state { SPW_SAVED_PLAIN, SPW_SAVED_SEARCHED, SPW_SAVED_ADDRESSES, SPW_SAVED_UNKNOWN };

struct spw_saved_variables { /* what they held, in the stash */
    struct spw_device *device;
    uint32_t offset, bytes; /* 0 bytes: there are none */
    enum spw_saved_state state;
    uint32_t ticket, stream; /* SEARCHED: of the answer, which operation `number` of the stream tells */
    uint64_t number;
};

/* Copies what the program's hold to the stash, as a part of the last operation of the stream, and has it searched. 0,
 * -ENOSPC (there is no room), or a failure of the driver or of digest.h: nothing is kept. */
int spw_variables_save_locked(const struct spw_variables *v, struct spw_device *d, struct spw_stream *s,
                              struct spw_saved_variables *ret_saved);
void spw_variables_give_locked(struct spw_saved_variables *saved); /* empty is fine */

/* Looks whether the answer is there. */
enum spw_saved_state spw_variables_settle_locked(struct spw_saved_variables *saved);

/* Copies that to the twin's, in the same way. */
int spw_variables_lend_locked(const struct spw_variables *v, struct spw_stream *s, const struct spw_saved_variables *saved);
#endif
