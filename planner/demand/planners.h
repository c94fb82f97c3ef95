/* planners.h - the planners that decide on demand, one file each. */
#ifndef SPILLWAY_PLANNER_DEMAND_PLANNERS_H
#define SPILLWAY_PLANNER_DEMAND_PLANNERS_H
#include "plan/plan.h"

spw_planner_function spw_plan_capuchin, spw_plan_delta, spw_plan_dtr, spw_plan_lru;
#endif
