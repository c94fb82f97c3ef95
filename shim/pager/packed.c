/* packed.c - gives out and takes back slots of packs. */
#include "packed.h"

#include <errno.h>

#include "alloc_parts.h"
#include "lock.h"
#include "pack.h"
#include "pin.h"

int spw_packed_free_locked(struct spw_device *d, struct spw_block *b, CUdeviceptr address, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_pack_slot *slot = spw_pack_slot_at_locked(b->pack, address);
    if (!slot || spw_pack_slot_address(b->pack, slot) != address)
        return -EINVAL;
    spw_alloc_unbook(d, slot->pool, slot->size_bytes);
    spw_alloc_forget_addresses(address, slot->size_bytes);
    if (spw_pack_give_locked(d, b->pack, slot, s))
        spw_alloc_end_life(d, b, s);
    return 0;
}

static int add_pack(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context)
{
    struct spw_block *b;
    int r = spw_alloc_obtain_unlocking(d, spw_pack_bytes(d, bytes), s, &b);
    if (r < 0)
        return r;
    spw_alloc_begin_life(d, b, context, spw_mempool_stats_of_locked(NULL));
    r = spw_pack_create_locked(d, b);
    if (r < 0)
        spw_alloc_end_life(d, b, s);
    return r;
}

/* Takes and books a slot, with its former users out of the way. -ENOSPC: there is none that can be used now. */
static int take_slot(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                     struct spw_mempool_stats *pool, CUdeviceptr *ret_address)
{
    struct spw_pack *pack;
    struct spw_pack_slot *slot;
    bool must_wait;
    int r = spw_pack_take_locked(d, bytes, s, context, &pack, &slot, &must_wait);
    if (r < 0)
        return r;
    slot->pool = pool;
    *ret_address = spw_pack_slot_address(pack, slot);
    spw_alloc_book(d, pool, bytes);
    spw_mempool_note_reserved(pool, d);
    if (must_wait) { /* `former` covers other gaps too, which others may take meanwhile */
        struct spw_uses former = pack->former;
        r = spw_alloc_get_past_uses_unlocking(&former, s);
    }
    if (r < 0)
        (void)spw_packed_free_locked(d, pack->block, *ret_address, NULL);
    return r == -EBUSY ? -ENOSPC : r; /* it cannot be waited for while a stream is capturing: take one of a new pack */
}

int spw_packed_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                                  struct spw_mempool_stats *pool, CUdeviceptr *ret_address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = take_slot(d, bytes, s, context, pool, ret_address);
    while (r == -ENOSPC) { /* another thread may take all of a new pack before this one takes a slot */
        r = add_pack(d, bytes, s, context);
        if (r == 0)
            r = take_slot(d, bytes, s, context, pool, ret_address);
    }
    return r;
}

void spw_packed_free_all_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t left = b->pack->count; left; left--) /* the last one ends the pack, and perhaps the block */
        (void)spw_packed_free_locked(d, b, spw_pack_slot_address(b->pack, &b->pack->slots[0]), NULL);
}
