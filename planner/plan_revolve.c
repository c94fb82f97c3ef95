/* plan_revolve.c - the planner `revolve`: checkpoints stay on the device, the rest is run again.
 *
 * Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000). Guaranteed, for a chain of equal steps and states: the
 * fewest steps run again with so many slots. A graph is brought into that form by uniform.h; for it nothing is guaranteed
 * but that the schedule is valid, copies nothing, and that persistent tensors stay where they are. */
#include <errno.h>

#include "revolve.h"
#include "uniform.h"

static int reverse(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us)
{
    *ret_wait_us = 0;
    return uniform->slots > 0 ? spw_revolve_append(ret_reversal, 0, uniform->steps, uniform->slots) : -ENOSPC;
}

int spw_plan_revolve(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    return request->may_replay ? spw_plan_uniform(request, reverse, false, schedule) : -ENOTSUP;
}
