/* mempool_stats.h - counts what is allocated from each of the program's memory pools, for its queries. */
#ifndef SPILLWAY_SHIM_MEMPOOL_STATS_H
#define SPILLWAY_SHIM_MEMPOOL_STATS_H
#include "ledger.h"

struct spw_mempool_stats {
    CUmemoryPool pool; /* NULL: allocations outside any pool */
    uint64_t used, used_high, reserved_high;
    uint64_t most;  /* limit for `used` that the program has set; never less than `used` */
    bool destroyed; /* the pool was destroyed; what was allocated from it may still live, and is still counted here */
};

/* Returns the record of a pool. Beyond 63 pools at a time, all others share the record for allocations outside any pool,
 * and report nothing used. Engine lock. */
struct spw_mempool_stats *spw_mempool_stats_of_locked(CUmemoryPool pool);

/* A pool was created with a limit of `most` bytes (0: none): makes a fresh record, even if another pool had the same handle
 * before. */
void spw_mempool_open_locked(CUmemoryPool pool, uint64_t most);
/* A pool was destroyed. Its record is reused once nothing is counted in it any more. */
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

/* Returns what counts as reserved: what is used, and the memory that is cached for later allocations on the device, without
 * the part that the program has given back and that is only kept for it. */
static inline uint64_t spw_mempool_reserved(const struct spw_mempool_stats *book, const struct spw_device *d)
{
    const uint64_t cached = d->free_bytes + d->handles.pooled_bytes;
    return book->used + (cached > d->trimmed_bytes ? cached - d->trimmed_bytes : 0);
}

/* Updates the peak after fresh memory was allocated; what comes from the cache does not change what is reserved. */
static inline void spw_mempool_note_reserved(struct spw_mempool_stats *book, const struct spw_device *d)
{
    if (book->reserved_high < spw_mempool_reserved(book, d))
        book->reserved_high = spw_mempool_reserved(book, d);
}
#endif
