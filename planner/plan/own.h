/* own.h - what a run within a budget takes of it for itself, and what its plans leave alone besides. The run plans with what
 * is left, and so does whoever foretells it. */
#ifndef SPILLWAY_PLANNER_OWN_H
#define SPILLWAY_PLANNER_OWN_H
#include "plan/graph.h"

#define SPW_STASH_MAX_BYTES ((uint64_t)4 << 20)

/* The share that a first plan leaves alone: for memory that is taken before it is used, and given back a little later than
 * it could be. */
#define SPW_FIRST_RESERVE 0.03

struct spw_own {
    uint64_t granule_bytes;   /* 0: the run takes nothing */
    uint64_t slab_bytes;      /* what small allocations take, as far as the graph does not have it */
    uint64_t workspace_bytes; /* whole granules: for launches that are run again and have one */
};

/* How large the stash is, the memory for what small allocations held at another time: a 64th of the budget at most, in whole
 * granules. */
uint64_t spw_stash_bytes(uint64_t budget_bytes, uint64_t granule_bytes);

/* What is left of the budget for the graph's tensors; `may_replay`: in a plan that may run operations again. */
uint64_t spw_own_rest(const struct spw_own *own, uint64_t budget_bytes, bool may_replay);

/* The smallest budget of which so many bytes are left. */
uint64_t spw_own_budget_for(const struct spw_own *own, uint64_t rest_bytes, bool may_replay);

/* What a plan for the rest uses of it: all but the share `reserve`, or less where little is lacking. */
uint64_t spw_own_to_plan_with(const struct spw_graph *graph, uint64_t rest_bytes, double reserve);
#endif
