/* retire.h - decides what becomes of blocks that the program has freed: they are cached for the next allocation, retained
 * while a dropped block is made from them (dependents.h), or taken apart.
 *
 * Engine lock throughout, and the device's slow lock where memory may be released. */
#ifndef SPILLWAY_SHIM_RETIRE_H
#define SPILLWAY_SHIM_RETIRE_H
#include "ledger.h"

/* Releases one hold of a block. The last holder frees the block if the program has freed it meanwhile. */
void spw_release_hold_locked(struct spw_device *d, struct spw_block *b);

/* Completes a free once nobody holds the block: caches its memory, or destroys what is left of it. */
void spw_retire_block_locked(struct spw_device *d, struct spw_block *b);

/* Takes a block apart whose memory nobody needs: its memory goes to the physical pool. Its users have been waited for, and
 * it is in no list. Returns 0 or a failure of the driver. */
int spw_dissolve_block_locked(struct spw_device *d, struct spw_block *b);

/* ---- retained blocks ---- */

/* Call when the program frees the block; `planned`: the plan goes on mentioning it. Returns true if the block will be kept
 * as a retained block, and marks it so. Else the block's maker is forgotten, unless the block has `drops`. */
bool spw_retained_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned);

/* Call when the last holder of a freed block releases it. Returns true if it is a retained block now; if it was being
 * evicted it still is. Returns false if nobody wants its bytes; then it is in no queue. */
bool spw_retained_keep_locked(struct spw_device *d, struct spw_block *b);

/* Retires the retained blocks that nobody needs any more. The device's list of blocks changes. */
void spw_retained_all_sweep_locked(struct spw_device *d);

/* Retires all retained blocks of a context that is about to be destroyed. */
void spw_retained_all_context_gone_locked(CUcontext context);
#endif
