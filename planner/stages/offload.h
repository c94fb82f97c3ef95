/* offload.h - which tensors leave the device between two of their uses: candidates, a fluid relaxation, and greedy choice.
 *
 * Beaumont, Eyraud-Dubois, Shilova, "Optimal GPU-CPU offloading strategies for deep neural network training", Euro-Par 2020.
 * On a chain what is made first is needed last, so what leaves first should be what was made first. The fluid relaxation
 * lets memory be freed and filled byte by byte; it is a lower bound for schedules without replays. */
#ifndef SPILLWAY_PLANNER_OFFLOAD_H
#define SPILLWAY_PLANNER_OFFLOAD_H
#include <stdbool.h>
#include <stdint.h>

#include "plan/graph.h"
#include "stages/fluid.h"

/* A tensor that could be on the host while the operations from .. to - 1 run; where it wraps, while those before `to` and
 * those from `from` on do: a persistent tensor that begins and ends there. */
struct spw_leave {
    uint32_t tensor, from, to;
    uint32_t use; /* the one behind which it leaves: index in graph->uses */
    bool wraps;
    double idle_us; /* compute time meanwhile */
};

/* One for each tensor that may leave and has a gap worth it: its longest by time. In the order in which the tensors are
 * made; persistent ones behind all others, the longest gap first. For free(). 0 or -ENOMEM. */
int spw_offload_leaves(const struct spw_graph *graph, struct spw_leave **ret_leaves, uint32_t *ret_count);

/* Takes leaves in their order, those that are absent somewhere where memory is short, until it is nowhere, and then gives
 * back, last first, what turned out not to be needed. `taken`, one for each: what is true at the start is taken before all
 * others. 0, whether it suffices or not; -ENOMEM. O((leaves + ops) log ops). */
int spw_offload_greedy(const struct spw_graph *graph, uint64_t device_bytes, const struct spw_leave *leaves, uint32_t count,
                       bool *taken);
#endif
