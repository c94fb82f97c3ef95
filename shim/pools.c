/* pools.c - the list of books. */
#include "pools.h"

enum { BOOKS = 64 };

static struct spw_pool_book books[BOOKS]; /* the first is that of no pool; engine lock */
static unsigned count = 1;

struct spw_pool_book *spw_pool_book_of_locked(CUmemoryPool pool)
{
    static unsigned last;
    if (books[last].pool == pool)
        return &books[last];
    for (unsigned i = 0; i < count; i++) {
        if (books[i].pool == pool) {
            last = i;
            return &books[i];
        }
    }
    if (count == BOOKS)
        return &books[0];
    books[count].pool = pool;
    last = count++;
    return &books[last];
}
