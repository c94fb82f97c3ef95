/* slab.c - size classes, slots and their reuse. */
#include "slab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_STEP = 256, LINEAR_CLASSES = 8, CLASSES = 96, SLOTS_WANTED = 8, LOOK_AT = 8, FEW = 256 };

#define SLAB_LEAST_BYTES ((size_t)64 << 10)

struct spw_slab_set {
    struct spw_slot *free_first[CLASSES];
    struct spw_slab *slabs;
    uint64_t bytes;
};

/* Sizes 256, 512, … 2048, then four steps for each doubling: at most a fifth is lost to rounding. */
static unsigned class_of(size_t bytes)
{
    size_t units = (bytes + CLASS_STEP - 1) / CLASS_STEP;
    if (units <= LINEAR_CLASSES)
        return (unsigned)units - 1;
    unsigned top = 63 - (unsigned)__builtin_clzll(units - 1);
    unsigned quarter = (unsigned)((units - 1) >> (top - 2)) & 3;
    return LINEAR_CLASSES + (top - 3) * 4 + quarter;
}

static size_t class_bytes(unsigned c)
{
    if (c < LINEAR_CLASSES)
        return (size_t)(c + 1) * CLASS_STEP;
    unsigned top = (c - LINEAR_CLASSES) / 4 + 3, quarter = (c - LINEAR_CLASSES) % 4;
    return ((((size_t)4 + quarter + 1) << (top - 2))) * CLASS_STEP; /* NOLINT(clang-analyzer-core.*): top is at most 64 */
}

size_t spw_slab_bytes(const struct spw_device *d, size_t bytes)
{
    size_t granule = (size_t)1 << d->granule_shift;
    size_t wanted = class_bytes(class_of(bytes)) * SLOTS_WANTED;
    if (wanted < SLAB_LEAST_BYTES && granule < SLAB_LEAST_BYTES)
        wanted = SLAB_LEAST_BYTES;
    return (wanted + granule - 1) & ~(granule - 1);
}

static bool usable(struct spw_slot *slot, struct spw_stream *s)
{
    return s ? spw_uses_plainly_only(&slot->uses, s) || spw_uses_only_locked(&slot->uses, s)
             : spw_uses_done_locked(&slot->uses);
}

/* A slab takes a granule at least. One for such small allocations has so many slots that a few allocations of each of many
 * sizes take as many granules, and hardly anything of them: these share. */
static bool is_shared(size_t slab_bytes, size_t bytes)
{
    return slab_bytes > FEW * class_bytes(class_of(bytes));
}

/* The list of the smallest slots that are large enough. NULL: there are none. */
static struct spw_slot **first_free(const struct spw_device *d, size_t bytes)
{
    const unsigned least = class_of(bytes), most = is_shared(spw_slab_bytes(d, bytes), bytes) ? CLASSES : least + 1;
    for (unsigned c = least; c < most; c++)
        if (d->slabs->free_first[c])
            return &d->slabs->free_first[c];
    return NULL;
}

int spw_slab_take_locked(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_slot **ret_slot,
                         bool *ret_must_wait)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_slot **first = d->slabs ? first_free(d, bytes) : NULL, **at = first;
    if (!first)
        return -ENOSPC;
    *ret_must_wait = false;
    for (int seen = 0; *at && !usable(*at, s); at = &(*at)->next_free) {
        if (++seen == LOOK_AT || !(*at)->next_free) {
            at = first;
            *ret_must_wait = true;
            break;
        }
    }
    struct spw_slot *slot = *at;
    *at = slot->next_free; /* NOLINT(clang-analyzer-core.NullDereference): the loop leaves no *at that is NULL */
    slot->next_free = NULL;
    slot->size_bytes = bytes;
    slot->serial = ++spw_serials;
    if (spw_versions_kept)
        spw_version_reset_locked(&slot->content);
    slot->slab->live_count++;
    *ret_slot = slot;
    return 0;
}

/* The first slab that is shared has few slots, so that those of other sizes can share it. */
static unsigned class_of_new(const struct spw_slab_set *set, size_t slab_bytes, size_t bytes)
{
    const unsigned wide = class_of(slab_bytes / FEW);
    bool is_first = is_shared(slab_bytes, bytes);
    for (const struct spw_slab *slab = set->slabs; slab && is_first; slab = slab->next)
        is_first = slab->slot_bytes != class_bytes(wide);
    return is_first ? wide : class_of(bytes);
}

int spw_slab_add_locked(struct spw_device *d, struct spw_block *backing, size_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->slabs)
        d->slabs = calloc(1, sizeof(*d->slabs));
    if (!d->slabs)
        return -ENOMEM;
    const unsigned c = class_of_new(d->slabs, backing->size_bytes, bytes);
    uint32_t count = (uint32_t)(backing->size_bytes / class_bytes(c));
    struct spw_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->slots[0]));
    if (!slab)
        return -ENOMEM;
    slab->object.kind = SPW_KIND_SLAB;
    slab->object.device = (uint16_t)d->ordinal;
    slab->backing = backing;
    slab->slot_bytes = (uint32_t)class_bytes(c);
    slab->slot_count = count;
    for (uint32_t i = count; i > 0; i--) {
        struct spw_slot *slot = &slab->slots[i - 1];
        slot->slab = slab;
        slot->next_free = d->slabs->free_first[c];
        d->slabs->free_first[c] = slot;
    }
    slab->next = d->slabs->slabs;
    d->slabs->slabs = slab;
    d->slabs->bytes += spw_block_mapped_bytes(d, backing);
    backing->pinned = true;
    for (uint32_t i = 0; i < backing->granules; i++)
        d->table[backing->first + i] = &slab->object;
    return 0;
}

struct spw_slot *spw_slab_slot_at_locked(struct spw_slab *slab, CUdeviceptr a)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t i = (a - slab->backing->address) / slab->slot_bytes;
    if (i >= slab->slot_count || slab->slots[i].size_bytes == 0)
        return NULL;
    return &slab->slots[i];
}

CUdeviceptr spw_slot_address(const struct spw_slot *slot)
{
    return slot->slab->backing->address + (uint64_t)(slot - slot->slab->slots) * slot->slab->slot_bytes;
}

void spw_slab_give_locked(struct spw_device *d, struct spw_slot *slot, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    unsigned c = class_of(slot->slab->slot_bytes);
    slot->size_bytes = 0;
    slot->kept = slot->content.needed || slot->lent;
    if (slot->kept)
        return;
    if (s) { /* the program has ordered every use before this point of the stream */
        slot->uses = (struct spw_uses){0};
        spw_uses_add_locked(&slot->uses, s, spw_stream_next_locked(s));
    } else {
        spw_uses_merge_locked(&slot->uses, &slot->slab->object.uses);
    }
    slot->next_free = d->slabs->free_first[c];
    d->slabs->free_first[c] = slot;
    slot->slab->live_count--;
}

static void unlink_slots(struct spw_slab_set *set, const struct spw_slab *slab)
{
    struct spw_slot **at = &set->free_first[class_of(slab->slot_bytes)];
    while (*at) {
        if ((*at)->slab == slab)
            *at = (*at)->next_free;
        else
            at = &(*at)->next_free;
    }
}

void spw_slab_fence_locked(struct spw_slab *slab, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_fence_locked(slab->backing, s);
    slab->object.attention |= slab->backing->object.attention & SPW_FENCED;
}

struct spw_block *spw_slab_remove_empty_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->slabs)
        return NULL;
    for (struct spw_slab **at = &d->slabs->slabs; *at; at = &(*at)->next) {
        struct spw_slab *slab = *at;
        if (slab->live_count || slab->holds)
            continue;
        struct spw_block *b = slab->backing;
        unlink_slots(d->slabs, slab);
        *at = slab->next;
        d->slabs->bytes -= spw_block_mapped_bytes(d, b);
        b->pinned = false;
        b->object.uses = slab->object.uses;
        for (uint32_t i = 0; i < slab->slot_count; i++)
            spw_uses_merge_locked(&b->object.uses, &slab->slots[i].uses);
        for (uint32_t i = 0; i < b->granules; i++)
            d->table[b->first + i] = &b->object;
        free(slab);
        return b;
    }
    return NULL;
}

void spw_slab_for_each_locked(struct spw_device *d, void (*each)(struct spw_slot *slot, void *arg), void *arg)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (struct spw_slab *slab = d->slabs ? d->slabs->slabs : NULL; slab; slab = slab->next)
        for (uint32_t i = 0; i < slab->slot_count; i++)
            if (slab->slots[i].size_bytes)
                each(&slab->slots[i], arg);
}

uint64_t spw_slab_total_bytes_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return d->slabs ? d->slabs->bytes : 0;
}

bool spw_object_pinned(const struct spw_object *o)
{
    return o->kind == SPW_KIND_SLAB ? ((const struct spw_slab *)o)->pinned : ((const struct spw_block *)o)->pinned;
}

struct spw_uses spw_users_of_locked(const struct spw_object *o)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_uses users = o->uses;
    if (spw_object_pinned(o))
        users.everybody |= spw_uses_everybody_of(spw_device_users_locked(&spw_devices[o->device]));
    return users;
}
