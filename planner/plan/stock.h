/* stock.h - memory that is handed out in the order of a schedule's steps, and comes back in the order of time.
 *
 * In the header for the sake of the search, which times schedules by the thousand. */
#ifndef SPILLWAY_PLANNER_STOCK_H
#define SPILLWAY_PLANNER_STOCK_H
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_freed { /* what comes back, and when */
    double at_us;
    uint64_t bytes;
};

/* What comes back comes nearly in order: behind operations, which end one after the other, and behind copies, which do so
 * too. So there are two rows, and a heap for what fits at the end of neither. What comes back at the same instant is one. */
enum { SPW_FREED_ROWS = 2 };

struct spw_freed_row {
    struct spw_freed *list; /* its owner makes room for all that ever comes back */
    size_t first, end;      /* those that have not been taken yet */
};

struct spw_stock {
    uint64_t bytes, used_bytes; /* used: what was handed out, less what was taken back */
    struct spw_freed_row rows[SPW_FREED_ROWS];
    struct spw_freed *heap; /* the earliest first; its owner makes room */
    size_t heap_count;
    double from_us;   /* nothing that is handed out from here on is there before */
    double waited_us; /* when the last of what the last taking waited for came back; 0: it did not wait */
};

/* All of it is there, and nothing is to come back. */
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

/* Takes the earliest away; false: there is none. */
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

/* Hands out so many bytes, which are there at from_us. 0; -ENOSPC: not even after all that comes back. */
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
