/* lasting.c - counts, for each granule of an arena, who remembers an address in it. */
#include "lasting.h"

#include <errno.h>
#include <stdlib.h>

#include "allocation.h"
#include "ledger.h"
#include "lock.h"

atomic_bool spw_lasting_any, spw_lasting_unpinned;

struct spw_lasting_granule {
    uint32_t of_node : 1, for_good : 1, holders : 30;
};

/* Finds the granules of the live allocation that holds the address, or of the address alone if there is none. Returns false
 * if it lies in no arena. */
static bool span_of(CUdeviceptr address, struct spw_lasting_span *ret)
{
    struct spw_device *d = spw_device_of_address(address);
    struct spw_allocation a;
    if (!d)
        return false;
    if (!spw_allocation_at_locked(address, &a))
        a = (struct spw_allocation){.address = address, .size_bytes = 1};
    const uint64_t offset = a.address - d->arena;
    *ret = (struct spw_lasting_span){d, offset >> d->granule_shift, ((offset + a.size_bytes - 1) >> d->granule_shift) + 1};
    return true;
}

/* Returns the device's granules. NULL: there is no memory for them, and from now on any address of the device may be a
 * lasting one. */
static struct spw_lasting_granule *granules_of(struct spw_device *d)
{
    if (!d->lasting)
        d->lasting = calloc(d->arena_bytes >> d->granule_shift, sizeof(*d->lasting));
    d->lasting_lost |= !d->lasting;
    return d->lasting;
}

static void some_last(void)
{
    atomic_store_explicit(&spw_lasting_any, true, memory_order_relaxed);
}

/* ---- for good ---- */

void spw_lasting_add_locked(CUdeviceptr address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_lasting_span s;
    if (!span_of(address, &s))
        return;
    some_last();
    struct spw_lasting_granule *g = granules_of(s.device);
    for (uint64_t i = s.first; g && i < s.end; i++)
        g[i].for_good = 1;
}

void spw_lasting_add_of_node_locked(CUdeviceptr address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_lasting_span s;
    if (!span_of(address, &s))
        return;
    struct spw_lasting_granule *g = granules_of(s.device);
    for (uint64_t i = s.first; g && i < s.end; i++)
        g[i].of_node = 1;
}

void spw_lasting_nodes_last_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    some_last();
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        spw_devices[i].nodes_last = true;
}

/* ---- held ---- */

static int by_place(const void *a, const void *b)
{
    const struct spw_lasting_span *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Joins spans, so that each granule is in one of them. */
static void merge(struct spw_lasting *l)
{
    size_t n = 0;
    qsort(l->spans, l->count, sizeof(*l->spans), by_place);
    for (size_t i = 0; i < l->count; i++) {
        struct spw_lasting_span *last = n ? &l->spans[n - 1] : NULL;
        if (!last || last->device != l->spans[i].device || last->end < l->spans[i].first)
            l->spans[n++] = l->spans[i];
        else if (last->end < l->spans[i].end)
            last->end = l->spans[i].end;
    }
    l->count = n;
}

static void count(const struct spw_lasting *l, int change)
{
    for (size_t i = 0; i < l->count; i++)
        for (uint64_t g = l->spans[i].first; l->spans[i].device->lasting && g < l->spans[i].end; g++)
            l->spans[i].device->lasting[g].holders += (uint32_t)change;
}

int spw_lasting_hold_locked(const CUdeviceptr *addresses, size_t address_count, struct spw_lasting *ret)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    *ret = (struct spw_lasting){.spans = malloc((address_count + 1) * sizeof(*ret->spans))};
    if (!ret->spans)
        return -ENOMEM;
    for (size_t i = 0; i < address_count; i++)
        if (span_of(addresses[i], &ret->spans[ret->count]) && granules_of(ret->spans[ret->count].device))
            ret->count++;
    merge(ret);
    count(ret, 1);
    some_last();
    return 0;
}

void spw_lasting_let_go_locked(struct spw_lasting *held)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    count(held, -1);
    free(held->spans);
    *held = (struct spw_lasting){0};
}

bool spw_lasting_among_locked(const struct spw_device *d, uint64_t first, uint64_t end)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_lasting_granule *g = d->lasting;
    bool lasts = d->lasting_lost;
    for (uint64_t i = first; g && i < end && !lasts; i++)
        lasts = g[i].for_good || g[i].holders || (d->nodes_last && g[i].of_node);
    return lasts;
}

bool spw_lasting_in_locked(CUdeviceptr address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_lasting_span s;
    return span_of(address, &s) && spw_lasting_among_locked(s.device, s.first, s.end);
}
