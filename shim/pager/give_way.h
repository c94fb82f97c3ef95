/* give_way.h - what is taken for running operations again (own_memory.h) goes before anything of the program's is refused
 * for want of memory that it would leave.
 *
 * Whoever was refused with -ENOMEM asks, and tries again where that was answered with true:
 *
 *     for (int i = 0; r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && spw_give_way_to_unlocking(d, bytes); i++)
 *
 * All need the engine lock; those that give need the device's slow lock as well, and let go of the engine lock. */
#ifndef SPILLWAY_SHIM_GIVE_WAY_H
#define SPILLWAY_SHIM_GIVE_WAY_H
#include "ledger.h"

enum { SPW_GIVE_WAY_TIMES = 2 }; /* kinds of such memory, which go one after the other */

/* True for a block that cannot make room now. */
static inline bool spw_give_way_stays(const struct spw_block *b)
{
    return b->pinned || b->holds;
}

/* What we do not hold yet, and may take. */
uint64_t spw_give_way_to_come_locked(const struct spw_device *d);

/* What has to be on the device at once, and what stays there, take `needed_bytes`: so many more than the budget has, where
 * it would suffice but for what we hold ourselves. 0: there is another reason. */
uint64_t spw_give_way_lacking_locked(const struct spw_device *d, uint64_t needed_bytes);

/* The host has no room for what would have to leave: what it would have to take less if what we hold ourselves went, a
 * granule at least. 0: we hold nothing. */
uint64_t spw_give_way_displaced_locked(const struct spw_device *d);

/* Gives some of that back for an operation on the stream (NULL: for none). True: some went. */
bool spw_give_way_unlocking(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s);

/* The same for `bytes` that are to stay on the device, where these lack something for that reason. */
bool spw_give_way_to_unlocking(struct spw_device *d, uint64_t bytes);
#endif
