/* owed.c - puts back what small allocations held before a replay. */
#include "owed.h"

#include <errno.h>

#include "lock.h"
#include "mover.h"
#include "stash.h"

int spw_owed_give_back_locked(struct spw_device *d, struct spw_slot *slot, uint32_t offset, uint64_t bytes,
                              struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    enum { TIMES = 3 };
    int r = -EIO;
    for (int attempt = 0; attempt < TIMES && r < 0; attempt++)
        r = spw_stash_load_locked(d, s, number, spw_slot_address(slot), bytes, offset);
    return r;
}

void spw_owed_note_locked(struct spw_slot *slot, uint32_t offset, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    slot->owed = offset + 1;
    slot->owed_bytes = (uint32_t)bytes;
    slot->slab->object.attention |= SPW_OWED;
}

static void forgive(struct spw_device *d, struct spw_slot *slot)
{
    spw_stash_give_locked(d, slot->owed - 1, slot->owed_bytes);
    slot->owed = 0;
}

int spw_owed_settle_locked(struct spw_device *d, struct spw_slab *slab, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = 0;
    for (uint32_t i = 0; i < slab->slot_count && r == 0; i++) {
        struct spw_slot *slot = &slab->slots[i];
        if (!slot->owed)
            continue;
        const uint64_t number = spw_stream_next_locked(s);
        r = spw_uses_order_locked(&slab->object.uses, s);
        if (r == 0)
            r = spw_owed_give_back_locked(d, slot, slot->owed - 1, slot->owed_bytes, s, number);
        spw_uses_add_locked(&slab->object.uses, s, number);
        if (r == 0)
            forgive(d, slot);
    }
    if (r == 0)
        r = spw_streams_follow_locked(s, spw_device_users_locked(d));
    if (r == 0)
        slab->object.attention &= ~(uint32_t)SPW_OWED;
    return r;
}

void spw_owed_slot_freed_locked(struct spw_device *d, struct spw_slot *slot)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!slot->content.needed && !slot->lent)
        forgive(d, slot);
}
