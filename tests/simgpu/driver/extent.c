/* extent.c - first-fit pieces of a numbered space. */
#include "extent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int insert_at(struct extents *e, size_t i, uint64_t start, uint64_t end)
{
    if (e->count == e->room) {
        size_t room = e->room ? 2 * e->room : 16;
        struct extent *pieces = realloc(e->pieces, room * sizeof *pieces);
        if (!pieces)
            return -ENOMEM;
        e->pieces = pieces;
        e->room = room;
    }
    memmove(e->pieces + i + 1, e->pieces + i, (e->count - i) * sizeof *e->pieces);
    e->pieces[i] = (struct extent){start, end};
    e->count++;
    return 0;
}

static void remove_at(struct extents *e, size_t i)
{
    memmove(e->pieces + i, e->pieces + i + 1, (e->count - i - 1) * sizeof *e->pieces);
    e->count--;
}

int extents_init(struct extents *e, uint64_t start, uint64_t end)
{
    *e = (struct extents){0};
    return insert_at(e, 0, start, end);
}

/* Cuts [start, end) out of piece i, which holds it. */
static int cut(struct extents *e, size_t i, uint64_t start, uint64_t end)
{
    struct extent *p = &e->pieces[i];
    uint64_t tail = p->end;
    if (p->start == start && tail == end) {
        remove_at(e, i);
    } else if (p->start == start) {
        p->start = end;
    } else if (tail == end) {
        p->end = start;
    } else {
        if (insert_at(e, i + 1, end, tail) < 0)
            return -ENOMEM;
        e->pieces[i].end = start;
    }
    return 0;
}

int extents_take(struct extents *e, uint64_t bytes, uint64_t alignment, uint64_t *ret_start)
{
    for (size_t i = 0; i < e->count; i++) {
        uint64_t start = (e->pieces[i].start + alignment - 1) & ~(alignment - 1);
        if (start < e->pieces[i].start || start > e->pieces[i].end || e->pieces[i].end - start < bytes)
            continue;
        int r = cut(e, i, start, start + bytes);
        if (r == 0)
            *ret_start = start;
        return r;
    }
    return -ENOMEM;
}

/* The first piece that ends after `start`. */
static size_t position(const struct extents *e, uint64_t start)
{
    size_t low = 0, high = e->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (e->pieces[middle].end > start)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int extents_take_at(struct extents *e, uint64_t start, uint64_t bytes)
{
    size_t i = position(e, start);
    if (i == e->count || e->pieces[i].start > start || e->pieces[i].end - start < bytes)
        return -EBUSY;
    return cut(e, i, start, start + bytes);
}

void extents_give(struct extents *e, uint64_t start, uint64_t bytes)
{
    uint64_t end = start + bytes;
    size_t i = position(e, start);
    if (i > 0 && e->pieces[i - 1].end == start) {
        e->pieces[i - 1].end = end;
        if (i < e->count && e->pieces[i].start == end) {
            e->pieces[i - 1].end = e->pieces[i].end;
            remove_at(e, i);
        }
    } else if (i < e->count && e->pieces[i].start == end) {
        e->pieces[i].start = start;
    } else {
        (void)insert_at(e, i, start, end);
    }
}
