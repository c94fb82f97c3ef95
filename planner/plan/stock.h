/* stock.h - memory that is handed out in the order of a schedule's steps, and comes back in the order of time.
 *
 * In the header for the sake of the search, which times schedules by the thousand. */
#ifndef SPILLWAY_PLANNER_STOCK_H
#define SPILLWAY_PLANNER_STOCK_H
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

struct spw_freed { /* what comes back, and when */
    double at_us;
    uint64_t bytes;
};

struct spw_stock {
    uint64_t bytes, used_bytes; /* used: what was handed out, less what was taken back from `freed` */
    struct spw_freed *freed;    /* a heap, the earliest first; its owner makes room */
    size_t freed_count;
    double from_us;   /* nothing that is handed out from here on is there before */
    double waited_us; /* when the last of what the last taking waited for came back; 0: it did not wait */
};

static inline void spw_stock_give_back(struct spw_stock *stock, double at_us, uint64_t bytes)
{
    size_t i = stock->freed_count++;
    while (i > 0 && stock->freed[(i - 1) / 2].at_us > at_us) {
        stock->freed[i] = stock->freed[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    stock->freed[i] = (struct spw_freed){at_us, bytes};
}

static inline struct spw_freed spw_stock_earliest(struct spw_stock *stock)
{
    const struct spw_freed earliest = stock->freed[0], moved = stock->freed[--stock->freed_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= stock->freed_count)
            break;
        if (child + 1 < stock->freed_count && stock->freed[child + 1].at_us < stock->freed[child].at_us)
            child++;
        if (stock->freed[child].at_us >= moved.at_us)
            break;
        stock->freed[i] = stock->freed[child];
        i = child;
    }
    stock->freed[i] = moved;
    return earliest;
}

/* Hands out so many bytes, which are there at from_us. 0; -ENOSPC: not even after all that comes back. */
static inline int spw_stock_take(struct spw_stock *stock, uint64_t bytes)
{
    stock->waited_us = 0;
    while (stock->used_bytes + bytes > stock->bytes) {
        if (stock->freed_count == 0)
            return -ENOSPC;
        const struct spw_freed freed = spw_stock_earliest(stock);
        stock->used_bytes -= freed.bytes;
        stock->waited_us = freed.at_us;
        if (freed.at_us > stock->from_us)
            stock->from_us = freed.at_us;
    }
    stock->used_bytes += bytes;
    return 0;
}
#endif
