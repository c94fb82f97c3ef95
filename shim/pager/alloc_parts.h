/* alloc_parts.h - what allocations of every size have in common (alloc.c, packed.c): their accounting, and the beginning
 * and end of a block's life.
 *
 * Engine lock throughout. */
#ifndef SPILLWAY_SHIM_ALLOC_PARTS_H
#define SPILLWAY_SHIM_ALLOC_PARTS_H
#include "follower.h"
#include "ledger.h"
#include "mempool_stats.h"
#include "pointer_tables.h"
#include "retire.h"

static inline void spw_alloc_book(struct spw_device *d, struct spw_mempool_stats *pool, size_t bytes)
{
    d->live_count++;
    d->live_bytes += bytes;
    if (d->live_bytes_peak < d->live_bytes)
        d->live_bytes_peak = d->live_bytes;
    spw_mempool_stats_add(pool, bytes);
}

static inline void spw_alloc_unbook(struct spw_device *d, struct spw_mempool_stats *pool, size_t bytes)
{
    d->live_count--;
    d->live_bytes -= bytes;
    pool->used -= bytes;
}

/* Marks the block as an allocation of the program from here on. */
static inline void spw_alloc_begin_life(struct spw_device *d, struct spw_block *b, CUcontext context,
                                        struct spw_mempool_stats *pool)
{
    b->context = context;
    b->pool = pool;
    b->serial = ++spw_serials;
    spw_object_use(&b->object, spw_tick, false);
    if (__builtin_expect(spw_plan_follower_any, 0))
        spw_follower->alloc(d, b);
}

/* Ends the program's ownership of the block; `s` is the stream in whose order it is freed, or NULL. The block is cached or
 * retired; while somebody holds it, the last holder does that. */
static inline void spw_alloc_end_life(struct spw_device *d, struct spw_block *b, struct spw_stream *s)
{
    if (__builtin_expect(spw_plan_follower_any, 0))
        spw_follower->free(d, b);
    if (s)
        spw_uses_add_locked(&b->object.uses, s, spw_stream_next_locked(s));
    if (b->holds)
        b->doomed = true;
    else if (b->object.attention || b->host_copy || b->pinned)
        spw_retire_block_locked(d, b);
    else { /* resident, with nothing in flight */
        spw_object_clean(&b->object);
        spw_block_cache_locked(d, b);
    }
}

static inline void spw_alloc_forget_addresses(CUdeviceptr address, size_t bytes)
{
    if (spw_pointer_tables_or_outside())
        spw_pointer_tables_forget(address, address + bytes);
}

struct spw_alloc_counts { /* for the summary; engine lock */
    uint64_t from_cache;  /* blocks that were served from the cache, without a driver call */
    uint64_t not_cached;  /* blocks that no cached memory fitted */
    uint64_t refused;     /* allocations answered with out of memory */
};

extern struct spw_alloc_counts spw_alloc_counts;

/* Finds or makes a block of `bytes` that belongs to nobody, with memory if that can be had at once. May release the engine
 * lock. Returns 0, -ENOMEM or a failure of the driver. */
int spw_alloc_obtain_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_block **ret_block);

/* Makes the former uses of memory no obstacle to its next owner: orders `s` after them, or, with NULL, waits for them. The
 * memory is the caller's already, so nobody else looks at `uses` while the lock is released. Returns 0 or a failure of the
 * driver. */
int spw_alloc_get_past_uses_unlocking(struct spw_uses *uses, struct spw_stream *s);
#endif
