/* chain_run.h - executes a reversal on the stages of a real chain, as steps of a schedule.
 *
 * The steps of the reversal are groups of consecutive stages: state k is the input of the first stage of group k. To
 * advance is to run a group and keep only the input of the next one. To reverse is to run it and keep each stage's
 * record, then to run the backward operations of its stages. An operation that has not run yet runs as recorded; all
 * others are replayed, as far as their products are not on the device. */
#ifndef SPILLWAY_PLANNER_CHAIN_RUN_H
#define SPILLWAY_PLANNER_CHAIN_RUN_H
#include "stages/linear.h"
#include "plan/plan.h"
#include "chains/reversal.h"

/* Executes the reversal. Its level 0 is the device, level 1 the host. `groups`: the first stage of each group, and after
 * the last one the number of stages. Replaces the contents of the schedule. Returns 0; -ENOSPC: it does not fit; -EINVAL:
 * an input of an operation cannot be made again in its stage; -ENOMEM. */
int spw_chain_run(const struct spw_chain *chain, const uint32_t *groups, const struct spw_reversal *reversal,
                  const struct spw_plan_request *request, struct spw_schedule *schedule);
#endif
