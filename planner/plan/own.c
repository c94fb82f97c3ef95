/* own.c - computes sums and shares of a budget. */
#include "plan/own.h"

uint64_t spw_stash_bytes(uint64_t budget_bytes, uint64_t granule_bytes)
{
    const uint64_t share = budget_bytes / 64, bytes = share < SPW_STASH_MAX_BYTES ? share : SPW_STASH_MAX_BYTES;
    return bytes < granule_bytes ? granule_bytes : bytes / granule_bytes * granule_bytes;
}

static uint64_t taken(const struct spw_own *own, uint64_t budget_bytes, bool may_replay)
{
    if (!own->granule_bytes)
        return 0;
    return own->slab_bytes + (may_replay ? spw_stash_bytes(budget_bytes, own->granule_bytes) + own->workspace_bytes : 0);
}

uint64_t spw_own_rest(const struct spw_own *own, uint64_t budget_bytes, bool may_replay)
{
    const uint64_t bytes = taken(own, budget_bytes, may_replay);
    return budget_bytes > bytes ? budget_bytes - bytes : 0;
}

/* The stash grows in steps, so the loop ends where a larger budget needs no larger stash. */
uint64_t spw_own_budget_for(const struct spw_own *own, uint64_t rest_bytes, bool may_replay)
{
    uint64_t budget_bytes = rest_bytes + taken(own, rest_bytes, may_replay);
    while (spw_own_rest(own, budget_bytes, may_replay) < rest_bytes)
        budget_bytes = rest_bytes + taken(own, budget_bytes, may_replay);
    return budget_bytes;
}

/* Where little is lacking, the plan still gets most of the reserve. */
uint64_t spw_own_to_plan_with(const struct spw_graph *graph, uint64_t rest_bytes, double reserve)
{
    const uint64_t usual = (uint64_t)((double)rest_bytes * reserve);
    const uint64_t lacking = graph->peak_bytes > rest_bytes ? graph->peak_bytes - rest_bytes : 0;
    return rest_bytes - (lacking / 2 < usual ? lacking / 2 : usual);
}
