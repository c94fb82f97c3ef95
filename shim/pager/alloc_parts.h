/* alloc_parts.h - what allocations of every size have in common (alloc.c, packed.c): their books, and the life of a block.
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

/* The block is in use from here on. */
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

/* The block is nobody's from here on. */
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
    else { /* resident, with nothing else to it */
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
    uint64_t from_cache;  /* blocks that needed no driver call */
    uint64_t not_cached;  /* blocks that no cached memory fitted */
    uint64_t refused;     /* answered with out of memory */
};

extern struct spw_alloc_counts spw_alloc_counts;

/* A block of so many bytes that is nobody's, with memory where it can be had at once. The engine lock may be let go of. 0,
 * -ENOMEM or a failure of the driver. */
int spw_alloc_obtain_unlocking(struct spw_device *d, size_t bytes, struct spw_stream *s, struct spw_block **ret_block);

/* Who used the memory before is out of the way: in the order of `s`, or, NULL, for good. The memory is the caller's already,
 * so nobody else looks at `uses` while the lock is let go of. 0 or a failure of the driver. */
int spw_alloc_get_past_uses_unlocking(struct spw_uses *uses, struct spw_stream *s);
#endif
