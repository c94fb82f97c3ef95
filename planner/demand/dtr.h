/* dtr.h - declares the variants of dynamic tensor rematerialization, for tests; the planner `dtr` takes the best of them. */
#ifndef SPILLWAY_PLANNER_DTR_H
#define SPILLWAY_PLANNER_DTR_H
#include "plan/plan.h"

enum spw_dtr_cost {
    SPW_DTR_EXACT,   /* the evicted neighbourhood */
    SPW_DTR_CLASSES, /* classes of evicted neighbours, by union-find */
    SPW_DTR_LOCAL,   /* the tensor alone */
};

/* Returns as spw_planner_function does. */
int spw_plan_dtr_by(const struct spw_plan_request *request, enum spw_dtr_cost cost, struct spw_schedule *schedule);
#endif
