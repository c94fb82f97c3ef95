/* alloc.c - allocates and frees blocks and small slots, and keeps the statistics of memory pools. */
#include "alloc.h"
#include "alloc_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "engine.h"
#include "give_way.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "pin.h"
#include "follower.h"
#include "mempool_stats.h"
#include "cache_merge.h"
#include "dependents.h"
#include "owed.h"
#include "packed.h"
#include "reclaim.h"
#include "refused.h"
#include "seek.h"
#include "slab.h"
#include "status.h"
#include "transfers.h"
#include "pointer_tables.h"
#include "uses_wait.h"

/* ---- small ---- */

static int take_slot(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_slot **ret_slot)
{
    bool must_wait = false;
    int r = spw_slab_take_locked(d, bytes, s, ret_slot, &must_wait);
    if (r < 0 || !must_wait)
        return r;
    r = spw_alloc_get_past_uses_unlocking(&(*ret_slot)->uses, s);
    if (r < 0)
        spw_slab_give_locked(d, *ret_slot, NULL);
    return r == -EBUSY ? -ENOSPC : r; /* it cannot be waited for while a stream is capturing: take one of a new slab */
}

/* Adds a new slab. Making room needs the device's slow lock, so the engine lock is released on the way. */
static int add_slab(struct spw_device *d, size_t bytes)
{
    static struct spw_log_threshold told;
    struct spw_block *b;
    size_t slab_bytes = spw_slab_bytes(d, bytes);
    spw_unlock();
    spw_mutex_lock(&d->slow, SPW_LOCK_SLOW);
    spw_lock();
    int r = spw_block_create_locked(d, slab_bytes, &b);
    if (r < 0)
        goto out;
    b->pool = spw_mempool_stats_of_locked(NULL); /* and no context: it is not an allocation of the program */
    struct spw_context_guard guard;
    bool entered = spw_context_enter(&guard, NULL) == 0;
    r = spw_engine_make_ready_unlocking(d, b);
    for (int i = 0; r == -ENOMEM && i < SPW_GIVE_WAY_TIMES && spw_give_way_to_unlocking(d, slab_bytes); i++)
        r = spw_engine_make_ready_unlocking(d, b);
    if (entered)
        spw_context_leave(&guard);
    if (r == 0)
        r = spw_slab_add_locked(d, b, bytes);
    if (r < 0)
        spw_retire_block_locked(d, b);
    uint64_t needed = spw_reclaim_unmovable_bytes_locked(d) + slab_bytes + d->foreign_bytes;
    if (r == -ENOMEM)
        spw_warn_of(&told, needed,
                    "out of device memory: %.1f MiB for small allocations (below %zu bytes, never evicted) do not fit; the "
                    "budget of "
                    "device %d is %.1f MiB; smallest budget that would do: %llu bytes (%.1f MiB), as far as the program has "
                    "come" SPW_SEE("budget-too-small"),
                    SPW_MIB(slab_bytes), d->small_bytes, d->ordinal, SPW_MIB(d->handles.budget_bytes + d->foreign_bytes),
                    (unsigned long long)needed, SPW_MIB(needed));
out:
    spw_mutex_unlock(&d->slow);
    return r;
}

static __attribute__((noinline)) int allocate_small(struct spw_device *d, size_t bytes, struct spw_stream *s,
                                                    CUcontext context, struct spw_mempool_stats *pool,
                                                    CUdeviceptr *ret_address)
{
    struct spw_slot *slot;
    int r = take_slot(d, bytes, s, &slot);
    while (r == -ENOSPC) { /* another thread may take all of a new slab before this one takes a slot */
        r = add_slab(d, bytes);
        if (r == 0)
            r = take_slot(d, bytes, s, &slot);
    }
    if (r < 0)
        return r;
    slot->context = context;
    slot->pool = pool;
    spw_alloc_book(d, pool, bytes);
    spw_mempool_note_reserved(pool, d);
    *ret_address = spw_slot_address(slot);
    return 0;
}

/* ---- large ---- */

/* The cheap check for the usual case: all live allocations and this one fit on the device itself. */
static bool fits_plainly(const struct spw_device *d, size_t bytes)
{
    return bytes <= d->largest_bytes && d->live_bytes + bytes <= d->handles.budget_bytes;
}

/* The usual case: the newest cached block of the size, last used on this very stream. NULL: a closer look is needed. */
static inline struct spw_block *take_cached_plainly(struct spw_device *d, size_t bytes, struct spw_stream *s)
{
    uint64_t granules = (bytes + (((uint64_t)1 << d->granule_shift) - 1)) >> d->granule_shift;
    struct spw_block *b = granules < SPW_FREE_BINS ? d->free_by_granules[granules] : NULL;
    if (!b || !s || b->holds || b->host_copy || !spw_uses_plainly_only(&b->object.uses, s))
        return NULL;
    d->free_by_granules[granules] = b->next;
    if (b->next)
        b->next->previous = NULL;
    b->next = NULL;
    d->free_bytes -= granules << d->granule_shift;
    b->object.attention = 0;
    b->size_bytes = bytes;
    spw_alloc_counts.from_cache++;
    return b;
}

/* Hands the block to the program. */
static inline void give_to(struct spw_device *d, struct spw_block *b, CUcontext context, struct spw_mempool_stats *pool,
                           CUdeviceptr *ret_address)
{
    spw_alloc_book(d, pool, b->size_bytes);
    *ret_address = b->address;
    spw_alloc_begin_life(d, b, context, pool);
}

static __attribute__((noinline)) int allocate_large_slowly(struct spw_device *d, size_t bytes, struct spw_stream *s,
                                                           CUcontext context, struct spw_mempool_stats *pool,
                                                           CUdeviceptr *ret_address)
{
    struct spw_block *b;
    int r = spw_alloc_obtain_unlocking(d, bytes, s, &b);
    if (r < 0)
        return r;
    give_to(d, b, context, pool, ret_address);
    spw_mempool_note_reserved(pool, d);
    return 0;
}

static __attribute__((noinline)) int allocate_slowly(struct spw_device *d, size_t bytes, struct spw_stream *s,
                                                     CUcontext context, struct spw_mempool_stats *pool,
                                                     CUdeviceptr *ret_address)
{
    if (spw_settings_get()->probe)
        spw_reclaim_press_locked(d);
    spw_waits_begin();
    int r = bytes < d->small_bytes          ? allocate_small(d, bytes, s, context, pool, ret_address)
            : bytes < d->packed_below_bytes ? spw_packed_allocate_unlocking(d, bytes, s, context, pool, ret_address)
                                            : allocate_large_slowly(d, bytes, s, context, pool, ret_address);
    spw_waits_end();
    if (r == -ENOMEM)
        spw_alloc_counts.refused++;
    spw_refused_say_why_not_allocated_locked(d, bytes, r);
    spw_status_publish_locked(r < 0);
    return r;
}

int spw_allocate_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context,
                           struct spw_mempool_stats *pool, CUdeviceptr *ret_address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (bytes == 0)
        return -EINVAL;
    bool plain = bytes >= d->packed_below_bytes && fits_plainly(d, bytes);
    struct spw_block *b = plain ? take_cached_plainly(d, bytes, s) : NULL;
    if (!b)
        return allocate_slowly(d, bytes, s, context, pool, ret_address);
    give_to(d, b, context, pool, ret_address);
    return 0;
}

int spw_allocated_where_pinned(CUdeviceptr address)
{
    const int r = spw_pin_allocated(address);
    if (r < 0)
        (void)spw_free(address, NULL);
    return r;
}

int spw_allocate(struct spw_device *d, size_t bytes, struct spw_stream *s, CUcontext context, struct spw_mempool_stats *pool,
                 CUdeviceptr *ret_address)
{
    spw_lock();
    int r = spw_allocate_unlocking(d, bytes, s, context, pool, ret_address);
    spw_unlock();
    return r < 0 ? r : spw_allocated(*ret_address);
}

/* ---- free ---- */

static inline void free_block(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    spw_alloc_unbook(d, b->pool, b->size_bytes);
    spw_alloc_forget_addresses(b->address, b->size_bytes);
    spw_alloc_end_life(d, b, s);
}

static __attribute__((noinline)) void free_slot(struct spw_device *d, struct spw_slot *slot, struct spw_stream *s)
{
    CUdeviceptr address = spw_slot_address(slot);
    spw_alloc_unbook(d, slot->pool, slot->size_bytes);
    if (__builtin_expect(spw_plan_follower_any, 0))
        spw_follower->free_slot(d, slot);
    if (slot->owed)
        spw_owed_slot_freed_locked(d, slot);
    if (spw_pointer_tables_or_outside())
        spw_pointer_tables_forget(address, address + slot->size_bytes);
    spw_slab_give_locked(d, slot, s);
}

int spw_free_locked(CUdeviceptr address, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!spw_in_arena(address))
        return -ENOENT;
    struct spw_object *o = spw_object_at_locked(address);
    if (!o || o->attention & SPW_FREE)
        return -EINVAL;
    struct spw_device *d = &spw_devices[o->device];
    if (o->kind == SPW_KIND_BLOCK) {
        if (__builtin_expect(spw_block_of(o)->pack != NULL, 0))
            return spw_packed_free_locked(d, spw_block_of(o), address, s);
        if (spw_block_of(o)->address != address || spw_block_of(o)->doomed)
            return -EINVAL;
        free_block(d, spw_block_of(o), s);
        return 0;
    }
    struct spw_slot *slot = spw_slab_slot_at_locked((struct spw_slab *)o, address);
    if (!slot || spw_slot_address(slot) != address)
        return -EINVAL;
    free_slot(d, slot, s);
    return 0;
}

/* Waits for the device where operations of which spillway does not know may use what is freed: others may have an address
 * of it. cuMemFree() itself waits for the device, and programs rely on that; elsewhere the known uses are enough. */
static void await_untold_uses_unlocking(CUdeviceptr address)
{
    struct spw_object *o = spw_in_arena(address) ? spw_object_at_locked(address) : NULL;
    if (!o || !(spw_pinning_everything || spw_object_pinned(o) || spw_seek_is_blind_locked() || spw_seek_pending()))
        return;
    struct spw_uses everybody = {.everybody = spw_uses_everybody_of(UINT64_C(1) << o->device)};
    if (spw_uses_wait_unlocking(&everybody) == 0)
        return;
    o = spw_object_at_locked(address); /* on failure, the next owner of the memory waits */
    if (o)
        spw_uses_merge_locked(&o->uses, &everybody);
}

int spw_free(CUdeviceptr address, struct spw_stream *s)
{
    spw_lock();
    if (!s)
        await_untold_uses_unlocking(address);
    int r = spw_free_locked(address, s);
    spw_unlock();
    return r;
}

/* ---- a context goes ---- */

static void free_slot_of_context(struct spw_slot *slot, void *context)
{
    if (slot->context == context)
        free_slot(&spw_devices[slot->slab->object.device], slot, NULL);
}

void spw_free_of_context_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int k = 0; k < SPW_MAX_DEVICES; k++) {
        struct spw_device *d = &spw_devices[k];
        if (!d->ready)
            continue;
        spw_slab_for_each_locked(d, free_slot_of_context, context);
        for (uint32_t i = 0; i < d->block_count;) {
            struct spw_block *b = d->blocks[i];
            bool slab = spw_object_at_locked(b->address) != &b->object;
            if (b->context != context || slab || b->object.attention & SPW_FREE || b->doomed) {
                i++;
                continue;
            }
            uint32_t before = d->block_count;
            if (b->pack)
                spw_packed_free_all_locked(d, b);
            else
                free_block(d, b, NULL);
            i += before == d->block_count; /* a block that was removed left its place in the list to another */
        }
    }
}

void spw_free_unused_devices_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (int k = 0; k < SPW_MAX_DEVICES; k++) {
        struct spw_device *d = &spw_devices[k];
        if (!d->ready || d->live_count)
            continue;
        for (struct spw_block *b = spw_slab_remove_empty_locked(d); b; b = spw_slab_remove_empty_locked(d))
            spw_block_cache_locked(d, b);
        spw_cached_blocks_trim_locked(d, 0);
    }
}
