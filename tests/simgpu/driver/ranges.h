/* ranges.h - a set of bytes, as sorted ranges of addresses that neither meet nor touch. */
#ifndef SIMGPU_DRIVER_RANGES_H
#define SIMGPU_DRIVER_RANGES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct range {
    uint64_t start, end; /* [start, end), never empty */
};

struct ranges { /* zero is the empty set */
    struct range *at;
    size_t count, room;
};

/* False: no memory, and the set is what it was. */
bool ranges_add(struct ranges *set, uint64_t start, uint64_t end);
bool ranges_remove(struct ranges *set, uint64_t start, uint64_t end);
/* Adds what `from` has of [start, end), moved on by `by`. False: no memory, and some of it may be missing. */
bool ranges_add_part(struct ranges *set, const struct ranges *from, uint64_t start, uint64_t end, uint64_t by);
/* Whether all of [start, end) is there. */
bool ranges_hold(const struct ranges *set, uint64_t start, uint64_t end);
/* Which is the first that ends behind `address`; set->count: none does. */
size_t ranges_from(const struct ranges *set, uint64_t address);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
void ranges_finish(struct ranges *set);
#endif
