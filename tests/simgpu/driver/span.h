/* span.h - an ordered map of disjoint address ranges, whose nodes are part of the objects that they describe. */
#ifndef SIMGPU_DRIVER_SPAN_H
#define SIMGPU_DRIVER_SPAN_H
#include <stddef.h>
#include <stdint.h>

struct span {            /* the first member of the objects in the map */
    uint64_t start, end; /* [start, end), never empty; `end` may shrink while in the map */
    struct span *left, *right;
    uint32_t priority;
};

struct span_map { /* all zeroes is an empty map */
    struct span *root;
    size_t count;
};

/* Returns the span that contains `address`, or NULL. */
struct span *span_find(const struct span_map *map, uint64_t address);
/* Returns the first span that ends after `address` (and may contain it), or NULL. */
struct span *span_from(const struct span_map *map, uint64_t address);
struct span *span_next(const struct span_map *map, const struct span *span);
/* Returns true if any span shares a byte with [start, end). */
int span_meets(const struct span_map *map, uint64_t start, uint64_t end);
/* The caller makes sure that the span overlaps with no other. */
void span_insert(struct span_map *map, struct span *span);
void span_remove(struct span_map *map, struct span *span);
#endif
