/* versioned.c - finds the version record of the block or slot at an address. */
#include "versioned.h"

#include "lock.h"
#include "arena.h"
#include "ledger.h"
#include "slab.h"

struct spw_versioned *spw_versioned_at_locked(CUdeviceptr address, uint64_t *ret_serial)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_object *o = spw_in_arena(address) ? spw_object_at_locked(address) : NULL;
    if (!o || o->attention & SPW_FREE)
        return NULL;
    if (o->kind == SPW_KIND_BLOCK) {
        struct spw_block *b = spw_block_of(o);
        if (ret_serial)
            *ret_serial = b->serial;
        return b->pinned ? NULL : &b->content;
    }
    struct spw_slab *slab = (struct spw_slab *)o;
    struct spw_slot *slot = slab->pinned ? NULL : spw_slab_slot_at_locked(slab, address);
    if (slot && ret_serial)
        *ret_serial = slot->serial;
    return slot ? &slot->content : NULL;
}
