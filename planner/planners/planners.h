/* planners.h - lists the planners by name, and makes plans: times their schedules and compares them with the bounds, in
 * the same way for all. */
#ifndef SPILLWAY_PLANNER_PLANNERS_H
#define SPILLWAY_PLANNER_PLANNERS_H
#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/schedule.h"
#include "plan/timeline.h"

struct spw_planner {
    const char *name;
    const char *source;     /* the paper and section */
    const char *guarantees; /* its guarantee, in one sentence */
    bool copies, replays;   /* what its schedules contain, where allowed */
    bool searches;          /* it uses the time limit */
    uint32_t most_ops;      /* it takes long for graphs with more operations; 0: it never does */
    spw_planner_function *make;
};
extern const struct spw_planner spw_planners[]; /* `auto` first; ends with a NULL name */

struct spw_plan {
    const struct spw_planner *planner;
    struct spw_schedule schedule;
    struct spw_timing timing;
    double lower_bound_us;
    const char *bound; /* its name: "time", "persistent", "cut", "span" */
};

const struct spw_planner *spw_planner_find(const char *name); /* NULL: there is none of this name */
/* Makes a plan. Returns 0 and `ret_plan`, to be released with spw_plan_finish(); otherwise as spw_planner_function does. */
int spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan);
void spw_plan_finish(struct spw_plan *plan);
/* Finds the smallest budget at which the planner finds a schedule, by bisection to within 0.1 % of the peak. `ret_plan`,
 * if not NULL, gets the plan for that budget. Returns 0; -ENOSPC: not even at the peak; -ENOMEM. */
int spw_plan_smallest(const struct spw_planner *planner, const struct spw_plan_request *request, uint64_t *ret_bytes,
                      struct spw_plan *ret_plan);

/* The default planner. */
spw_planner_function spw_plan_auto;
#endif
