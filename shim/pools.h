/* pools.h - what is booked on each of the program's memory pools, for the figures that it asks for. */
#ifndef SPILLWAY_SHIM_POOLS_H
#define SPILLWAY_SHIM_POOLS_H
#include "ledger.h"

struct spw_pool_book {
    CUmemoryPool pool; /* NULL: allocations outside of any pool */
    uint64_t used, used_high, reserved_high;
};

/* The book of a pool, for good: a pool that is destroyed and whose handle comes again goes on in the same book. Beyond the
 * first 63 pools all share the book of no pool, and report nothing used. Engine lock. */
struct spw_pool_book *spw_pool_book_of_locked(CUmemoryPool pool);

static inline void spw_pool_book_add(struct spw_pool_book *book, size_t bytes)
{
    book->used += bytes;
    if (book->used_high < book->used)
        book->used_high = book->used;
}

/* Used, and with it the memory that is cached for whoever allocates next on the device. */
static inline uint64_t spw_pool_reserved(const struct spw_pool_book *book, const struct spw_device *d)
{
    return book->used + d->free_bytes + d->handles.pooled_bytes;
}

/* New memory was booked: what is served from the cache changes nothing in what is reserved. */
static inline void spw_pool_note_reserved(struct spw_pool_book *book, const struct spw_device *d)
{
    if (book->reserved_high < spw_pool_reserved(book, d))
        book->reserved_high = spw_pool_reserved(book, d);
}
#endif
