/* allocation.c - finds live allocations in blocks, packs and slabs. */
#include "allocation.h"

#include "lock.h"
#include "ledger.h"
#include "mempool_stats.h"
#include "pack.h"
#include "slab.h"

bool spw_content_at_locked(CUdeviceptr address, struct spw_allocation *ret)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_object *o = spw_object_at_locked(address);
    if (!o || o->attention & SPW_FREE)
        return false;
    if (o->kind == SPW_KIND_BLOCK) {
        struct spw_block *b = spw_block_of(o);
        *ret = (struct spw_allocation){
            b->address, b->size_bytes, o->device, b->context, b->pool->pool, b->serial, b->sync_memops == b->serial};
        return !b->doomed && address < b->address + b->size_bytes;
    }
    struct spw_slot *slot = spw_slab_slot_at_locked((struct spw_slab *)o, address);
    if (!slot)
        return false;
    *ret = (struct spw_allocation){
        spw_slot_address(slot),           slot->size_bytes, o->device, slot->context, slot->pool->pool, slot->serial,
        slot->sync_memops == slot->serial};
    return address < ret->address + ret->size_bytes;
}

/* Returns the slot of a pack at the address; NULL if there is none, or no pack. */
static struct spw_pack_slot *packed_at(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    const struct spw_pack *pack = o && o->kind == SPW_KIND_BLOCK ? spw_block_of(o)->pack : NULL;
    return pack ? spw_pack_slot_at_locked(pack, address) : NULL;
}

static bool is_packed(CUdeviceptr address)
{
    struct spw_object *o = spw_object_at_locked(address);
    return o && o->kind == SPW_KIND_BLOCK && spw_block_of(o)->pack;
}

bool spw_allocation_at_locked(CUdeviceptr address, struct spw_allocation *ret)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_content_at_locked(address, ret))
        return false;
    const struct spw_pack_slot *slot = packed_at(address);
    if (!slot)
        return !is_packed(address);
    ret->address += slot->offset;
    ret->size_bytes = slot->size_bytes;
    ret->pool = slot->pool->pool;
    ret->serial = slot->serial;
    ret->sync_memops = slot->sync_memops == slot->serial;
    return true;
}

void spw_allocation_set_sync_memops_locked(CUdeviceptr address, bool on)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_allocation a;
    if (!spw_allocation_at_locked(address, &a))
        return;
    struct spw_object *o = spw_object_at_locked(address);
    struct spw_pack_slot *packed = packed_at(address);
    if (packed)
        packed->sync_memops = on ? a.serial : 0;
    else if (o->kind == SPW_KIND_BLOCK)
        spw_block_of(o)->sync_memops = on ? a.serial : 0;
    else
        spw_slab_slot_at_locked((struct spw_slab *)o, address)->sync_memops = on ? a.serial : 0;
}
