/* shape.h - describes a known iteration: its operations, the events between them, and where contexts of tokens occur in
 * it. */
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
    int64_t live_bytes; /* before it, minus those at the boundary */
    uint32_t ordinal;
    uint32_t besides, allocs; /* first ones of its gap, which ends where the next step's begins */
    bool launch, hint;        /* as in the bone */
};

struct spw_shape_beside {
    uint64_t token;
    uint32_t ordinal;
};

struct spw_shape_alloc {
    uint64_t bytes;
    uint32_t kind;
    uint32_t id; /* the lower half of the id in the iteration that it was learned from */
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
    struct spw_shape_step *steps; /* backbone + 2: the last two are the gap before the boundary, and its end */
    struct spw_shape_beside *besides;
    struct spw_shape_alloc *allocs;
    struct spw_shape_place *places;
    uint64_t *functions; /* that it launches, sorted, each once */
    uint32_t function_count;
    size_t place_capacity;
    uint64_t sum;            /* of the backbone's tokens: the same for every rotation */
    bool hints;              /* there is at least one */
    uint32_t distinct_after; /* its first 16 tokens occur only at its beginning: 16; else UINT32_MAX */
    uint64_t seen, last_seen;
    bool repeats; /* after its last occurrence it came again next */
    uint64_t boundary_live_bytes;
};

/* Makes an empty shape with room for these numbers. The caller fills in the steps (tokens, functions, live bytes, where
 * their gaps begin), the tokens of the besides, and the allocs; spw_shape_complete() derives the rest. Returns NULL
 * without memory. */
struct spw_shape *spw_shape_make_room(uint32_t backbone, uint32_t besides, uint32_t allocs);
void spw_shape_complete(struct spw_shape *shape);

/* Makes a shape of the window. Returns 0 or -ENOMEM. */
int spw_shape_create(const struct spw_history *history, const struct spw_window *window, struct spw_shape **ret_shape);
void spw_shape_destroy(struct spw_shape *shape);
size_t spw_shape_memory_bytes(const struct spw_shape *shape);

/* Returns a hash of its operations in order. */
uint64_t spw_shape_hash(const struct spw_shape *shape);

bool spw_shape_launches(const struct spw_shape *shape, uint64_t function);

/* Finds the only step at which this context of 16 tokens ends, or else, if `short_too`, the context of 4. Returns false
 * if there is no such step, or more than one. */
bool spw_shape_locate(const struct spw_shape *shape, const struct spw_context *context, bool short_too, uint32_t *ret_step);
#endif
