/* plan_revolve.c - the planner `revolve`: keeps checkpoints on the device, and runs the rest again.
 *
 * Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000); where several chains meet at the loss, Beaumont,
 * Herrmann, Pallez and Shilova, Phil. Trans. R. Soc. A 378 (2020). Guaranteed, for chains of equal steps and states: the
 * fewest steps run again with that many slots. uniform.h brings a graph into that form; for the graph it is only guaranteed
 * that the schedule is valid, copies nothing, and leaves persistent tensors where they are. */
#include <errno.h>

#include "chains/join.h"
#include "chains/planners.h"
#include "chains/revolve.h"
#include "chains/uniform.h"

/* Returns the branch of a state in the actions of a join. */
static uint32_t branch_of(const struct spw_join *join, uint64_t state)
{
    uint32_t branch = join->branches - 1;
    while (spw_join_state(join, branch) > state)
        branch--;
    return branch;
}

/* Translates one action of a join to steps that lie one branch after the other. A branch's last state is present anyway,
 * since it is part of every state of the branches after it until the turn. Its first state exists from the end of the
 * branch before, where it is stored. The turn is the last step. */
static int translate(const struct spw_uniform *uniform, const struct spw_join *join,
                     const struct spw_reversal_action *action, bool swept, struct spw_reversal *ret_reversal)
{
    const uint32_t branch = branch_of(join, action->state);
    const uint64_t first = spw_join_state(join, branch);
    struct spw_reversal_action step = *action;
    step.state = action->state - branch; /* each branch has one state more than steps */
    step.to = action->to - branch;
    if (action->kind == SPW_ACTION_TURN)
        step = (struct spw_reversal_action){.kind = SPW_ACTION_REVERSE, .state = uniform->steps - 1};
    else if (action->state == first + join->steps[branch])
        return 0;
    else if (action->kind == SPW_ACTION_RESTORE && !swept)
        step.kind = SPW_ACTION_STORE;
    return spw_reversal_add(ret_reversal, &step);
}

static int reverse_join(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal)
{
    struct spw_join join = {.branches = uniform->branches, .slots = uniform->slots, .in_order = true};
    struct spw_reversal actions = {0};
    uint64_t advances;
    for (uint32_t b = 0; b < join.branches; b++)
        join.steps[b] = uniform->branch_steps[b];
    int r = spw_join_reverse(&join, &advances, &actions);
    bool swept = false;
    for (size_t i = 0; i < actions.count && r == 0; i++) {
        r = translate(uniform, &join, &actions.actions[i], swept, ret_reversal);
        swept = swept || actions.actions[i].kind == SPW_ACTION_TURN;
    }
    spw_reversal_finish(&actions);
    return r == -E2BIG ? -ENOSPC : r;
}

static int reverse(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us)
{
    *ret_wait_us = 0;
    if (uniform->branches > 1)
        return reverse_join(uniform, ret_reversal);
    return uniform->slots > 0 ? spw_revolve_append(ret_reversal, 0, uniform->steps, uniform->slots) : -ENOSPC;
}

int spw_plan_revolve(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    return request->may_replay ? spw_plan_uniform(request, reverse, SPW_UNIFORM_JOINS, schedule) : -ENOTSUP;
}
