/* starts.h - chooses which persistent tensors begin the iteration on the host where not all fit on the device. */
#ifndef SPILLWAY_PLANNER_STARTS_H
#define SPILLWAY_PLANNER_STARTS_H
#include "plan/plan.h"

/* Moves tensors from the device to the host in `start` (enum spw_start for each tensor), until those on the device at the
 * start fit. The tensors with the longest idle time between their last use and the next iteration's first are moved
 * first. Returns 0; -ENOSPC: they do not fit, or copies are not allowed; -ENOMEM. */
int spw_starts_choose(const struct spw_plan_request *request, uint8_t *start);
#endif
