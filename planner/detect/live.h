/* live.h - keeps the live set: which allocations are alive, by id, and a hash of their sizes that is kept up to date.
 *
 * Programs keep a little from each iteration, such as the loss on the device, and never have exactly the same live set
 * again. So two live sets are alike if they differ only by slight allocations, and by no more bytes in total than one
 * slight allocation may have. The limit for slight allocations follows from the most bytes that were alive at once so
 * far, so a program that only has small tensors has no slight ones. */
#ifndef SPILLWAY_PLANNER_LIVE_H
#define SPILLWAY_PLANNER_LIVE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_live_entry {
    uint64_t id; /* 0: an empty slot */
    uint64_t bytes;
    uint32_t kind;
    uint32_t shape, ordinal; /* of the shape's allocation that it was matched with; shape 0: none */
    bool freed;              /* its equal in the shape is freed within the iteration */
    bool sure;               /* the place was sure when it was matched */
    bool slight;             /* it was slight when it was made */
    uint32_t mark;           /* of the latest count that included it */
    uint64_t event;          /* position among the events */
};

struct spw_live { /* a hash table with linear probing, at most half full */
    struct spw_live_entry *slots;
    size_t capacity, count; /* capacity: a power of two */
    uint64_t newest;        /* the largest id so far */
    uint64_t bytes, most;   /* sum over the live set, and the maximum so far */
    uint64_t slight;        /* allocations of at most this many bytes are slight */
    /* Of the multiset of (bytes, kind) without slight allocations; a sum, so the order does not matter. */
    uint64_t hash;
    uint32_t mark; /* of the latest count */
};

int spw_live_init(struct spw_live *live);
void spw_live_finish(struct spw_live *live);
int spw_live_add(struct spw_live *live, const struct spw_live_entry *entry); /* returns 0, -EINVAL, -ENOMEM */
int spw_live_remove(struct spw_live *live, uint64_t id);                     /* returns 0, -ENOENT */
struct spw_live_entry *spw_live_find(const struct spw_live *live, uint64_t id);

/* Returns true if two numbers of live bytes are equal except for slight allocations. */
static inline bool spw_live_alike(const struct spw_live *live, uint64_t a, uint64_t b)
{
    return a == b || (a > b ? a - b : b - a) <= live->slight;
}

/* Spreads a number over 64 bits (the finalizer of splitmix64). */
static inline uint64_t spw_live_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
#endif
