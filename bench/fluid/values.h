/* values.h - what tensors hold from one write to the next, who needs it, and how long it is of use. */
#ifndef SPILLWAY_BENCH_FLUID_VALUES_H
#define SPILLWAY_BENCH_FLUID_VALUES_H
#include "plan/graph.h"

#define AT_START UINT32_MAX /* as `born`: before the first operation */

struct value {
    uint32_t tensor, version;
    uint32_t born;                 /* the operation that leaves it; AT_START */
    uint32_t overwritten;          /* the operation that writes the tensor next; op_count: none does */
    uint32_t first_use, use_count; /* the graph's uses that read it */
    uint32_t needed; /* the last operation that reads it, op_count where it carries over; 0 and !is_needed: nothing */
    uint32_t useful; /* likewise, or the last one that reads what a replay makes of it, over any number of replays */
    bool is_needed, is_useful;
    bool replayable; /* its producer may run again, for this */
};

struct values {
    const struct spw_graph *graph;
    uint64_t smallest_bytes;
    uint32_t *first; /* for each tensor: the value of its version 0 */
    struct value *list;
    uint32_t count;
    bool *replayable; /* for each operation */
};

/* Values of tensors below `smallest_bytes` are never of use: they count as being there always, and take no room. */
void values_init(struct values *values, const struct spw_graph *graph, uint64_t smallest_bytes, bool may_replay);
void values_finish(struct values *values);
/* NULL where it is too small. */
const struct value *values_of(const struct values *values, uint32_t tensor, uint32_t version);
#endif
