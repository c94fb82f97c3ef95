/* owed.h - small allocations that are owed what they held: a replay was lent them, and could not put that back at once.
 *
 * It is in the stash (stash.h), and the slab is OWED it: no operation uses the slab before. */
#ifndef SPILLWAY_SHIM_OWED_H
#define SPILLWAY_SHIM_OWED_H
#include "slab.h"

struct spw_stream;

/* Puts what is at the offset in the stash into the slot, in the order of the stream, as a part of its operation `number`. 0
 * or a failure of the driver. Engine lock. */
int spw_owed_give_back_locked(struct spw_device *d, struct spw_slot *slot, uint32_t offset, uint64_t bytes,
                              struct spw_stream *s, uint64_t number);

/* That could not be done: it is owed. Engine lock. */
void spw_owed_note_locked(struct spw_slot *slot, uint32_t offset, uint64_t bytes);

/* Puts back what slots of the slab are owed. On failure no operation may use it. Device's slow lock and engine lock. */
int spw_owed_settle_locked(struct spw_device *d, struct spw_slab *slab, struct spw_stream *s);

/* A slot is freed that is owed what it held: nobody wants it any more. Engine lock. */
void spw_owed_slot_freed_locked(struct spw_device *d, struct spw_slot *slot);
#endif
