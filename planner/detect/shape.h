/* shape.h - a known iteration: its operations, what stands between them, and where a context of tokens is in it. */
#ifndef SPILLWAY_PLANNER_SHAPE_H
#define SPILLWAY_PLANNER_SHAPE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/boundary.h"
#include "detect/context.h"
#include "detect/history.h"

struct spw_shape_step { /* one operation of the backbone, and the gap before it */
    uint64_t token;
    uint64_t prefix; /* hash of the tokens before it */
    uint64_t function;
    int64_t live_bytes; /* before it, less those at the boundary */
    uint32_t ordinal;
    uint32_t besides, allocs; /* the first ones of its gap; they end where the next step's begin */
    bool launch, hint;        /* as the bone's */
};

struct spw_shape_beside {
    uint64_t token;
    uint32_t ordinal;
};

struct spw_shape_alloc {
    uint64_t bytes;
    uint32_t kind;
    uint32_t id; /* the lower half, of the one that it was learned from */
    bool freed;  /* before the iteration ends */
};

struct spw_shape_place {
    uint64_t hash;
    uint32_t position; /* of the context's last token */
    bool many, used;
};

struct spw_shape {
    uint32_t id;
    uint32_t length, backbone, beside_count, alloc_count;
    struct spw_shape_step *steps; /* backbone + 2: then the gap before the boundary, then its end */
    struct spw_shape_beside *besides;
    struct spw_shape_alloc *allocs;
    struct spw_shape_place *places;
    uint64_t *functions; /* that it launches, rising, each once */
    uint32_t function_count;
    size_t place_capacity;
    uint64_t sum;            /* of the backbone's tokens: the same for every rotation */
    bool hints;              /* there are any */
    uint32_t distinct_after; /* its first so many tokens are found at its beginning only: 4, 16, or UINT32_MAX */
    uint64_t seen, last_seen;
    bool repeats; /* the last time it came, it came again next */
    uint64_t boundary_live_bytes;
};

/* With room for so much, and nothing in it: the caller fills in the steps (tokens, functions, live bytes, where their gaps
 * begin), the tokens of the besides and the allocs, and has the rest made of these. NULL: no memory. */
struct spw_shape *spw_shape_make_room(uint32_t backbone, uint32_t besides, uint32_t allocs);
void spw_shape_complete(struct spw_shape *shape);

/* Takes down the window. 0 or -ENOMEM. */
int spw_shape_create(const struct spw_history *history, const struct spw_window *window, struct spw_shape **ret_shape);
void spw_shape_destroy(struct spw_shape *shape);
size_t spw_shape_memory_bytes(const struct spw_shape *shape);

/* Of its operations in their order. */
uint64_t spw_shape_hash(const struct spw_shape *shape);

bool spw_shape_launches(const struct spw_shape *shape, uint64_t function);

/* The only step at which this context of 16 tokens ends, else, with `short_too`, the one of 4; false when there is none or
 * more than one. */
bool spw_shape_locate(const struct spw_shape *shape, const struct spw_context *context, bool short_too, uint32_t *ret_step);
#endif
