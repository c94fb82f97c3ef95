/* seek_found.c - copies the parts in which a look found something to the host, and adds the addresses to the pointer
 * tables. */
#include "seek_found.h"

#include "allocation.h"
#include "follower.h"
#include "lasting.h"
#include "lock.h"
#include "outside.h"
#include "pointer_tables.h"
#include "seek_device.h"
#include "seek_losses.h"
#include "slab.h"
#include "versioned.h"

struct reading { /* the reading of one range */
    const struct spw_seek_range *range;
    unsigned index; /* of its answer */
    struct spw_seek_losses losses;
    struct spw_seek_found *found;
};

/* Raises the version of `v`, since a kernel may have written it through an address before that was found. Not if a dropped
 * block is made from it: then operations that might have done so have waited for the look, unless `is_unheeded` says
 * otherwise. */
static void note_written(struct spw_versioned *v, bool is_unheeded)
{
    if (spw_versions_kept && v && (is_unheeded || !v->needed))
        spw_version_raise_locked(v);
}

static bool is_needed(const struct spw_object *o, const struct spw_versioned *v)
{
    const struct spw_slab *slab = (const struct spw_slab *)o;
    bool is = v && v->needed;
    for (uint32_t i = 0; o->kind == SPW_KIND_SLAB && i < slab->slot_count; i++)
        is |= slab->slots[i].content.needed || slab->slots[i].lent;
    return is;
}

/* Pins the object. If it is not in its place, or dropped blocks are to be made from it first, that takes what cannot be
 * done here: the next graph waits for it (pin.h). */
static void keep(struct spw_object *o, const struct spw_versioned *v)
{
    const bool is_away = is_needed(o, v) || o->attention & (SPW_ABSENT | SPW_EVICTING);
    if (is_away || o->attention & (SPW_RESTORING | SPW_COPYING | SPW_FENCED))
        spw_lasting_unpinned = true;
    if (is_away)
        return;
    if (o->kind == SPW_KIND_SLAB) {
        ((struct spw_slab *)o)->pinned = true;
        return;
    }
    struct spw_block *b = spw_block_of(o);
    if (b->pinned || b->doomed)
        return;
    b->pinned = true;
    if (spw_plan_follower_any)
        spw_follower->pin(b);
}

/* Notes that what the words lead to may have been written through them. If `pins`, because they cannot be remembered or a
 * graph may follow them, also pins it. */
static void note_reached(const CUdeviceptr *word, uint64_t count, bool pins, bool is_unheeded)
{
    const struct spw_versioned *last = NULL;
    for (uint64_t i = 0; i < count; i++) {
        struct spw_object *o = word[i] ? spw_object_at_locked(word[i]) : NULL;
        struct spw_versioned *v = o ? spw_versioned_at_locked(word[i], NULL) : NULL;
        if (o && pins)
            spw_lasting_add_locked(word[i]);
        if (!o || (v && v == last))
            continue;
        last = v;
        if (!(o->attention & (SPW_ABSENT | SPW_EVICTING))) {
            note_written(v, is_unheeded);
            if (o->kind == SPW_KIND_BLOCK)
                spw_object_soil(o);
        }
        if (pins)
            keep(o, v);
    }
}

/* Clears words that are not addresses here: only those count that lead to something alive, other than the allocation where
 * they are stored. `address` is that of the first word. Allocations of one pack are told apart: one may lead to another. */
static uint64_t strip(CUdeviceptr *word, uint64_t count, CUdeviceptr address)
{
    struct spw_allocation home = {0}, to = {0};
    uint64_t left = 0;
    for (uint64_t i = 0; i < count; i++) {
        const CUdeviceptr at = address + i * sizeof(*word);
        const bool is_known = word[i] - to.address < to.size_bytes;
        if (at - home.address >= home.size_bytes && !spw_allocation_at_locked(at, &home))
            home = (struct spw_allocation){0};
        if (!spw_in_arena(word[i]) || !home.size_bytes || word[i] - home.address < home.size_bytes ||
            (!is_known && !spw_content_at_locked(word[i], &to)))
            word[i] = 0;
        left += word[i] != 0;
    }
    return left;
}

/* Notes addresses of memory that is not ours: operations that follow them are not replayed. Returns true if there are some
 * and none were known. */
static bool learn_outside(CUdeviceptr address, const void *data, uint64_t bytes)
{
    if (!spw_outside_among(address, data, bytes))
        return false;
    const bool was_known = spw_outside_has(address, address + bytes);
    spw_outside_learn(address, data, bytes);
    return !was_known;
}

/* Reads a stretch of an allocation back, and notes what is there. */
static int read_back(struct reading *reading, const struct spw_allocation *a, CUdeviceptr address, uint64_t bytes)
{
    struct spw_seek_found *found = reading->found;
    while (bytes >= sizeof(CUdeviceptr)) {
        void *data;
        uint64_t part;
        struct spw_pointer_tables_find here;
        int r = spw_seek_read_locked(&spw_devices[a->device], a->context, address, bytes, &data, &part);
        if (r < 0)
            return r;
        found->is_new |= learn_outside(address, data, part);
        const uint64_t count = part / sizeof(CUdeviceptr);
        spw_seek_losses_read_locked(&reading->losses, address, data, count);
        const uint64_t addresses = strip(data, count, address);
        r = spw_pointer_tables_found(address, data, part, &here);
        here.is_new |= r < 0;
        found->is_stored |= here.is_stored;
        found->is_new |= here.is_new;
        found->addresses += here.is_new ? addresses : 0;
        note_reached(data, count, r != 0, found->is_unheeded && here.is_new);
        address += part;
        bytes -= part;
    }
    return 0;
}

/* Reads all parts of an allocation that hold an address, or did. */
static int read_parts(struct reading *reading, const struct spw_allocation *a)
{
    const struct spw_seek_range *r = reading->range;
    const uint64_t part = UINT64_C(1) << spw_seek_shift(r->bytes), end = a->address + a->size_bytes - r->address;
    uint64_t from = 0, to = 0; /* neighbouring parts are read together */
    int failure = 0;
    for (uint64_t at = a->address - r->address, next; at < end && failure == 0; at = next) {
        next = (at / part + 1) * part < end ? (at / part + 1) * part : end;
        if (!spw_seek_found_locked(reading->index, r->bytes, at) &&
            !spw_pointer_tables_has(r->address + at, r->address + next))
            continue;
        if (from != to && to != at) {
            failure = read_back(reading, a, r->address + from, to - from);
            from = at;
        } else if (from == to) {
            from = at;
        }
        to = next;
    }
    return failure || from == to ? failure : read_back(reading, a, r->address + from, to - from);
}

static int read_slab(struct reading *reading, const struct spw_slab *slab)
{
    int failure = 0;
    for (uint32_t i = 0; i < slab->slot_count && failure == 0; i++) {
        struct spw_allocation a;
        if (slab->slots[i].size_bytes && spw_content_at_locked(spw_slot_address(&slab->slots[i]), &a))
            failure = read_parts(reading, &a);
    }
    return failure;
}

int spw_seek_read_found_locked(const struct spw_seek_range *range, unsigned index, struct spw_seek_found *found)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct reading reading = {.range = range, .index = index, .found = found};
    const struct spw_object *o = spw_object_at_locked(range->address);
    const bool is_there = o && !(o->attention & (SPW_FREE | SPW_ABSENT));
    struct spw_allocation a;
    int failure = 0;
    spw_seek_losses_begin(&reading.losses, spw_seek_answer_locked(index), range->address, range->bytes);
    if (is_there && !range->serial && o->kind == SPW_KIND_SLAB)
        failure = read_slab(&reading, (const struct spw_slab *)o);
    else if (is_there && range->serial && spw_content_at_locked(range->address, &a) && a.serial == range->serial)
        failure = read_parts(&reading, &a);
    else
        found->is_stored = true; /* what is gone by now may have held some */
    found->is_stored |= spw_seek_losses_end(&reading.losses);
    return failure;
}
