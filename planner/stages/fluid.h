/* fluid.h - computes a bound for schedules that only copy: tensors leave and return byte by byte (offload.h). */
#ifndef SPILLWAY_PLANNER_FLUID_H
#define SPILLWAY_PLANNER_FLUID_H
#include <stdint.h>

#include "plan/graph.h"

struct spw_fluid {
    double us;            /* no schedule without replays is faster; INFINITY: there is none */
    double forward_bytes; /* most bytes that have to be away at an operation, before and after the turn */
    double backward_bytes;
};
/* Computes the bound for tensors that are not persistent, within `bytes`; persistent ones are assumed to do no harm.
 * O(tensors + ops). Returns 0 or -ENOMEM. */
int spw_offload_fluid(const struct spw_graph *graph, uint64_t bytes, struct spw_fluid *ret_fluid);
#endif
