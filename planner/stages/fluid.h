/* fluid.h - a bound for schedules that only copy: tensors leave and return byte by byte (offload.h). */
#ifndef SPILLWAY_PLANNER_FLUID_H
#define SPILLWAY_PLANNER_FLUID_H
#include <stdint.h>

#include "plan/graph.h"

struct spw_fluid {
    double us;            /* no schedule without replays is faster; INFINITY: there is none */
    double forward_bytes; /* that have to be away at some operation before the turn; behind it */
    double backward_bytes;
};
/* For tensors that do not persist within `bytes`; persistent ones are taken to be where they do no harm. O(tensors + ops).
 * 0 or -ENOMEM. */
int spw_offload_fluid(const struct spw_graph *graph, uint64_t bytes, struct spw_fluid *ret_fluid);
#endif
