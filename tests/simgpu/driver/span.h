/* span.h - an ordered map of disjoint address ranges, made of nodes that live inside what they describe. */
#ifndef SIMGPU_DRIVER_SPAN_H
#define SIMGPU_DRIVER_SPAN_H
#include <stddef.h>
#include <stdint.h>

struct span {            /* first member of whatever is kept in the map */
    uint64_t start, end; /* [start, end), never empty; `end` may shrink while in the map */
    struct span *left, *right;
    uint32_t priority;
};

struct span_map { /* zero is an empty map */
    struct span *root;
    size_t count;
};

/* The span that holds `address`, or NULL. */
struct span *span_find(const struct span_map *map, uint64_t address);
/* The first span that ends after `address` (it may hold it), or NULL. */
struct span *span_from(const struct span_map *map, uint64_t address);
struct span *span_next(const struct span_map *map, const struct span *span);
/* Whether any span shares a byte with [start, end). */
int span_meets(const struct span_map *map, uint64_t start, uint64_t end);
/* The caller has made sure that the new span meets no other. */
void span_insert(struct span_map *map, struct span *span);
void span_remove(struct span_map *map, struct span *span);
#endif
