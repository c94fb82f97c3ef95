/* mempool_stats.h - what is booked on each of the program's memory pools, for the figures that it asks for. */
#ifndef SPILLWAY_SHIM_MEMPOOL_STATS_H
#define SPILLWAY_SHIM_MEMPOOL_STATS_H
#include "ledger.h"

struct spw_mempool_stats {
    CUmemoryPool pool; /* NULL: allocations outside of any pool */
    uint64_t used, used_high, reserved_high;
    uint64_t most;  /* what may be used, by the program's own wish; never less than is */
    bool destroyed; /* the pool is; what came from it may live on, and is still booked here */
};

/* The book of a pool. Beyond the first 63 pools at a time all share the book of no pool, and report nothing used. Engine
 * lock. */
struct spw_mempool_stats *spw_mempool_stats_of_locked(CUmemoryPool pool);

/* A pool is made, `most` bytes large (0: no limit): a fresh book for it, even where the handle has been another pool's. */
void spw_mempool_open_locked(CUmemoryPool pool, uint64_t most);
/* A pool is destroyed. Its book is another pool's when nothing is booked in it any more. */
void spw_mempool_close_locked(CUmemoryPool pool);

static inline bool spw_mempool_has_room(const struct spw_mempool_stats *book, size_t bytes)
{
    return bytes <= book->most - book->used;
}

static inline void spw_mempool_stats_add(struct spw_mempool_stats *book, size_t bytes)
{
    book->used += bytes;
    if (book->used_high < book->used)
        book->used_high = book->used;
}

/* Used, and with it the memory that is cached for whoever allocates next on the device, but for what the program has given
 * back and is only kept for it. */
static inline uint64_t spw_mempool_reserved(const struct spw_mempool_stats *book, const struct spw_device *d)
{
    const uint64_t cached = d->free_bytes + d->handles.pooled_bytes;
    return book->used + (cached > d->trimmed_bytes ? cached - d->trimmed_bytes : 0);
}

/* New memory was booked: what is served from the cache changes nothing in what is reserved. */
static inline void spw_mempool_note_reserved(struct spw_mempool_stats *book, const struct spw_device *d)
{
    if (book->reserved_high < spw_mempool_reserved(book, d))
        book->reserved_high = spw_mempool_reserved(book, d);
}
#endif
