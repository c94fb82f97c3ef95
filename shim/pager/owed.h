/* owed.h - small allocations that do not hold yet what they held before a replay was lent them: putting that back at once
 * has failed.
 *
 * Their former contents are in the stash (stash.h), and their slab is OWED: no operation uses it before they are put
 * back. */
#ifndef SPILLWAY_SHIM_OWED_H
#define SPILLWAY_SHIM_OWED_H
#include "slab.h"

struct spw_stream;

/* Copies `bytes` at `offset` in the stash back into the slot, in the order of the stream, as a part of its operation
 * `number`. Returns 0 or a failure of the driver. Engine lock. */
int spw_owed_give_back_locked(struct spw_device *d, struct spw_slot *slot, uint32_t offset, uint64_t bytes,
                              struct spw_stream *s, uint64_t number);

/* Notes that this failed and the slot is owed its contents. Engine lock. */
void spw_owed_note_locked(struct spw_slot *slot, uint32_t offset, uint64_t bytes);

/* Puts back what slots of the slab are owed. If it fails, no operation may use the slab. Device's slow lock and engine
 * lock. */
int spw_owed_settle_locked(struct spw_device *d, struct spw_slab *slab, struct spw_stream *s);

/* Call when a slot is freed that is owed its contents: nobody wants them any more. Engine lock. */
void spw_owed_slot_freed_locked(struct spw_device *d, struct spw_slot *slot);
#endif
