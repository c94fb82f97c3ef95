/* plan_async_revolve.c - the planner `async-revolve`: copies states to the host as fast as the lane allows during the
 * computation, and reverses the intervals between them by Revolve.
 *
 * Kukreja, Hueckelheim and Gorman, "Backpropagation for long sequences: beyond memory constraints with constant overheads",
 * arXiv 1806.01117 (2018). Guaranteed, for a chain of equal steps and states: storing delays nothing. Persistent tensors
 * stay where they are. */
#include <errno.h>

#include "chains/async_revolve.h"
#include "chains/planners.h"
#include "chains/uniform.h"

static int reverse(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us)
{
    const struct spw_async_chain chain = {.steps = uniform->steps,
                                          .slots = uniform->slots,
                                          .forward = uniform->forward_us,
                                          .backward = uniform->backward_us,
                                          .store = uniform->store_us,
                                          .load = uniform->load_us};
    struct spw_async_figures figures;
    if (uniform->slots == 0 || uniform->forward_us <= 0 || spw_async_revolve(&chain, &figures) < 0)
        return -ENOSPC;
    if (figures.intervals - 1 > uniform->host_slots)
        return -ENOSPC;
    *ret_wait_us = figures.stall;
    return spw_async_revolve_append(&chain, ret_reversal);
}

int spw_plan_async_revolve(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    if (!request->may_replay || !request->may_copy)
        return -ENOTSUP;
    return spw_plan_uniform(request, reverse, SPW_UNIFORM_COPIES, schedule);
}
