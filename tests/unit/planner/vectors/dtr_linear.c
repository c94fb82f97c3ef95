/* dtr_linear.c - the planner `dtr` executes as many operations as its authors' simulator does, on uniform chains. */
#include "vectors.h"

#include "demand/dtr.h"

/* n operations forward, each of which reads what the one before made; n backward: the first reads nothing, each other one
 * the gradient before and the forward value before its own. */
static struct spw_graph *make_chain(uint32_t n)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    for (uint32_t i = 0; i < 2 * n; i++) { /* tensor i is what operation i makes */
        const bool is_read = i != n - 1 && i != 2 * n - 1;
        const struct spw_graph_tensor tensor = {.id = i,
                                                .bytes = 1,
                                                .d2h_us = -1,
                                                .h2d_us = -1,
                                                .alloc_before = i,
                                                .free_after = !is_read ? i
                                                              : i < n  ? 2 * n - 2 - i
                                                                       : i + 1,
                                                .evictable = true};
        const struct spw_graph_op op = {.us = 1, .replayable = true};
        uint32_t reads[2], count = 0;
        if (i > n || (i > 0 && i < n))
            reads[count++] = i - 1;
        if (i > n && i + 1 < 2 * n)
            reads[count++] = 2 * n - 2 - i;
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
        assert_int_equal(spw_graph_add_op(graph, &op, reads, count, &i, 1), 0);
    }
    struct spw_graph_problem problem;
    if (spw_graph_finish(graph, &problem) < 0)
        fail_msg("%s: %s", problem.path, problem.expected);
    return graph;
}

/* Not one operation more or less: ties are broken as the simulator breaks them. */
static void compare(json_t *wanted, const struct spw_graph *graph, uint64_t budget, enum spw_dtr_cost cost)
{
    const struct spw_plan_request request = {
        .graph = graph, .device_bytes = budget, .host_bytes = UINT64_MAX, .may_replay = true, .machine.duplex = 1};
    struct spw_schedule schedule;
    int64_t executed = 0;
    if (json_is_null(wanted))
        return;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_plan_dtr_by(&request, cost, &schedule), 0);
    for (size_t i = 0; i < schedule.count; i++)
        executed += schedule.steps[i].kind == SPW_STEP_OP || schedule.steps[i].kind == SPW_STEP_REPLAY;
    assert_int_equal(executed, json_integer_value(wanted));
    spw_schedule_finish(&schedule);
}

void dtr_replays_on_chains_as_often_as_its_authors_do(void **state)
{
    json_t *vectors = vectors_load("dtr_linear.json"), *line;
    size_t index;
    json_array_foreach(json_object_get(vectors, "cases"), index, line)
    {
        struct spw_graph *graph = make_chain((uint32_t)vectors_integer(line, "n"));
        const uint64_t budget = (uint64_t)vectors_integer(line, "budget");
        compare(json_object_get(line, "h_dtr_neighborhood"), graph, budget, SPW_DTR_EXACT);
        compare(json_object_get(line, "h_dtr_eqclass"), graph, budget, SPW_DTR_CLASSES);
        compare(json_object_get(line, "h_dtr_local"), graph, budget, SPW_DTR_LOCAL);
        spw_graph_destroy(graph);
    }
    assert_true(index > 0);
    json_decref(vectors);
}
