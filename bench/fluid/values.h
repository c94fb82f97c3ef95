/* values.h - describes the values that tensors hold from one write to the next: what needs them, and how long they are
 * useful. */
#ifndef SPILLWAY_BENCH_FLUID_VALUES_H
#define SPILLWAY_BENCH_FLUID_VALUES_H
#include "plan/graph.h"

#define AT_START UINT32_MAX /* as `born`: before the first operation */

struct value {
    uint32_t tensor, version;
    uint32_t born;                 /* the operation that leaves it; or AT_START */
    uint32_t overwritten;          /* the operation that writes the tensor next; op_count: none */
    uint32_t first_use, use_count; /* the graph's uses that read it */
    /* The last operation that reads it; op_count if it carries over; 0 and !is_needed: none. */
    uint32_t needed;
    /* Likewise, or the last one that reads what a replay makes from it, over any number of replays. */
    uint32_t useful;
    bool is_needed, is_useful;
    bool replayable; /* its producer may be replayed for it */
};

struct values {
    const struct spw_graph *graph;
    uint64_t smallest_bytes;
    uint32_t *first; /* for each tensor: the value of its version 0 */
    struct value *list;
    uint32_t count;
    bool *replayable; /* for each operation */
};

/* Lists the values. Those of tensors below `smallest_bytes` are never useful: they count as always present, and take no
 * memory. */
void values_init(struct values *values, const struct spw_graph *graph, uint64_t smallest_bytes, bool may_replay);
void values_finish(struct values *values);
/* Returns the value, or NULL if the tensor is too small. */
const struct value *values_of(const struct values *values, uint32_t tensor, uint32_t version);
#endif
