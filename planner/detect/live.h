/* live.h - the live set: which allocations are alive, by id, and one hash of their sizes that is kept up to date.
 *
 * Programs keep a little from each iteration, the loss on the device for one, and never have the very same live set again.
 * So two live sets are alike where they differ by slight allocations alone, and by no more bytes in all than one of those
 * may have. What is slight follows from the most that was alive at once so far: a program of small tensors only has none. */
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
    bool sure;               /* as the place was when it was matched */
    bool slight;             /* it was when it was made */
    uint32_t mark;           /* of the latest count that it was part of */
    uint64_t event;          /* position among the events */
};

struct spw_live { /* open addressing with linear probing, at most half full */
    struct spw_live_entry *slots;
    size_t capacity, count; /* capacity: a power of two */
    uint64_t newest;        /* the largest id so far */
    uint64_t bytes, most;   /* sum over the live set, and the most that it ever was */
    uint64_t slight;        /* so many bytes are, and fewer */
    uint64_t hash;          /* of the multiset of (bytes, kind), without the slight: a sum, so that order doesn't count */
    uint32_t mark;          /* of the latest count */
};

int spw_live_init(struct spw_live *live);
void spw_live_finish(struct spw_live *live);
int spw_live_add(struct spw_live *live, const struct spw_live_entry *entry); /* 0, -EINVAL, -ENOMEM */
int spw_live_remove(struct spw_live *live, uint64_t id);                     /* 0, -ENOENT */
struct spw_live_entry *spw_live_find(const struct spw_live *live, uint64_t id);

/* Whether one number of bytes alive is the other, but for what is slight. */
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
