/* own.h - computes how much of its budget a run needs for itself, and how much its plans leave unused. The run plans with
 * the rest, and so does a caller that predicts a run. */
#ifndef SPILLWAY_PLANNER_OWN_H
#define SPILLWAY_PLANNER_OWN_H
#include "plan/graph.h"

#define SPW_STASH_MAX_BYTES ((uint64_t)4 << 20)

/* The share of the budget that a first plan leaves unused, for memory that is taken before it is used, or given back
 * later than possible. */
#define SPW_FIRST_RESERVE 0.03

struct spw_own {
    uint64_t granule_bytes;   /* 0: the run needs nothing for itself */
    uint64_t slab_bytes;      /* the slabs of small allocations, as far as they are not in the graph */
    uint64_t workspace_bytes; /* the workspace of replayed launches, in whole granules */
};

/* Returns the size of the stash, the memory in which replays find the earlier contents of small allocations: at most a
 * 64th of the budget or SPW_STASH_MAX_BYTES, in whole granules, at least one. */
uint64_t spw_stash_bytes(uint64_t budget_bytes, uint64_t granule_bytes);

/* Returns what the budget leaves for the graph's tensors. `may_replay`: the plan may replay operations. */
uint64_t spw_own_rest(const struct spw_own *own, uint64_t budget_bytes, bool may_replay);

/* Returns the smallest budget that leaves `rest_bytes`. */
uint64_t spw_own_budget_for(const struct spw_own *own, uint64_t rest_bytes, bool may_replay);

/* Returns how much of the rest a plan uses: all but the share `reserve`, or all but half of the bytes that are lacking if
 * that is less. */
uint64_t spw_own_to_plan_with(const struct spw_graph *graph, uint64_t rest_bytes, double reserve);
#endif
