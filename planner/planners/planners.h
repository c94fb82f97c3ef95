/* planners.h - planners by name. What one of them fills is timed, and measured against the bounds, here and in one way for
 * all. */
#ifndef SPILLWAY_PLANNER_PLANNERS_H
#define SPILLWAY_PLANNER_PLANNERS_H
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/timeline.h"

struct spw_planner {
    const char *name;
    const char *source;     /* paper and section */
    const char *guarantees; /* in one sentence */
    bool copies, replays;   /* what its schedules contain, where it may */
    bool searches;          /* looks at the time limit */
    uint32_t most_ops;      /* it takes long on more operations; 0: on no number of them */
    spw_planner_function *make;
};
extern const struct spw_planner spw_planners[]; /* `auto` first; ends with a name of NULL */

struct spw_plan {
    const struct spw_planner *planner;
    struct spw_schedule schedule;
    struct spw_timing timing;
    double lower_bound_us;
    const char *bound; /* which one: "time", "cut", "persistent" */
};

const struct spw_planner *spw_planner_find(const char *name); /* NULL: there is none of this name */
/* 0 and `ret_plan`, to be given back with spw_plan_finish(); otherwise as spw_planner_function. */
int spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan);
void spw_plan_finish(struct spw_plan *plan);
/* The smallest budget at which the planner finds a schedule, found by bisection to within 0.1 % of the peak (or one
 * granule); its result for that budget is in `ret_plan` if that is not NULL. 0; -ENOSPC: not even at the peak; -ENOMEM. */
int spw_plan_smallest(const struct spw_planner *planner, const struct spw_plan_request *request, uint64_t *ret_bytes,
                      struct spw_plan *ret_plan);

/* The default one. */
spw_planner_function spw_plan_auto;
#endif
