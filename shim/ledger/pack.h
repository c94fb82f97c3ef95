/* pack.h - packs: blocks that several allocations share which are too small for granules of their own. To everything that
 * moves memory a pack is one block: it is evicted, prefetched and recomputed as a whole. Only allocating, freeing and
 * queries about an address deal with the slots in it.
 *
 *     block  |slot 0  |slot 1     |gap    |slot 2  |gap           |     offsets in steps of SPW_PACK_ALIGNMENT
 *
 * Allocations that were made at about the same time lie together: a slot is taken in the first gap of one of the newest
 * packs, or in a new pack if these have none. If gaps make up more than half of all packs, older packs are searched before
 * a new one is made. So a program that allocates and frees the same in each iteration has the same slots in the same packs
 * each time. A pack lives until its last slot is freed. All slots of a pack belong to one context. */
#ifndef SPILLWAY_SHIM_PACK_H
#define SPILLWAY_SHIM_PACK_H
#include "ledger.h"

enum { SPW_PACK_ALIGNMENT = 512 }; /* of slots, in bytes */

struct spw_pack_slot {
    uint32_t offset;                /* from the beginning of the block */
    uint32_t size_bytes;            /* as the program asked for */
    struct spw_mempool_stats *pool; /* never NULL */
    uint64_t serial, sync_memops;   /* as in a block */
};

struct spw_pack {
    struct spw_block *block;      /* the block whose `pack` this is; all slots belong to its context */
    struct spw_pack *next;        /* of the device, newest first */
    struct spw_uses former;       /* former users of the gaps, who may not be done: a new slot is ordered behind them */
    uint32_t largest_gap;         /* an upper bound, in bytes */
    uint32_t count, room;         /* of slots */
    struct spw_pack_slot slots[]; /* in the order of their offsets */
};

/* Returns how large a pack for allocations of `bytes` is, in whole granules. */
size_t spw_pack_bytes(const struct spw_device *d, size_t bytes);

/* Makes an empty pack from a block of spw_pack_bytes() that is free and has its context. Returns 0 or -ENOMEM. */
int spw_pack_create_locked(struct spw_device *d, struct spw_block *b);

/* Takes a slot for `bytes` in one of the newest packs of the context; the caller sets its pool. Returns 0, or -ENOSPC if
 * none of them has room. *ret_must_wait: pack->former has to be waited for, or ordered before `s` (NULL: any stream),
 * first. */
int spw_pack_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                         struct spw_pack **ret_pack, struct spw_pack_slot **ret_slot, bool *ret_must_wait);

/* Returns the slot at an address, which may be an interior address, or NULL if a gap lies there. */
struct spw_pack_slot *spw_pack_slot_at_locked(const struct spw_pack *pack, CUdeviceptr a);

static inline CUdeviceptr spw_pack_slot_address(const struct spw_pack *pack, const struct spw_pack_slot *slot)
{
    return pack->block->address + slot->offset;
}

/* Frees the slot. `s` is the stream in whose order it was freed; NULL: unknown, then all uses of the pack so far count as
 * uses of the slot. Returns true if that was the last slot: the pack is freed, and the caller frees its block, which is an
 * ordinary one again. */
bool spw_pack_give_locked(struct spw_device *d, struct spw_pack *pack, struct spw_pack_slot *slot, struct spw_stream *s);
#endif
