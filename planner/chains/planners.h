/* planners.h - the planners for chains of equal steps, one file each. */
#ifndef SPILLWAY_PLANNER_CHAINS_PLANNERS_H
#define SPILLWAY_PLANNER_CHAINS_PLANNERS_H
#include "plan/plan.h"

spw_planner_function spw_plan_async_revolve, spw_plan_hrevolve, spw_plan_revolve;
#endif
