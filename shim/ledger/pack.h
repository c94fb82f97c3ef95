/* pack.h - allocations that are too small to have granules of their own share a block: a pack. To everything that moves
 * memory a pack is one block: it is evicted, comes back and is recomputed as a whole. Only whoever allocates, frees or asks
 * about an address knows of the slots in it.
 *
 *     block  |slot 0  |slot 1     |gap    |slot 2  |gap           |     offsets in steps of SPW_PACK_ALIGNMENT
 *
 * What was allocated at about the same time lies together: a slot is taken in the first gap of one of the newest packs, and
 * in a new pack where these have none. Where gaps are more than half of all packs, the older ones are looked through first.
 * A program that allocates and frees the same in each iteration so has the same slots in the same packs each time. A pack
 * lives until its last slot is freed. All slots of a pack are of one context. */
#ifndef SPILLWAY_SHIM_PACK_H
#define SPILLWAY_SHIM_PACK_H
#include "ledger.h"

enum { SPW_PACK_ALIGNMENT = 512 }; /* of slots, in bytes */

struct spw_pack_slot {
    uint32_t offset;                /* in the block */
    uint32_t size_bytes;            /* as asked */
    struct spw_mempool_stats *pool; /* never NULL */
    uint64_t serial, sync_memops;   /* as in a block */
};

struct spw_pack {
    struct spw_block *block;      /* whose `pack` this is; its context is that of all slots */
    struct spw_pack *next;        /* of the device, newest first */
    struct spw_uses former;       /* who may still be using what is in the gaps now: a new slot comes after them */
    uint32_t largest_gap;         /* in bytes, at most */
    uint32_t count, room;         /* of slots */
    struct spw_pack_slot slots[]; /* in the order of their offsets */
};

/* How large a pack for allocations of `bytes` is, in whole granules. */
size_t spw_pack_bytes(const struct spw_device *d, size_t bytes);

/* Makes an empty pack of a block of spw_pack_bytes() that is nobody's and has its context. 0 or -ENOMEM. */
int spw_pack_create_locked(struct spw_device *d, struct spw_block *b);

/* A slot for `bytes` in one of the newest packs of the context, its pool still to be set. -ENOSPC: none of them has room.
 * *ret_must_wait: pack->former has to be waited for, or ordered before `s` (NULL: any stream), first. */
int spw_pack_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                         struct spw_pack **ret_pack, struct spw_pack_slot **ret_slot, bool *ret_must_wait);

/* The slot that lies at an address, interior addresses too; NULL where there is a gap. */
struct spw_pack_slot *spw_pack_slot_at_locked(const struct spw_pack *pack, CUdeviceptr a);

static inline CUdeviceptr spw_pack_slot_address(const struct spw_pack *pack, const struct spw_pack_slot *slot)
{
    return pack->block->address + slot->offset;
}

/* The slot becomes a gap. `s` is the stream in whose order it was freed; NULL: unknown, then all uses of the pack until now
 * count. True: that was the last one, and the pack is gone; its block, which is a plain one again, is the caller's to free.
 */
bool spw_pack_give_locked(struct spw_device *d, struct spw_pack *pack, struct spw_pack_slot *slot, struct spw_stream *s);
#endif
