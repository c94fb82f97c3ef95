/* starts.h - which persistent tensors begin the iteration on the host, where not all of them fit on the device. */
#ifndef SPILLWAY_PLANNER_STARTS_H
#define SPILLWAY_PLANNER_STARTS_H
#include "plan/plan.h"

/* Moves tensors that `start` (enum spw_start for each tensor) has on the device to the host, those that are idle for longest
 * between their last use and the next iteration's first before others, until what is on the device at the start fits. 0;
 * -ENOSPC: it does not, or copies are not allowed; -ENOMEM. */
int spw_starts_choose(const struct spw_plan_request *request, uint8_t *start);
#endif
