/* chain_run.h - carries out a reversal on the stages of a real chain, as steps of a schedule.
 *
 * The steps of the reversal are groups of consecutive stages: its state k is the input of the first stage of group k. To
 * advance is to run a group and keep nothing but the input of the next; to reverse is to run it and keep each stage's
 * record, then to run the backward operations of its stages. What has not been run yet is run as recorded, all else is
 * replayed, as far as it is not on the device already. */
#ifndef SPILLWAY_PLANNER_CHAIN_RUN_H
#define SPILLWAY_PLANNER_CHAIN_RUN_H
#include "stages/linear.h"
#include "plan/plan.h"
#include "chains/reversal.h"

/* Level 0 of the reversal is the device, level 1 the host. `groups`: the first stage of each group, and behind the last one
 * the number of stages. Fills the schedule, whatever was in it. 0; -ENOSPC: it does not fit; -EINVAL: what an operation
 * reads can't be made again in its stage; -ENOMEM. */
int spw_chain_run(const struct spw_chain *chain, const uint32_t *groups, const struct spw_reversal *reversal,
                  const struct spw_plan_request *request, struct spw_schedule *schedule);
#endif
