/* pieces.c - the list of pieces behind a range; a single piece needs no list. */
#include "pieces.h"

#include <errno.h>
#include <stdlib.h>

#include "grow.h"

enum { LEAST_LIST = 4 };

/* The list has room for LEAST_LIST pieces, then for the next power of two. Each block has a list, so its size is not
 * stored. */
int spw_memory_append(struct spw_memory *m, struct spw_piece piece)
{
    if (m->count == 0) {
        m->handle = piece.handle;
    } else {
        if (m->count == 1 || (m->count >= LEAST_LIST && (m->count & (m->count - 1)) == 0)) {
            struct spw_piece only = spw_memory_piece(m, 0);
            const size_t had = m->count == 1 ? 0 : m->count;
            struct spw_piece *list = had ? m->pieces : NULL;
            if (SPW_RESIZE(list, had, had ? 2 * had : LEAST_LIST) < 0)
                return -ENOMEM;
            list[0] = had ? list[0] : only;
            m->pieces = list;
        }
        m->pieces[m->count] = piece;
    }
    m->count++;
    m->granules += piece.granules;
    return 0;
}

/* Removes the last piece, which exists. (The analyzer does not know that each of the first count pieces was appended.) */
struct spw_piece spw_memory_remove_last(struct spw_memory *m)
{
    struct spw_piece last = spw_memory_piece(m, m->count - 1);
    m->count--;
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
    m->granules -= last.granules;
    if (m->count == 1) {
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
        CUmemGenericAllocationHandle first = m->pieces[0].handle;
        free(m->pieces);
        m->handle = first;
    } else if (m->count == 0) {
        m->handle = 0;
    }
    return last;
}

/* Appends the pieces of `from` behind its first `skip`; all or none. */
static int append_from(struct spw_memory *into, const struct spw_memory *from, uint32_t skip)
{
    const uint32_t had = into->count;
    int r = 0;
    for (uint32_t i = skip; i < from->count && r == 0; i++)
        r = spw_memory_append(into, spw_memory_piece(from, i));
    while (r < 0 && into->count > had)
        (void)spw_memory_remove_last(into);
    return r;
}

int spw_memory_split(struct spw_memory *memory, uint32_t keep, struct spw_memory *rest)
{
    int r = append_from(rest, memory, keep);
    while (r == 0 && memory->count > keep)
        (void)spw_memory_remove_last(memory);
    return r;
}

int spw_memory_join(struct spw_memory *into, struct spw_memory *from)
{
    int r = append_from(into, from, 0);
    while (r == 0 && from->count)
        (void)spw_memory_remove_last(from);
    return r;
}
