/* dependents.h - what blocks whose bytes are nowhere are made of: counted, and kept for as long as it is needed.
 *
 * A block that is dropped counts everything that the operations touch which make it again (rebuild.h), itself excepted, as
 * needed: what they read has to stay at the version that they read, and whatever else they write has to go on lying at its
 * address with the bytes that they wrote. Small allocations that they write have only to go on being there. One of these
 * blocks may be dropped in its turn, since what that is made of is counted then as well. Versions only grow, so nothing is
 * made of itself.
 *
 * Nobody writes what is needed before what needs it has been made (replay.h: rescue). What the program frees although it is
 * needed, or will be by the plan, becomes a retained block: the program's no more, but kept, until nobody needs it. A slot
 * of a slab that is freed is kept back likewise. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_DEPENDENTS_H
#define SPILLWAY_SHIM_DEPENDENTS_H
#include "recorded_op.h"
#include "slab.h"

/* True when the bytes of a block that is there could be made again as things are: all that wrote to it since it was
 * allocated was kept and is good, and what that touched is at the version that it was left at, or is a small allocation
 * whose content of then was saved. What has also written a block which has been written since cannot be run again. */
bool spw_dependents_can_drop_locked(struct spw_device *d, const struct spw_block *b);

/* The block is about to lose its bytes: it `drops`. */
void spw_dependents_add_locked(struct spw_device *d, struct spw_block *b);

/* It has its bytes, or nobody wants them any more: it does not. Nothing happens to one that does not anyway. */
void spw_dependents_remove_locked(struct spw_device *d, struct spw_block *b);

/* ---- retained blocks ---- */

/* The program frees the block; `planned`: the plan goes on mentioning it. True: it will be kept, as a retained block, and is
 * marked as one. Else its maker is let go of, unless it is on its way. */
bool spw_retained_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned);

/* The last holder of a freed block lets go. True: it is a retained block now; if it was leaving it still is. False: it is in
 * no queue, and nobody wants its bytes. */
bool spw_retained_keep_locked(struct spw_device *d, struct spw_block *b);

/* The plan does not mention the block any more (b->expected is 0). */
void spw_retained_look_locked(struct spw_device *d, struct spw_block *b);

/* Retires the retained blocks that nobody needs any more. The device's list of blocks changes. */
void spw_retained_all_sweep_locked(struct spw_device *d);

/* Retires all retained blocks of a context that is about to be destroyed. */
void spw_retained_all_context_gone_locked(CUcontext context);
#endif
