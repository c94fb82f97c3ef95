/* ranges.h - a set of bytes, as sorted ranges of addresses that are neither overlapping nor adjacent. */
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

/* Return false without memory; the set is then unchanged. */
bool ranges_add(struct ranges *set, uint64_t start, uint64_t end);
bool ranges_remove(struct ranges *set, uint64_t start, uint64_t end);
/* Adds the part of `from` within [start, end), shifted by `by`. Returns false without memory; some of it may then be
 * missing. */
bool ranges_add_part(struct ranges *set, const struct ranges *from, uint64_t start, uint64_t end, uint64_t by);
/* Returns true if the set contains all of [start, end). */
bool ranges_hold(const struct ranges *set, uint64_t start, uint64_t end);
/* Returns the index of the first range that ends after `address`; set->count: none. */
size_t ranges_from(const struct ranges *set, uint64_t address);
bool ranges_equal(const struct ranges *a, const struct ranges *b);
void ranges_finish(struct ranges *set);
#endif
