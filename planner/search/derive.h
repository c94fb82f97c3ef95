/* derive.h - the choices (plan/choice.h) that a schedule amounts to, as near as choices can say it. */
#ifndef SPILLWAY_PLANNER_DERIVE_H
#define SPILLWAY_PLANNER_DERIVE_H
#include "search/compose.h"
#include "plan/graph.h"
#include "plan/schedule.h"

/* Fills in all choices. 0 or -ENOMEM. */
int spw_derive_choices(const struct spw_graph *graph, const struct spw_schedule *schedule, uint8_t *choices);
#endif
