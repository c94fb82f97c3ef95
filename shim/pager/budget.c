/* budget.c - lowers and raises the budget of a device that is in use. */
#include "budget.h"

#include <errno.h>

#include "context.h"
#include "deferred_unmap.h"
#include "digest.h"
#include "follower.h"
#include "host_memory.h"
#include "lock.h"
#include "pool_reserves.h"
#include "reclaim.h"

int spw_budget_free_unlocking(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_pool_reserves_grow_budget_unlocking(d, bytes);
    int r = bytes <= d->handles.budget_bytes ? spw_reclaim_make(d, bytes) : -ENOMEM;
    while (r == 0 &&
           d->stale.first) { /* a piece that is still mapped somewhere is not released; others may take room meanwhile */
        r = spw_unmap_all_unlocking(d);
        if (r == 0)
            r = spw_reclaim_make(d, bytes);
    }
    return r;
}

/* Returns the smallest budget in bytes: what cannot move plus the largest tensor, which has to fit while an operation uses
 * it; or what the host cannot take, plus room for one more tensor, so that tensors can change places. */
static uint64_t least_bytes(const struct spw_device *d)
{
    const uint64_t host = spw_host_memory_limit_locked();
    uint64_t largest = 0;
    for (uint32_t i = 0; i < d->block_count; i++) {
        const struct spw_block *b = d->blocks[i];
        const uint64_t mapped = spw_block_mapped_bytes(d, b);
        if (!b->pinned && !spw_object_is_cached(&b->object) && mapped > largest)
            largest = mapped;
    }
    const uint64_t at_once = spw_reclaim_unmovable_bytes_locked(d) + largest, all = d->live_bytes + largest;
    return d->foreign_bytes + (all > host && all - host > at_once ? all - host : at_once);
}

/* Frees until the memory in use and what the driver gave to the program itself come to `bytes` together. */
static int free_until_unlocking(struct spw_device *d, uint64_t bytes)
{
    for (;;) {
        if (bytes < d->foreign_bytes)
            return -ENOMEM;
        const uint64_t target = bytes - d->foreign_bytes, now = d->handles.budget_bytes;
        if (target >= now || (!d->stale.first && spw_phys_pool_room_locked(&d->handles) >= now - target))
            return 0;
        int r = spw_budget_free_unlocking(d, now - target); /* the driver's share may have grown meanwhile */
        if (r < 0)
            return r;
    }
}

static int lower_unlocking(struct spw_device *d, uint64_t bytes)
{
    struct spw_phys_pool *pool = &d->handles;
    int r = free_until_unlocking(d, bytes);
    if (r < 0)
        return r;
    const uint64_t target = bytes - d->foreign_bytes;
    if (target < pool->budget_bytes)
        pool->budget_bytes = target;
    pool->lacking_bytes =
        target - pool->budget_bytes; /* memory that the device lacks anyway is not asked for before it is needed */
    spw_phys_pool_fit_locked(pool);
    return 0;
}

static int set_unlocking(struct spw_device *d, uint64_t bytes, uint64_t *ret_smallest_bytes)
{
    const uint64_t before = spw_budget_locked(d);
    if (bytes > d->total_bytes)
        bytes = d->total_bytes;
    if (bytes >= before) {
        d->handles.budget_bytes += bytes - before;
        if (bytes > before)
            spw_digests_allow_locked(d);
        return 0;
    }
    (void)spw_pool_reserves_trim_unlocking(d);
    const uint64_t least = least_bytes(d);
    int r = bytes < least ? -ENOMEM : lower_unlocking(d, bytes);
    if (r == -ENOMEM) { /* or the host has no room for more evicted blocks */
        const uint64_t in_use = d->foreign_bytes + d->handles.made_bytes - d->handles.pooled_bytes;
        *ret_smallest_bytes = bytes < least ? least : in_use;
    }
    return r;
}

int spw_budget_set(struct spw_device *d, uint64_t bytes, uint64_t *ret_smallest_bytes)
{
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, NULL);
    if (r < 0)
        return r;
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    const uint64_t before = spw_budget_locked(d);
    r = set_unlocking(d, bytes, ret_smallest_bytes);
    if (r == 0 && spw_budget_locked(d) != before && spw_plan_follower_any)
        spw_follower->budget_changed(d);
    spw_unlock();
    spw_mutex_unlock(&d->slow);
    spw_context_leave(&guard);
    return r;
}
