/* mempool_stats.c - the list of pools' records. */
#include "mempool_stats.h"

enum { BOOKS = 64 };

static struct spw_mempool_stats books[BOOKS] = {{.most = UINT64_MAX}}; /* the first is for allocations outside any pool;
                                                                        * engine lock */
static unsigned count = 1;
static struct spw_mempool_stats *last = books; /* the record that was found last; never a destroyed one */

/* Returns an unused record, or the one for allocations outside any pool if there is none. */
static struct spw_mempool_stats *new_book(CUmemoryPool pool)
{
    unsigned i = 1;
    while (i < count && (!books[i].destroyed || books[i].used))
        i++;
    if (i == BOOKS)
        return &books[0];
    if (i == count)
        count++;
    books[i] = (struct spw_mempool_stats){.pool = pool, .most = UINT64_MAX};
    return &books[i];
}

struct spw_mempool_stats *spw_mempool_stats_of_locked(CUmemoryPool pool)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (last->pool == pool)
        return last;
    for (unsigned i = 0; i < count; i++) {
        if (books[i].pool == pool && !books[i].destroyed) {
            last = &books[i];
            return last;
        }
    }
    return new_book(pool);
}

void spw_mempool_open_locked(CUmemoryPool pool, uint64_t most)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_mempool_close_locked(pool);
    struct spw_mempool_stats *book = new_book(pool);
    if (book != &books[0] && most)
        book->most = most;
}

void spw_mempool_close_locked(CUmemoryPool pool)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    last = books;
    for (unsigned i = 1; i < count; i++)
        if (books[i].pool == pool)
            books[i].destroyed = true;
}
