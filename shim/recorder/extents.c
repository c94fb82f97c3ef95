/* extents.c - a table over all addresses: bins of 2 MiB, each with the extents that reach into it. */
#include "extents.h"

#include <stdlib.h>
#include <string.h>

enum {
    BIN_SHIFT = SPW_EXTENT_BIN_SHIFT,
    LEAF_BITS = SPW_EXTENT_LEAF_BITS,
    TOP_BITS = SPW_EXTENT_TOP_BITS,
    ADDRESS_BITS = BIN_SHIFT + LEAF_BITS + TOP_BITS
};

static struct spw_extent *const *list_of(const struct spw_extent_bin *b)
{
    return b->room ? b->many : &b->one;
}

static struct spw_extent_bin *find_bin(const struct spw_extents *x, uint64_t number)
{
    struct spw_extent_bin *leaf = x->top ? x->top[number >> LEAF_BITS] : NULL;
    return leaf ? &leaf[number & ((1 << LEAF_BITS) - 1)] : NULL;
}

static struct spw_extent_bin *make_bin(struct spw_extents *x, uint64_t number)
{
    if (!x->top && !(x->top = calloc(1 << TOP_BITS, sizeof(*x->top))))
        return NULL;
    struct spw_extent_bin **leaf = &x->top[number >> LEAF_BITS];
    if (!*leaf && !(*leaf = calloc(1 << LEAF_BITS, sizeof(**leaf))))
        return NULL;
    return &(*leaf)[number & ((1 << LEAF_BITS) - 1)];
}

/* Returns the number of extents of the bin that begin at or below an address. */
static uint32_t rank(const struct spw_extent_bin *b, uint64_t address)
{
    struct spw_extent *const *list = list_of(b);
    uint32_t low = 0, high = b->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle]->start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Searches without a branch that the processor could not predict. */
static struct spw_extent *find_among(const struct spw_extent_bin *b, uint64_t address)
{
    struct spw_extent *const *list = list_of(b);
    uint32_t count = b->count;
    if (count == 0)
        return NULL;
    for (; count > 1; count -= count / 2) /* if an extent holds the address, it is among these */
        list += list[count / 2]->start <= address ? count / 2 : 0;
    return address - (*list)->start < (*list)->bytes ? *list : NULL;
}

struct spw_extent *spw_extents_search(struct spw_extents *x, uint64_t address)
{
    const struct spw_extent_bin *b = find_bin(x, address >> BIN_SHIFT);
    struct spw_extent *e = b ? find_among(b, address) : NULL;
    if (e)
        x->lately[(address >> 8 ^ address >> 20) % SPW_EXTENTS_LATELY] = e;
    return e;
}

static bool bin_add(struct spw_extent_bin *b, struct spw_extent *e)
{
    if (b->count == 0 && b->room == 0) {
        b->one = e;
        b->count = 1;
        return true;
    }
    if (b->count == b->room || b->room == 0) {
        uint32_t room = b->room ? 2 * b->room : 4;
        struct spw_extent **more = malloc(room * sizeof(struct spw_extent *));
        if (!more)
            return false;
        memcpy(more, list_of(b), b->count * sizeof(struct spw_extent *));
        if (b->room)
            free(b->many);
        b->many = more;
        b->room = room;
    }
    uint32_t at = rank(b, e->start);
    memmove(b->many + at + 1, b->many + at, (b->count - at) * sizeof(struct spw_extent *));
    b->many[at] = e;
    b->count++;
    return true;
}

static void bin_remove(struct spw_extent_bin *b, const struct spw_extent *e)
{
    uint32_t at = rank(b, e->start);
    if (at == 0 || list_of(b)[at - 1] != e)
        return;
    b->count--;
    if (!b->room)
        b->one = NULL;
    else
        memmove(b->many + at - 1, b->many + at, (b->count - at + 1) * sizeof(struct spw_extent *));
}

static void unlink_bins(struct spw_extents *x, const struct spw_extent *e, uint64_t first, uint64_t end)
{
    for (uint64_t n = first; n < end; n++) {
        struct spw_extent_bin *b = find_bin(x, n);
        if (b)
            bin_remove(b, e);
    }
}

static uint64_t end_bin(const struct spw_extent *e)
{
    return ((e->start + e->bytes - 1) >> BIN_SHIFT) + 1;
}

static void set_aside(struct spw_extents *x, struct spw_extent *e)
{
    *e = (struct spw_extent){.next = x->spare};
    x->spare = e;
}

static struct spw_extent *take_spare(struct spw_extents *x)
{
    struct spw_extent *e = x->spare;
    if (!e)
        return calloc(1, sizeof(*e));
    x->spare = e->next;
    e->next = NULL;
    return e;
}

void spw_extents_remove(struct spw_extents *x, struct spw_extent *e)
{
    unlink_bins(x, e, e->start >> BIN_SHIFT, end_bin(e));
    if (e->next)
        e->next->previous = e->previous;
    if (e->previous)
        e->previous->next = e->next;
    else
        x->all = e->next;
    x->count--;
    free(e->pointers.list);
    set_aside(x, e);
}

/* Returns an extent that reaches into [start, start + bytes), or NULL. */
static struct spw_extent *overlapped(struct spw_extents *x, uint64_t start, uint64_t bytes)
{
    struct spw_extent *e = spw_extents_find(x, start);
    for (uint64_t n = start >> BIN_SHIFT; !e && n <= (start + bytes - 1) >> BIN_SHIFT; n++) {
        const struct spw_extent_bin *b = find_bin(x, n);
        uint32_t below = b ? rank(b, start + bytes - 1) : 0;
        if (below && list_of(b)[below - 1]->start >= start)
            e = list_of(b)[below - 1];
    }
    return e;
}

struct spw_extent *spw_extents_add(struct spw_extents *x, uint64_t start, uint64_t bytes,
                                   void (*gone)(void *context, const struct spw_extent *e), void *context)
{
    struct spw_extent *e;
    if (bytes == 0)
        bytes = 1;
    if (bytes >> ADDRESS_BITS || (start + bytes - 1) >> ADDRESS_BITS)
        return NULL;
    while ((e = overlapped(x, start, bytes))) {
        if (gone)
            gone(context, e);
        spw_extents_remove(x, e);
    }
    e = take_spare(x);
    if (!e)
        return NULL;
    e->start = start;
    e->bytes = bytes;
    for (uint64_t n = start >> BIN_SHIFT; n < end_bin(e); n++) {
        struct spw_extent_bin *b = make_bin(x, n);
        if (!b || !bin_add(b, e)) {
            unlink_bins(x, e, start >> BIN_SHIFT, n);
            set_aside(x, e);
            return NULL;
        }
    }
    e->next = x->all;
    if (x->all)
        x->all->previous = e;
    x->all = e;
    if (x->count++ == 0 && x->high == 0) {
        x->low = start;
        x->high = start + bytes;
    }
    x->low = start < x->low ? start : x->low;
    x->high = start + bytes > x->high ? start + bytes : x->high;
    return e;
}

void spw_extents_clear(struct spw_extents *x)
{
    while (x->all)
        spw_extents_remove(x, x->all);
    for (struct spw_extent *e; (e = x->spare);) {
        x->spare = e->next;
        free(e);
    }
    for (size_t i = 0; x->top && i < 1 << TOP_BITS; i++) {
        for (size_t k = 0; x->top[i] && k < 1 << LEAF_BITS; k++)
            if (x->top[i][k].room)
                free(x->top[i][k].many);
        free(x->top[i]);
    }
    free(x->top);
    *x = (struct spw_extents){0};
}
