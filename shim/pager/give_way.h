/* give_way.h - gives back the memory that spillway holds for replays (own_memory.h) before an operation or allocation of
 * the program is refused, if that memory would be enough.
 *
 * The caller that met -ENOMEM asks, and tries again after an answer of true:
 *
 *     for (int i = 0; r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && spw_give_way_to_unlocking(d, bytes); i++)
 *
 * All functions need the engine lock; those that give memory back need the device's slow lock as well, and release the
 * engine lock meanwhile. */
#ifndef SPILLWAY_SHIM_GIVE_WAY_H
#define SPILLWAY_SHIM_GIVE_WAY_H
#include "ledger.h"

enum { SPW_GIVE_WAY_TIMES = 2 }; /* kinds of such memory, which are given back one after the other */

/* Returns true for a block that cannot make room now. */
static inline bool spw_give_way_stays(const struct spw_block *b)
{
    return b->pinned || b->holds;
}

/* Returns the bytes of such memory that spillway does not hold yet and may still take. */
uint64_t spw_give_way_to_come_locked(const struct spw_device *d);

/* Returns how many bytes `needed_bytes` is above the budget, if spillway's own memory is at least as much; else 0.
 * `needed_bytes` is what has to be on the device at once, together with what cannot leave. */
uint64_t spw_give_way_lacking_locked(const struct spw_device *d, uint64_t needed_bytes);

/* For when the host has no room for what would have to be evicted: returns how many bytes less the host would have to take
 * if spillway's own memory went, counted as one granule. Returns 0 if spillway holds none, or a block without a
 * copy is dropped. */
uint64_t spw_give_way_displaced_locked(const struct spw_device *d);

/* Gives some of that memory back, for an operation on the stream (NULL: for none). Returns true if some was given back. */
bool spw_give_way_unlocking(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s);

/* The same for `bytes` that are to stay on the device, if only spillway's own memory is in their way. */
bool spw_give_way_to_unlocking(struct spw_device *d, uint64_t bytes);
#endif
