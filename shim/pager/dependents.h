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

/* The plan does not mention the block any more (b->expected is 0). */
void spw_retained_look_locked(struct spw_device *d, struct spw_block *b);

/* Nobody wants its bytes: neither a plan nor what is made of them. Two that one operation writes may need each other's
 * addresses without being wanted themselves. */
bool spw_retained_is_idle_locked(const struct spw_block *b);
#endif
