/* pack.c - slots of any size in blocks that they share. */
#include "pack.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "streams.h"

enum {
    NEWEST = 2, /* packs of a size that are searched for room, while packs are mostly full */
    SPARE = 8,  /* granules that may be gaps, beside as many as are in use */
    LEAST = 4   /* slots of one size that fit into a pack, at least */
};

static uint32_t rounded(size_t bytes)
{
    return (uint32_t)(bytes + SPW_PACK_ALIGNMENT - 1) / SPW_PACK_ALIGNMENT * SPW_PACK_ALIGNMENT;
}

size_t spw_pack_bytes(const struct spw_device *d, size_t bytes)
{
    const size_t granule = (size_t)1 << d->granule_shift;
    return (rounded(bytes) * (size_t)LEAST + granule - 1) & ~(granule - 1);
}

int spw_pack_create_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const size_t least = d->small_bytes > SPW_PACK_ALIGNMENT ? d->small_bytes : SPW_PACK_ALIGNMENT;
    const uint32_t room = (uint32_t)(b->size_bytes / least) + 1;
    struct spw_pack *pack = calloc(1, sizeof(*pack) + room * sizeof(pack->slots[0]));
    if (!pack)
        return -ENOMEM;
    pack->block = b;
    pack->room = room;
    pack->largest_gap = (uint32_t)b->size_bytes;
    pack->former = b->object.uses;
    pack->next = d->packs;
    d->packs = pack;
    d->pack_bytes += b->size_bytes;
    b->pack = pack;
    return 0;
}

/* Returns where the gap before slot `index`, or behind the last slot, begins. */
static uint32_t gap_begin(const struct spw_pack *pack, uint32_t index)
{
    const struct spw_pack_slot *before = index ? &pack->slots[index - 1] : NULL;
    return before ? before->offset + rounded(before->size_bytes) : 0;
}

static uint32_t gap_end(const struct spw_pack *pack, uint32_t index)
{
    return index < pack->count ? pack->slots[index].offset : (uint32_t)pack->block->size_bytes;
}

/* Returns the slot before which the first gap of `bytes` bytes lies. UINT32_MAX: there is none, and largest_gap is exact
 * then. */
static uint32_t find_gap(struct spw_pack *pack, uint32_t bytes)
{
    uint32_t largest = 0;
    if (pack->largest_gap < bytes || pack->count == pack->room)
        return UINT32_MAX;
    for (uint32_t i = 0; i <= pack->count; i++) {
        const uint32_t gap = gap_end(pack, i) - gap_begin(pack, i);
        if (gap >= bytes)
            return i;
        largest = gap > largest ? gap : largest;
    }
    pack->largest_gap = largest;
    return UINT32_MAX;
}

static struct spw_pack_slot *insert(struct spw_pack *pack, uint32_t index, size_t bytes)
{
    struct spw_pack_slot *slot = &pack->slots[index];
    const uint32_t offset = gap_begin(pack, index);
    memmove(slot + 1, slot, (pack->count - index) * sizeof(*slot));
    pack->count++;
    *slot = (struct spw_pack_slot){.offset = offset, .size_bytes = (uint32_t)bytes, .serial = ++spw_serials};
    return slot;
}

static bool are_past(struct spw_uses *uses, struct spw_stream *s)
{
    return s ? spw_uses_plainly_only(uses, s) || spw_uses_only_locked(uses, s) : spw_uses_done_locked(uses);
}

/* A program that frees many and keeps a few, time and again, has packs full of gaps. These are filled before more packs are
 * made. */
static bool is_full_of_gaps(const struct spw_device *d)
{
    return d->pack_bytes > 2 * d->packed_bytes + ((uint64_t)SPARE << d->granule_shift);
}

int spw_pack_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                         struct spw_pack **ret_pack, struct spw_pack_slot **ret_slot, bool *ret_must_wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const size_t wanted = spw_pack_bytes(d, bytes);
    const unsigned most = is_full_of_gaps(d) ? UINT_MAX : NEWEST;
    unsigned seen = 0;
    for (struct spw_pack *pack = d->packs; pack && seen < most; pack = pack->next) {
        if (pack->block->size_bytes != wanted || pack->block->context != context)
            continue;
        const uint32_t index = find_gap(pack, rounded(bytes));
        seen++;
        if (index == UINT32_MAX)
            continue;
        *ret_must_wait = !are_past(&pack->former, s);
        *ret_slot = insert(pack, index, bytes);
        d->packed_bytes += rounded(bytes);
        *ret_pack = pack;
        return 0;
    }
    return -ENOSPC;
}

struct spw_pack_slot *spw_pack_slot_at_locked(const struct spw_pack *pack, CUdeviceptr a)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t offset = a - pack->block->address;
    uint32_t low = 0, high = pack->count; /* the first slot behind the offset is in [low, high), or is `high` */
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (pack->slots[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    const struct spw_pack_slot *slot = low ? &pack->slots[low - 1] : NULL;
    return slot && offset - slot->offset < slot->size_bytes ? (struct spw_pack_slot *)slot : NULL;
}

static void unlink_pack(struct spw_device *d, const struct spw_pack *pack)
{
    struct spw_pack **at = &d->packs;
    while (*at != pack)
        at = &(*at)->next;
    *at = pack->next;
}

static bool end_if_empty(struct spw_device *d, struct spw_pack *pack)
{
    if (pack->count)
        return false;
    unlink_pack(d, pack);
    d->pack_bytes -= pack->block->size_bytes;
    spw_uses_merge_locked(&pack->block->object.uses, &pack->former);
    pack->block->pack = NULL;
    free(pack);
    return true;
}

bool spw_pack_give_locked(struct spw_device *d, struct spw_pack *pack, struct spw_pack_slot *slot, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint32_t index = (uint32_t)(slot - pack->slots);
    if (s) /* the program has ordered every use before this point of the stream */
        spw_uses_add_locked(&pack->former, s, spw_stream_next_locked(s));
    else
        spw_uses_merge_locked(&pack->former, &pack->block->object.uses);
    pack->count--;
    d->packed_bytes -= rounded(slot->size_bytes);
    memmove(slot, slot + 1, (pack->count - index) * sizeof(*slot));
    const uint32_t gap = gap_end(pack, index) - gap_begin(pack, index);
    pack->largest_gap = gap > pack->largest_gap ? gap : pack->largest_gap;
    return end_if_empty(d, pack);
}
