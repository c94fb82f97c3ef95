/* retire.h - blocks that the program has freed: cached for the next allocation, retained while something dropped is made of
 * them (dependents.h), or taken apart.
 *
 * Engine lock throughout, and the device's slow lock where memory may go. */
#ifndef SPILLWAY_SHIM_RETIRE_H
#define SPILLWAY_SHIM_RETIRE_H
#include "ledger.h"

/* Lets go of a block; frees it if the program freed it meanwhile. */
void spw_release_hold_locked(struct spw_device *d, struct spw_block *b);

/* What a free does once nobody holds the block: cache its memory, or give back what is left of it. */
void spw_retire_block_locked(struct spw_device *d, struct spw_block *b);

/* Takes a block apart whose memory nobody needs: users waited for, in no list. Its memory goes to the pool of handles. */
int spw_dissolve_block_locked(struct spw_device *d, struct spw_block *b);

/* ---- retained blocks ---- */

/* The program frees the block; `planned`: the plan goes on mentioning it. True: it will be kept, as a retained block, and is
 * marked as one. Else its maker is let go of, unless it is on its way. */
bool spw_retained_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned);

/* The last holder of a freed block lets go. True: it is a retained block now; if it was leaving it still is. False: it is in
 * no queue, and nobody wants its bytes. */
bool spw_retained_keep_locked(struct spw_device *d, struct spw_block *b);

/* Retires the retained blocks that nobody needs any more. The device's list of blocks changes. */
void spw_retained_all_sweep_locked(struct spw_device *d);

/* Retires all retained blocks of a context that is about to be destroyed. */
void spw_retained_all_context_gone_locked(CUcontext context);
#endif
