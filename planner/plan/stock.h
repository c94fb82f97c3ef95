/* stock.h - models memory that is handed out in the order of a schedule's steps and given back in the order of time.
 *
 * All functions are inline because the search times thousands of schedules. */
#ifndef SPILLWAY_PLANNER_STOCK_H
#define SPILLWAY_PLANNER_STOCK_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_freed { /* bytes that are given back, and when */
    double at_us;
    uint64_t bytes;
};

/* Memory is given back nearly in order: after operations, which end one after the other, and after copies, which do so
 * too. So there are two queues, and a heap for entries that fit at the end of neither. Entries of the same time are
 * merged. */
enum { SPW_FREED_ROWS = 2 };

struct spw_freed_row {
    struct spw_freed *list; /* its owner makes room for all entries */
    size_t first, end;      /* the entries that are still to be taken */
};

struct spw_stock {
    uint64_t bytes, used_bytes; /* used: bytes handed out, less those taken back */
    struct spw_freed_row rows[SPW_FREED_ROWS];
    struct spw_freed *heap; /* the earliest first; its owner makes room */
    size_t heap_count;
    double from_us; /* the earliest time at which bytes that are handed out next are free */
    /* When the last of the bytes that the latest take waited for was given back; 0: it did not wait. */
    double waited_us;
};

/* Starts with all bytes free and nothing to be given back. */
static inline void spw_stock_begin(struct spw_stock *stock)
{
    stock->used_bytes = stock->heap_count = 0;
    stock->from_us = 0;
    for (int i = 0; i < SPW_FREED_ROWS; i++)
        stock->rows[i].first = stock->rows[i].end = 0;
}

static inline void spw_stock_give_back(struct spw_stock *stock, double at_us, uint64_t bytes)
{
    for (struct spw_freed_row *row = stock->rows; row < stock->rows + SPW_FREED_ROWS; row++) {
        const double last_us = row->first < row->end ? row->list[row->end - 1].at_us : -1;
        if (last_us > at_us)
            continue;
        if (last_us == at_us)
            row->list[row->end - 1].bytes += bytes;
        else
            row->list[row->end++] = (struct spw_freed){at_us, bytes};
        return;
    }
    size_t i = stock->heap_count++;
    while (i > 0 && stock->heap[(i - 1) / 2].at_us > at_us) {
        stock->heap[i] = stock->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    stock->heap[i] = (struct spw_freed){at_us, bytes};
}

static inline struct spw_freed spw_stock_pop_heap(struct spw_stock *stock)
{
    const struct spw_freed earliest = stock->heap[0], moved = stock->heap[--stock->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= stock->heap_count)
            break;
        if (child + 1 < stock->heap_count && stock->heap[child + 1].at_us < stock->heap[child].at_us)
            child++;
        if (stock->heap[child].at_us >= moved.at_us)
            break;
        stock->heap[i] = stock->heap[child];
        i = child;
    }
    stock->heap[i] = moved;
    return earliest;
}

/* Removes the earliest entry. Returns false if there is none. */
static inline bool spw_stock_earliest(struct spw_stock *stock, struct spw_freed *ret_earliest)
{
    struct spw_freed_row *best = NULL;
    for (struct spw_freed_row *row = stock->rows; row < stock->rows + SPW_FREED_ROWS; row++)
        if (row->first < row->end && (!best || row->list[row->first].at_us < best->list[best->first].at_us))
            best = row;
    if (stock->heap_count && (!best || stock->heap[0].at_us < best->list[best->first].at_us)) {
        *ret_earliest = spw_stock_pop_heap(stock);
        return true;
    }
    if (best)
        *ret_earliest = best->list[best->first++];
    return best;
}

/* Hands out `bytes`, which are free at from_us. Returns 0, or -ENOSPC if they are not free even when everything has been
 * given back. */
static inline int spw_stock_take(struct spw_stock *stock, uint64_t bytes)
{
    stock->waited_us = 0;
    while (stock->used_bytes + bytes > stock->bytes) {
        struct spw_freed freed;
        if (!spw_stock_earliest(stock, &freed))
            return -ENOSPC;
        stock->used_bytes -= freed.bytes;
        stock->waited_us = freed.at_us;
        if (freed.at_us > stock->from_us)
            stock->from_us = freed.at_us;
    }
    stock->used_bytes += bytes;
    return 0;
}
#endif
