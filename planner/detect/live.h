/* live.h - the live set: which allocations are alive, by id, and one hash of all their sizes that is kept up to date. */
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
    uint32_t mark;           /* of the latest count that it was part of */
    uint64_t event;          /* position among the events */
};

struct spw_live { /* open addressing with linear probing, at most half full */
    struct spw_live_entry *slots;
    size_t capacity, count; /* capacity: a power of two */
    uint64_t newest;        /* the largest id so far */
    uint64_t bytes;         /* sum over the live set */
    uint64_t hash;          /* of the multiset of (bytes, kind): a sum, so that the order doesn't count */
    uint32_t mark;          /* of the latest count */
};

int spw_live_init(struct spw_live *live);
void spw_live_finish(struct spw_live *live);
int spw_live_add(struct spw_live *live, const struct spw_live_entry *entry); /* 0, -EINVAL, -ENOMEM */
int spw_live_remove(struct spw_live *live, uint64_t id);                     /* 0, -ENOENT */
struct spw_live_entry *spw_live_find(const struct spw_live *live, uint64_t id);

/* Spreads a number over 64 bits (the finalizer of splitmix64). */
static inline uint64_t spw_live_mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}
#endif
