/* drop_check.h - before a block is dropped, what it is made of is shown to be unchanged.
 *
 * That goes for all that its makers were given and are only believed to read (read_check.h), and for what that is made of
 * where it is dropped itself. The variables of their modules are shown to have held no addresses (saved_variables.h). Who
 * drops waits for the answers as for uses of the block. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_DROP_CHECK_H
#define SPILLWAY_SHIM_DROP_CHECK_H
#include "ledger.h"

/* The block is about to leave, one way or another: it cannot be hashed any more then. */
void spw_drop_check_leaving_locked(struct spw_device *d, struct spw_block *b);

/* The block is about to be dropped: what is not shown yet of what it is made of is asked about, which counts as its uses. 0;
 * negative: it cannot be shown, so the block is to be copied. */
int spw_drop_check_request_locked(struct spw_device *d, struct spw_block *b);

/* All of that is shown by now. */
bool spw_drop_check_passed_locked(struct spw_device *d, struct spw_block *b);
#endif
