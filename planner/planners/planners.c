/* planners.c - holds the table of planners, times each result and compares it with the bounds. */
#include "planners/planners.h"

#include <errno.h>
#include <string.h>

#include "bounds/bounds.h"
#include "chains/planners.h"
#include "demand/planners.h"
#include "stages/planners.h"

const struct spw_planner spw_planners[] = {
    {.name = "auto",
     .source = "Lagrangian cover, then threshold accepting against the time line",
     .guarantees = "valid whenever it is stopped; no optimum",
     .copies = true,
     .replays = true,
     .searches = true,
     .make = spw_plan_auto},
    {.name = "revolve",
     .source = "Griewank and Walther, Algorithm 799: Revolve, 2000; joins: Beaumont et al., Phil. Trans. A 378, 2020",
     .guarantees = "the fewest steps run again, for equal steps and states",
     .replays = true,
     .make = spw_plan_revolve},
    {.name = "hrevolve",
     .source = "Herrmann and Pallez, H-Revolve, 2020",
     .guarantees = "the least time, for equal steps and states, and copies that hold up the computation",
     .copies = true,
     .replays = true,
     .make = spw_plan_hrevolve},
    {.name = "async-revolve",
     .source = "Kukreja, Hueckelheim and Gorman, arXiv 1806.01117, 2018",
     .guarantees = "storing delays nothing, for equal steps and states",
     .copies = true,
     .replays = true,
     .make = spw_plan_async_revolve},
    {.name = "capuchin",
     .source = "Peng et al., Capuchin, ASPLOS 2020, sections 4 and 5",
     .guarantees = "no more than a valid schedule",
     .copies = true,
     .replays = true,
     .most_ops = 20000,
     .make = spw_plan_capuchin},
    {.name = "delta",
     .source = "Tang et al., DELTA, arXiv 2203.15980, filter and director (in part reconstructed)",
     .guarantees = "a schedule wherever each operation alone fits, if the host has room",
     .copies = true,
     .replays = true,
     .make = spw_plan_delta},
    {.name = "dtr",
     .source = "Kirisame et al., Dynamic Tensor Rematerialization, ICLR 2021, section 2",
     .guarantees = "O(n) operations for a chain of n equal layers in memory for sqrt(n) of them",
     .replays = true,
     .make = spw_plan_dtr},
    {.name = "lru",
     .source = "Mattson et al., Evaluation techniques for storage hierarchies, IBM Systems Journal 9 (1970)",
     .guarantees = "a schedule wherever each operation alone fits, if the host has room",
     .copies = true,
     .make = spw_plan_lru},
    {.name = "none",
     .source = "no memory is saved",
     .guarantees = "the shortest time, where everything fits",
     .make = spw_plan_none},
    {.name = "offload",
     .source = "Beaumont, Eyraud-Dubois, Shilova, Euro-Par 2020",
     .guarantees = "the best of a fluid, a greedy and a dynamic choice of whole tensors; no optimum",
     .copies = true,
     .make = spw_plan_offload},
    {.name = "pofo",
     .source = "Beaumont, Eyraud-Dubois, Shilova, NeurIPS 2021, section 4",
     .guarantees = "no slower than rotor",
     .copies = true,
     .replays = true,
     .most_ops = 500,
     .make = spw_plan_pofo},
    {.name = "rotor",
     .source = "Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, TOMS (2024), section 4",
     .guarantees = "on a chain, the fastest recomputation in which what is stored stays until its backward",
     .replays = true,
     .make = spw_plan_rotor},
    {0},
};

const struct spw_planner *spw_planner_find(const char *name)
{
    for (const struct spw_planner *p = spw_planners; p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

/* Finds the bound of all schedules that the request allows, not only of the planner's kind. */
static int find_bound(const struct spw_plan_request *request, struct spw_bounds *ret_bounds)
{
    const struct spw_bounds_terms terms = {request->machine.duplex, request->bound_limit_s, request->now_s,
                                           request->now_context};
    return spw_bounds_within(request->graph, request->device_bytes, request->may_copy, request->may_replay, &terms,
                             ret_bounds);
}

static void set_bound(struct spw_plan *plan, const struct spw_bounds *bounds)
{
    plan->lower_bound_us = bounds->best_us;
    plan->bound = bounds->best;
}

/* Makes a plan without a bound. */
static int make_and_time(const struct spw_planner *planner, const struct spw_plan_request *request,
                         struct spw_plan *ret_plan)
{
    struct spw_plan plan = {.planner = planner};
    struct spw_plan_request timed = *request; /* every timing of a schedule waits for host memory */
    timed.machine.host_bytes = request->host_bytes;
    int r = spw_schedule_init(&plan.schedule, request->graph);
    if (r == 0)
        r = planner->make(&timed, &plan.schedule);
    if (r == 0)
        r = spw_timeline(request->graph, &plan.schedule, &timed.machine, request->device_bytes, NULL, &plan.timing, NULL);
    if (r < 0)
        spw_schedule_finish(&plan.schedule);
    else
        *ret_plan = plan;
    return r;
}

int spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan)
{
    struct spw_plan_request bounded = *request;
    struct spw_bounds bounds;
    int r = find_bound(request, &bounds);
    if (r < 0)
        return r;
    bounded.bound_us = bounds.best_us; /* so that a search need not compute it again */
    r = make_and_time(planner, &bounded, ret_plan);
    if (r == 0)
        set_bound(ret_plan, &bounds);
    return r;
}

void spw_plan_finish(struct spw_plan *plan)
{
    spw_schedule_finish(&plan->schedule);
}

/* Bisects between the most that an operation needs and the peak. Planners are not monotone to the last byte, so the
 * result is a budget that suffices, and every smaller one that was tried did not. */
int spw_plan_smallest(const struct spw_planner *planner, const struct spw_plan_request *request, uint64_t *ret_bytes,
                      struct spw_plan *ret_plan)
{
    const struct spw_graph *graph = request->graph;
    struct spw_plan_request tried = *request;
    struct spw_plan best, plan;
    uint64_t low = graph->least_bytes, high = graph->peak_bytes > low ? graph->peak_bytes : low;
    const uint64_t close = graph->peak_bytes / 1000;
    tried.device_bytes = high;
    int r = make_and_time(planner, &tried, &best);
    if (r < 0)
        return r;
    for (tried.device_bytes = low; high - low > close || tried.device_bytes == low;) {
        r = make_and_time(planner, &tried, &plan);
        if (r == -ENOMEM) {
            spw_plan_finish(&best);
            return r;
        }
        if (r == 0) {
            spw_plan_finish(&best);
            best = plan;
            high = tried.device_bytes;
        } else {
            low = tried.device_bytes + 1;
        }
        if (high <= low)
            break;
        tried.device_bytes = low + (high - low) / 2;
    }
    tried.device_bytes = high;
    struct spw_bounds bounds;
    r = ret_plan ? find_bound(&tried, &bounds) : 0;
    if (r == 0 && ret_plan)
        set_bound(&best, &bounds);
    if (r < 0 || !ret_plan)
        spw_plan_finish(&best);
    else
        *ret_plan = best;
    if (r == 0)
        *ret_bytes = high;
    return r;
}
