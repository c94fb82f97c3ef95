/* offload_chain.c - the default planner against the exact optima of small graphs: how far it is from them. */
#include "vectors.h"

#include <errno.h>

#include "plan/check.h"
#include "planners/planners.h"

/* How much more time than the optimum takes is accepted: on the mean over all instances, and of any one. */
#define MEAN_EXCESS  0.01
#define WORST_EXCESS 0.08

/* How good plans are is no matter of sanitizers, which see the same code with one instance in so many. */
#ifdef __SANITIZE_ADDRESS__
#define ONE_IN 4
#else
#define ONE_IN 1
#endif

struct mode {
    const char *name;
    bool may_copy, may_replay;
};

static struct spw_plan_request request_for(const struct spw_graph *graph, json_t *instance, const struct mode *mode)
{
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = (uint64_t)vectors_integer(instance, "mem_limit"),
                                     .host_bytes = UINT64_MAX,
                                     .may_copy = mode->may_copy,
                                     .may_replay = mode->may_replay,
                                     .machine = {.duplex = 1}};
}

/* The end of the last recorded operation; the test fails unless the plan is valid under model S. */
static double time_of(const struct spw_plan_request *request, const struct spw_plan *plan, const char *id)
{
    const struct spw_schedule *schedule = &plan->schedule;
    const struct spw_check_rules rules = {.device_bytes = request->device_bytes,
                                          .host_bytes = UINT64_MAX,
                                          .may_replay = request->may_replay,
                                          .may_copy = request->may_copy,
                                          .model_s = true};
    struct spw_timed_step *events = malloc((schedule->count + 1) * sizeof *events);
    double *start_us = malloc((schedule->count + 1) * sizeof *start_us);
    struct spw_timing timing;
    struct spw_check check;
    assert_non_null(events);
    assert_non_null(start_us);
    assert_int_equal(
        spw_timeline(request->graph, schedule, &request->machine, request->device_bytes, start_us, &timing, NULL), 0);
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, start_us[i]};
    assert_int_equal(spw_check_events(request->graph, schedule->start, events, schedule->count, &rules, &check), 0);
    if (check.fault != SPW_FAULT_NONE)
        fail_msg("%s: event %zu: %s", id, check.event, check.message);
    free(start_us);
    free(events);
    return check.time_us;
}

/* By how much the plan for an instance is above the optimum, as a share of it; < 0: there is no schedule, and no plan. */
static double excess_of(json_t *instance, const struct mode *mode)
{
    const char *id = json_string_value(json_object_get(instance, "id"));
    json_t *result = json_object_get(json_object_get(instance, "results"), mode->name);
    struct spw_graph *graph = vectors_graph(instance);
    const struct spw_plan_request request = request_for(graph, instance, mode);
    struct spw_plan plan;
    double excess = -1;
    const int r = spw_plan_make(spw_planner_find("auto"), &request, &plan);
    if ((r != 0) == json_is_object(result) || (r != 0 && r != -ENOSPC))
        fail_msg("%s: the planner answers %d", id, r);
    if (r == 0) {
        const double optimum = vectors_number(result, "optimum"), us = time_of(&request, &plan, id);
        excess = us / optimum - 1;
        if (excess < -1e-9 || excess > WORST_EXCESS)
            fail_msg("%s: takes %g, the optimum is %g", id, us, optimum);
        spw_plan_finish(&plan);
    }
    spw_graph_destroy(graph);
    return excess;
}

static void hold_against_optima(const struct mode *mode)
{
    json_t *vectors = vectors_load("offload_chain.json"), *instance;
    size_t index, planned = 0;
    double sum = 0, worst = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        const double excess = index % ONE_IN == 0 ? excess_of(instance, mode) : -1;
        if (excess < 0)
            continue;
        planned++;
        sum += excess;
        worst = excess > worst ? excess : worst;
    }
    assert_true(planned > 0);
    print_message("%s: %zu plans, above the optimum by %.3f %% on the mean, %.2f %% at worst\n", mode->name, planned,
                  100 * sum / (double)planned, 100 * worst);
    assert_true(sum / (double)planned <= MEAN_EXCESS);
    json_decref(vectors);
}

void the_default_planner_comes_close_to_the_optimum_by_copies(void **state)
{
    hold_against_optima(&(struct mode){"offload", true, false});
}

void the_default_planner_comes_close_to_the_optimum_by_replays(void **state)
{
    hold_against_optima(&(struct mode){"recompute", false, true});
}

void the_default_planner_comes_close_to_the_optimum_by_both(void **state)
{
    hold_against_optima(&(struct mode){"both", true, true});
}
