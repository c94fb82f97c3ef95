/* derive.h - finds the choices (plan/choice.h) that come closest to a schedule. */
#ifndef SPILLWAY_PLANNER_DERIVE_H
#define SPILLWAY_PLANNER_DERIVE_H
#include "search/compose.h"
#include "plan/graph.h"
#include "plan/schedule.h"

/* Sets all choices. Returns 0 or -ENOMEM. */
int spw_derive_choices(const struct spw_graph *graph, const struct spw_schedule *schedule, uint8_t *choices);
#endif
