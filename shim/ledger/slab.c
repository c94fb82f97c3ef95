/* slab.c - gives out slots and reuses them. */
#include "slab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan/slots.h"

enum { LOOK_AT = 8 };

struct spw_slab_set {
    struct spw_slot *free_first[SPW_SLOT_CLASSES];
    struct spw_slab *slabs;
    uint64_t bytes;
};

size_t spw_slab_bytes(const struct spw_device *d, size_t bytes)
{
    return spw_slot_slab_bytes((size_t)1 << d->granule_shift, bytes);
}

static bool usable(struct spw_slot *slot, struct spw_stream *s)
{
    return s ? spw_uses_plainly_only(&slot->uses, s) || spw_uses_only_locked(&slot->uses, s)
             : spw_uses_done_locked(&slot->uses);
}

/* Returns the list of the smallest free slots that are large enough; NULL: there are none. */
static struct spw_slot **first_free(const struct spw_device *d, size_t bytes)
{
    const unsigned end = spw_slot_class_end((size_t)1 << d->granule_shift, bytes);
    for (unsigned c = spw_slot_class(bytes); c < end; c++)
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

static bool has_slab_of(const struct spw_slab_set *set, unsigned class)
{
    bool has = false;
    for (const struct spw_slab *slab = set->slabs; slab && !has; slab = slab->next)
        has = slab->slot_bytes == spw_slot_class_bytes(class);
    return has;
}

int spw_slab_add_locked(struct spw_device *d, struct spw_block *backing, size_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->slabs)
        d->slabs = calloc(1, sizeof(*d->slabs));
    if (!d->slabs)
        return -ENOMEM;
    const bool has_wide = has_slab_of(d->slabs, spw_slot_wide_class(backing->size_bytes));
    const unsigned c = spw_slot_class_of_new(backing->size_bytes, bytes, has_wide);
    uint32_t count = (uint32_t)(backing->size_bytes / spw_slot_class_bytes(c));
    struct spw_slab *slab = calloc(1, sizeof(*slab) + count * sizeof(slab->slots[0]));
    if (!slab)
        return -ENOMEM;
    slab->object.kind = SPW_KIND_SLAB;
    slab->object.device = (uint16_t)d->ordinal;
    slab->backing = backing;
    slab->slot_bytes = (uint32_t)spw_slot_class_bytes(c);
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
    unsigned c = spw_slot_class(slot->slab->slot_bytes);
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
    struct spw_slot **at = &set->free_first[spw_slot_class(slab->slot_bytes)];
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
