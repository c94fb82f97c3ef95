/* offload.c - offloading alone on the instances of offload_chain.json: the relaxation is a bound, the planner comes near the
 * optimum. */
#include <errno.h>
#include <math.h>

#include "stages/offload.h"
#include "plan/plan.h"
#include "stages/planners.h"
#include "vectors.h"

/* Calls `look` for each instance that has an optimum without replays. */
static void for_each_optimum(void (*look)(const struct spw_graph *graph, uint64_t bytes, double optimum, const char *id))
{
    json_t *vectors = vectors_load("offload_chain.json"), *instance;
    size_t index, looked = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        json_t *result = json_object_get(json_object_get(instance, "results"), "offload");
        if (!json_is_object(result))
            continue;
        struct spw_graph *graph = vectors_graph(instance);
        look(graph, (uint64_t)vectors_integer(instance, "mem_limit"), vectors_number(result, "optimum"),
             json_string_value(json_object_get(instance, "id")));
        spw_graph_destroy(graph);
        looked++;
    }
    assert_true(looked > 0);
    json_decref(vectors);
}

static void compare_fluid(const struct spw_graph *graph, uint64_t bytes, double optimum, const char *id)
{
    struct spw_fluid fluid;
    assert_int_equal(spw_offload_fluid(graph, bytes, &fluid), 0);
    if (fluid.us > optimum * (1 + 1e-12))
        fail_msg("%s: the relaxation says %g, the optimum is %g", id, fluid.us, optimum);
    assert_true(fluid.us >= graph->compute_us * (1 - 1e-12));
}

void the_fluid_relaxation_is_a_bound_for_offloading(void **state)
{
    for_each_optimum(compare_fluid);
}

static struct {
    uint32_t count, missed, exact;
    double sum, worst;
} gaps;

static void compare_plan(const struct spw_graph *graph, uint64_t bytes, double optimum, const char *id)
{
    const struct spw_plan_request request = {
        .graph = graph, .device_bytes = bytes, .host_bytes = UINT64_MAX, .may_copy = true, .may_replay = true};
    struct spw_schedule schedule;
    struct spw_timing timing;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    const int r = spw_plan_offload(&request, &schedule);
    gaps.count++;
    if (r == 0) {
        assert_int_equal(spw_timeline(graph, &schedule, NULL, bytes, NULL, &timing, NULL), 0);
        if (timing.ops_us < optimum * (1 - 1e-12))
            fail_msg("%s: %g is less than the optimum, %g", id, timing.ops_us, optimum);
        assert_int_equal(timing.replays, 0);
        const double gap = timing.ops_us / optimum - 1;
        gaps.exact += gap < 1e-9;
        gaps.sum += gap;
        gaps.worst = gap > gaps.worst ? gap : gaps.worst;
    } else {
        assert_int_equal(r, -ENOSPC);
        gaps.missed++;
    }
    spw_schedule_finish(&schedule);
}

/* Whole tensors, a third of memory each: on average within so much of the optimum. */
void offload_comes_near_the_optimum(void **state)
{
    for_each_optimum(compare_plan);
    if (gaps.missed > 0 || gaps.sum / gaps.count > 0.01 || gaps.worst > 0.1)
        fail_msg("%u of %u not planned, %u optimal, %.1f %% above the optimum on average, %.1f %% at worst", gaps.missed,
                 gaps.count, gaps.exact, 100 * gaps.sum / gaps.count, 100 * gaps.worst);
}
