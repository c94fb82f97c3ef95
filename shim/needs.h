/* needs.h - what blocks whose bytes are nowhere are made of: counted, and kept for as long as it is needed.
 *
 * A block that is dropped counts everything that its maker touches, itself excepted, as needed: what the maker reads has to
 * stay at the version that it read, and whatever else it writes has to go on lying at its address with the bytes that it
 * wrote. Small allocations that it writes have only to go on being there. One of these blocks may be dropped in its turn,
 * since what that is made of is counted then as well. Versions only grow, so nothing is made of itself.
 *
 * Nobody writes what is needed before what needs it has been made (replay.h: rescue). What the program frees although it is
 * needed, or will be by the plan, becomes a ghost: the program's no more, but kept, until nobody needs it. A slot of a slab
 * that is freed is kept back likewise. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_NEEDS_H
#define SPILLWAY_SHIM_NEEDS_H
#include "reruns.h"
#include "slab.h"

/* A launch is taken to read whatever it is given. What it overwrites completely it does not read for that. */
static inline bool spw_touch_reads(const struct spw_rerun_touch *touch)
{
    return touch->access & SPW_RERUN_READS && !touch->whole;
}
static inline bool spw_touch_writes(const struct spw_rerun_touch *touch)
{
    return touch->access & SPW_RERUN_WRITES;
}
static inline bool spw_touch_makes(const struct spw_rerun_touch *touch)
{
    return spw_touch_writes(touch) && touch->whole;
}

/* Whom the operation touched, if that is still so; NULL: it has gone, or is somebody else. */
struct spw_block *spw_touched_block_locked(const struct spw_rerun_touch *touch);
struct spw_slot *spw_touched_slot_locked(const struct spw_rerun_touch *touch);

/* True when the bytes of a block that is there could be made again as things are: its maker is good and has written all of
 * it, and what it touched is at the version that it was left at, or is a small allocation whose content of then was saved.
 * An operation that updates a block in place cannot be run again, and neither can one that has also written a block which
 * has been written since. */
bool spw_replay_can_drop_locked(struct spw_device *d, const struct spw_block *b);

/* The block is about to lose its bytes: it `drops`. */
void spw_needs_add_locked(struct spw_device *d, struct spw_block *b);

/* It has its bytes, or nobody wants them any more: it does not. Nothing happens to one that does not anyway. */
void spw_needs_remove_locked(struct spw_device *d, struct spw_block *b);

/* ---- ghosts ---- */

/* The program frees the block; `planned`: the plan goes on mentioning it. True: it will be kept, as a ghost, and is marked
 * as one. Else its maker is let go of, unless it is on its way. */
bool spw_ghost_wanted_locked(struct spw_device *d, struct spw_block *b, bool planned);

/* The last holder of a freed block lets go. True: it is a ghost now; if it was leaving it still is. False: it is in no
 * queue, and nobody wants its bytes. */
bool spw_ghost_keep_locked(struct spw_device *d, struct spw_block *b);

/* The plan does not mention the block any more (b->expected is 0). */
void spw_ghost_look_locked(struct spw_device *d, struct spw_block *b);

/* Retires the ghosts that nobody needs any more. The device's list of blocks changes. */
void spw_ghosts_sweep_locked(struct spw_device *d);

/* Retires all ghosts of a context that is about to be destroyed. */
void spw_ghosts_context_gone_locked(CUcontext context);
#endif
