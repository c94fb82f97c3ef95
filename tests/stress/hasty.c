/* hasty.c - the library with searches for plans that end early, for programs that are to be followed by the thousand: what
 * they find is no less right, only slower. */
#include "bounds/bounds.h"
#include "planners/planners.h"

#define LIMIT_S 0.01

int __real_spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request,
                         struct spw_plan *ret_plan);
int __wrap_spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request,
                         struct spw_plan *ret_plan);
int __real_spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                             const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds);
int __wrap_spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                             const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds);

static double at_most(double limit_s)
{
    return limit_s > 0 && limit_s < LIMIT_S ? limit_s : LIMIT_S;
}

int __wrap_spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request,
                         struct spw_plan *ret_plan)
{
    struct spw_plan_request hasty = *request;
    hasty.time_limit_s = at_most(request->time_limit_s);
    hasty.bound_limit_s = at_most(request->bound_limit_s);
    return __real_spw_plan_make(planner, &hasty, ret_plan);
}

int __wrap_spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                             const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds)
{
    struct spw_bounds_terms hasty = *terms;
    hasty.limit_s = at_most(terms->limit_s);
    return __real_spw_bounds_within(graph, device_bytes, may_copy, may_replay, &hasty, ret_bounds);
}
