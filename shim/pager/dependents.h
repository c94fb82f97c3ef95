/* dependents.h - counts and keeps what dropped blocks, whose bytes are nowhere, are made again from.
 *
 * A dropped block counts as *needed* everything except itself that is touched by the operations that make it again
 * (rebuild.h). What they read has to stay at the version that they read. Whatever else they write has to stay at its
 * address, with the bytes that they wrote; small allocations that they write need only continue to exist. A needed block
 * may be dropped in its turn, since what it is made from is then counted as well. Versions only grow, so nothing is made
 * from itself.
 *
 * A needed block is not written before the blocks that need it have been made (replay.h: rescue). A block that the program
 * frees while it is needed, or will be needed by the plan, becomes a retained block: the program's no more, but kept until
 * nobody needs it. A slot of a slab that is freed is kept likewise. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_DEPENDENTS_H
#define SPILLWAY_SHIM_DEPENDENTS_H
#include "recorded_op.h"
#include "slab.h"

/* Returns true if the bytes of a resident block could be made again as things are: all operations that wrote to it since it
 * was allocated are recorded and can be replayed, and everything they touched is at the version at which it was left, or is
 * a small allocation whose content at that time was saved. An operation that also wrote another block which was written
 * again since cannot be replayed. */
bool spw_dependents_can_drop_locked(struct spw_device *d, const struct spw_block *b);

/* Call when the block is about to lose its bytes: marks it with `drops` and counts what it needs. */
void spw_dependents_add_locked(struct spw_device *d, struct spw_block *b);

/* Call when a dropped block has its bytes again, or nobody wants them any more: clears `drops` and the counts. Does nothing
 * for a block without `drops`. */
void spw_dependents_remove_locked(struct spw_device *d, struct spw_block *b);

/* Call when the plan does not mention the block any more (b->expected is 0): lists it as idle if nobody needs its bytes. */
void spw_retained_look_locked(struct spw_device *d, struct spw_block *b);

/* Returns true if nobody needs the bytes of a retained block: neither a plan nor a block that is made from it. Two blocks
 * that one operation writes may need each other's addresses although neither is wanted. */
bool spw_retained_is_idle_locked(const struct spw_block *b);
#endif
