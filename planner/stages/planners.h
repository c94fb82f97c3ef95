/* planners.h - declares the planners that view the graph as a chain of stages or move whole tensors along it, one file
 * each. */
#ifndef SPILLWAY_PLANNER_STAGES_PLANNERS_H
#define SPILLWAY_PLANNER_STAGES_PLANNERS_H
#include "plan/plan.h"

spw_planner_function spw_plan_offload, spw_plan_pofo, spw_plan_rotor;
#endif
