/* plan_hrevolve.c - the planner `hrevolve`: keeps checkpoints on the device and on the host, and runs the rest again.
 *
 * Herrmann and Pallez, "H-Revolve", ACM TOMS 46 (2020). Guaranteed, for a chain of equal steps and states, and copies
 * that hold up the computation: the least time with that many slots. The schedule's copies run in parallel with the
 * computation, so it is faster than that, but not the best of its kind. Persistent tensors stay where they are. */
#include <errno.h>

#include "chains/hrevolve.h"
#include "chains/planners.h"
#include "chains/uniform.h"

static int reverse(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us)
{
    const struct spw_hrevolve_level levels[] = {
        {.slots = uniform->slots},
        {.slots = uniform->host_slots < uniform->steps ? uniform->host_slots : SPW_SLOTS_UNLIMITED,
         .write = uniform->store_us,
         .read = uniform->load_us}};
    struct spw_hrevolve *tables;
    int r = spw_hrevolve_create(uniform->steps, levels, 2, uniform->forward_us, uniform->backward_us, &tables);
    if (r < 0)
        return r;
    r = spw_hrevolve_append(tables, uniform->steps, ret_reversal);
    spw_hrevolve_destroy(tables);
    *ret_wait_us = 0;
    for (size_t i = 0; i < ret_reversal->count; i++) {
        const struct spw_reversal_action *action = &ret_reversal->actions[i];
        if (action->level == 1 && action->kind != SPW_ACTION_DISCARD)
            *ret_wait_us += action->kind == SPW_ACTION_STORE ? uniform->store_us : uniform->load_us;
    }
    return r;
}

int spw_plan_hrevolve(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    const enum spw_uniform_means means = request->may_copy ? SPW_UNIFORM_COPIES : SPW_UNIFORM_CHAINS;
    return request->may_replay ? spw_plan_uniform(request, reverse, means, schedule) : -ENOTSUP;
}
