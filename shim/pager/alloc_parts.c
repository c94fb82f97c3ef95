/* alloc_parts.c - finds a block for an allocation: a cached one, one merged from cached ones, or a new one. */
#include "alloc_parts.h"

#include <errno.h>

#include "cache_merge.h"
#include "context.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "pool_reserves.h"
#include "reclaim.h"
#include "refused.h"
#include "see.h"
#include "transfers.h"
#include "uses_wait.h"

struct spw_alloc_counts spw_alloc_counts;

int spw_alloc_get_past_uses_unlocking(struct spw_uses *uses, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    int r = s ? spw_uses_order_locked(uses, s) : -EAGAIN;
    return r < 0 ? spw_uses_wait_unlocking(uses) : 0;
}

/* Returns the least host memory for everything that does not fit on the devices once `with` has `more` bytes more, plus
 * room for one tensor, so that tensors can change places. With less the program cannot go on. */
static uint64_t least_host_bytes(const struct spw_device *with, size_t more)
{
    uint64_t away = 0, largest = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_device *d = &spw_devices[i];
        const uint64_t live = d->live_bytes + (d == with ? more : 0),
                       room = d->handles.budget_bytes + d->handles.lacking_bytes;
        if (live <= room)
            continue;
        away += live - room;
        largest = d->largest_bytes > largest ? d->largest_bytes : largest;
    }
    return away + largest;
}

static bool fits_at_all(struct spw_device *d, size_t bytes)
{
    static struct spw_log_threshold told_alone, told_together;
    uint64_t granule = (uint64_t)1 << d->granule_shift, needed;
    uint64_t mapped = bytes > UINT64_MAX - granule ? UINT64_MAX : (bytes + granule - 1) & ~(granule - 1);
    uint64_t host = spw_host_memory_limit_locked();
    const uint64_t live = d->live_bytes + bytes, beside = live > host ? live - host : 0;
    spw_pool_reserves_grow_budget_unlocking(d, mapped > beside ? mapped : beside);
    if (mapped > d->handles.budget_bytes + d->handles.lacking_bytes) {
        if (__builtin_add_overflow(mapped, spw_reclaim_unmovable_bytes_locked(d) + d->foreign_bytes, &needed))
            needed = UINT64_MAX;
        spw_warn_of(
            &told_alone, needed,
            "out of device memory: one allocation of %.1f MiB is larger than the budget of device %d, %.1f MiB; smallest "
            "budget that would do: %llu bytes (%.1f MiB), as far as the program has come" SPW_SEE("budget-too-small"),
            SPW_MIB(bytes), d->ordinal, SPW_MIB(d->handles.budget_bytes + d->foreign_bytes), (unsigned long long)needed,
            SPW_MIB(needed));
        return false;
    }
    if (mapped > d->largest_bytes)
        d->largest_bytes = mapped;
    const uint64_t least = least_host_bytes(d, bytes);
    if (least > host) {
        needed = spw_refused_host_bytes_locked(d, bytes);
        needed = needed > least ? needed : least;
        spw_warn_of(
            &told_together, needed,
            "out of memory: %llu bytes are allocated on device %d, and %zu more do not fit into its budget of %llu bytes "
            "and the host budget of %llu bytes (SPILLWAY_HOST_BUDGET, one for all devices) together; host budget that "
            "would do, with room for one tensor to change places: %llu bytes, as far as the program has come" SPW_SEE(
                "host-memory"),
            (unsigned long long)d->live_bytes, d->ordinal, bytes, (unsigned long long)d->handles.budget_bytes,
            (unsigned long long)host, (unsigned long long)needed);
        return false;
    }
    return true;
}

/* A host that waits for gated uses may wait for what the program does next. */
static bool is_gated(const struct spw_block *b)
{
    return spw_streams_gated_locked() && spw_uses_gated_locked(&b->object.uses);
}

/* Takes a cached block of the size, with its former uses out of the way. Where memory is short, or a piece would have to be
 * cut that is better spared, merges cached blocks of other sizes instead. *ret_block is NULL if there is none, or if the
 * block would make this stream of the program wait for another, whose work may wait for what the program does next, and
 * either there is room for a new block or the work is known to wait. That is how the driver's own pools choose memory (CUDA
 * Programming Guide, cudaMemPoolReuseAllowInternalDependencies). */
static int take_cached(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_block **ret_block)
{
    bool must_wait = false;
    uint32_t granules = (uint32_t)((bytes + (((uint64_t)1 << d->granule_shift) - 1)) >> d->granule_shift);
    const uint64_t room = spw_phys_pool_room_locked(&d->handles);
    const bool has_room = room >= (uint64_t)granules << d->granule_shift;
    struct spw_block *b = spw_block_uncache_locked(d, granules, s, &must_wait);
    if (b && must_wait && (has_room || is_gated(b)) && spw_uses_of_others_locked(&b->object.uses, s)) {
        spw_block_cache_locked(d, b);
        b = NULL;
    } else if (!b && (!has_room || !spw_phys_pool_suits_locked(&d->handles, granules))) {
        b = spw_cache_merge_locked(d, granules, s);
        must_wait = false;
    }
    *ret_block = b;
    if (!b)
        return 0;
    if (must_wait || b->host_copy) {
        b->holds++; /* it is neither cached nor given out: nobody else may take it or free it again meanwhile */
        b->object.attention |= SPW_FREE;
        int r = s && !b->host_copy ? spw_alloc_get_past_uses_unlocking(&b->object.uses, s)
                                   : spw_uses_wait_a_while_unlocking(&b->object.uses);
        b->holds--;
        if (r < 0) {
            spw_block_cache_locked(d, b);
            *ret_block = NULL;
            return r == -ETIME || r == -EBUSY
                       ? 0
                       : r; /* gated, or a stream is capturing: the caller makes a new block, which gets its memory later */
        }
    }
    if (b->host_copy)
        spw_mover_drop_host_copy_locked(b);
    b->object.attention = 0;
    b->size_bytes = bytes;
    spw_alloc_counts.from_cache++;
    return 0;
}

int spw_alloc_obtain_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_block **ret_block)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b;
    if (!fits_at_all(d, bytes))
        return -ENOMEM;
    int r = take_cached(d, bytes, s, &b);
    if (r < 0)
        return r;
    if (!b) {
        spw_alloc_counts.not_cached++;
        r = spw_block_create_locked(d, bytes, &b);
        if (r < 0)
            return r;
        /* Gets memory at once if no other block has to give it up; else with the first use. */
        struct spw_context_guard guard;
        bool entered = spw_context_enter(&guard, NULL) == 0;
        if (spw_phys_pool_room_locked(&d->handles) >= spw_block_mapped_bytes(d, b))
            (void)spw_transfer_bring_in_locked(d, b);
        if (entered)
            spw_context_leave(&guard);
    }
    *ret_block = b;
    return 0;
}
