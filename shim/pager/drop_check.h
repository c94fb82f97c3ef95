/* drop_check.h - shows, before a block is dropped, that what it is made from is unchanged.
 *
 * That covers everything that was passed to the operations which made it and that they are only believed to read
 * (read_check.h), and in turn what those blocks are made from if they are dropped themselves. The variables of the modules
 * concerned are shown to have held no addresses (saved_variables.h). A drop waits for the answers as for uses of the block.
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_DROP_CHECK_H
#define SPILLWAY_SHIM_DROP_CHECK_H
#include "ledger.h"

/* Call before the block leaves the device, one way or another: it cannot be hashed any more afterwards. */
void spw_drop_check_leaving_locked(struct spw_device *d, struct spw_block *b);

/* Call before the block is dropped: asks for what is not shown yet of what it is made from, and adds the questions to its
 * uses. Returns 0, or a negative result if that cannot be shown; then the block has to be copied. */
int spw_drop_check_request_locked(struct spw_device *d, struct spw_block *b);

/* Returns true if all of that is shown by now. */
bool spw_drop_check_passed_locked(struct spw_device *d, struct spw_block *b);
#endif
