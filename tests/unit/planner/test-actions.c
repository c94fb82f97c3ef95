/* test-actions.c - a schedule tied to operations is the same schedule, only that what can go earlier does. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/actions.h"
#include "plan/check.h"
#include "graphs.h"
#include "checked-plan.h"
#include "random-graph.h"

/* Names the actions with the operation that they come before: "d2h0<1" is a copy out of tensor 0 before operation 1. */
static void expect(const struct spw_actions *actions, const char *expected)
{
    char text[512] = "";
    size_t used = 0;
    for (uint32_t op = 0; op <= actions->op_count; op++)
        for (uint32_t i = actions->first[op]; i < actions->first[op + 1]; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%u<%u", used ? " " : "",
                                     spw_step_name(actions->list[i].kind), actions->list[i].id, op);
    assert_string_equal(text, expected);
}

/* Tensor 0 is made, read twice and once more at the end; 1 and 2 come between. */
static struct spw_graph *three(void)
{
    struct spw_graph *graph = graphs_new();
    for (int i = 0; i < 3; i++)
        graphs_tensor(graph, 10);
    graphs_op(graph, 5, NOTHING, LIST(0));
    graphs_op(graph, 5, LIST(0), LIST(1));
    graphs_op(graph, 5, LIST(0, 1), LIST(2));
    graphs_op(graph, 5, LIST(2), NOTHING);
    graphs_op(graph, 5, LIST(0), NOTHING);
    graphs_finish(graph);
    return graph;
}

static struct spw_schedule schedule_of(const struct spw_graph *graph, const struct spw_step *steps, size_t count)
{
    struct spw_schedule schedule;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(spw_schedule_add(&schedule, steps[i].kind, steps[i].id), 0);
    return schedule;
}

static const struct spw_step late[] = {{SPW_STEP_OP, 0},  {SPW_STEP_OP, 1},   {SPW_STEP_OP, 2},   {SPW_STEP_D2H, 0},
                                       {SPW_STEP_OP, 3},  {SPW_STEP_DROP, 1}, {SPW_STEP_DROP, 0}, {SPW_STEP_DROP, 2},
                                       {SPW_STEP_H2D, 0}, {SPW_STEP_OP, 4},   {SPW_STEP_DROP, 0}};
enum { LATE = sizeof late / sizeof *late };

static void copies_out_and_drops_come_as_early_as_they_may(void **state)
{
    struct spw_graph *graph = three();
    struct spw_schedule schedule = schedule_of(graph, late, LATE);
    struct spw_actions actions;
    assert_int_equal(spw_actions_of(graph, &schedule, UINT64_MAX, &actions), 0);
    expect(&actions, "d2h0<1 drop1<3 drop0<3 drop2<4 h2d0<4 drop0<5");
    spw_actions_finish(&actions);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

static void what_is_copied_alone_is_copied_behind_the_last_that_reads_it(void **state)
{
    struct spw_graph *graph = three();
    struct spw_schedule schedule = schedule_of(graph, late, LATE);
    struct spw_actions actions;
    graph->tensors[0].copied_alone = true;
    assert_int_equal(spw_actions_of(graph, &schedule, UINT64_MAX, &actions), 0);
    expect(&actions, "drop1<3 d2h0<3 drop0<3 drop2<4 h2d0<4 drop0<5");
    spw_actions_finish(&actions);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

static void copies_out_wait_where_the_host_has_no_room_earlier(void **state)
{
    struct spw_graph *graph = graphs_new();
    graphs_tensor(graph, 10);
    graphs_tensor(graph, 10);
    graphs_op(graph, 5, NOTHING, LIST(0));
    graphs_op(graph, 5, LIST(0), LIST(1));
    graphs_op(graph, 5, LIST(0), NOTHING);
    graphs_op(graph, 5, LIST(1), NOTHING);
    graphs_finish(graph);
    const struct spw_step steps[] = {{SPW_STEP_OP, 0},  {SPW_STEP_D2H, 0},  {SPW_STEP_OP, 1}, {SPW_STEP_OP, 2},
                                     {SPW_STEP_D2H, 1}, {SPW_STEP_DROP, 0}, {SPW_STEP_OP, 3}, {SPW_STEP_DROP, 1}};
    struct spw_schedule schedule = schedule_of(graph, steps, sizeof steps / sizeof *steps);
    struct spw_actions actions;
    assert_int_equal(spw_actions_of(graph, &schedule, 20, &actions), 0);
    expect(&actions, "d2h0<1 d2h1<2 drop0<3 drop1<4");
    spw_actions_finish(&actions);
    assert_int_equal(spw_actions_of(graph, &schedule, 10, &actions), 0);
    expect(&actions, "d2h0<1 drop0<3 d2h1<3 drop1<4");
    spw_actions_finish(&actions);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

static void a_schedule_that_is_not_valid_is_refused(void **state)
{
    struct spw_graph *graph = three();
    for (size_t left_out = 0; left_out < LATE - 1; left_out++) {
        struct spw_step steps[LATE];
        size_t count = 0;
        if (late[left_out].kind == SPW_STEP_DROP && late[left_out].id)
            continue; /* what is not dropped only takes room */
        for (size_t i = 0; i < LATE; i++)
            if (i != left_out)
                steps[count++] = late[i];
        struct spw_schedule schedule = schedule_of(graph, steps, count);
        struct spw_actions actions;
        assert_int_equal(spw_actions_of(graph, &schedule, UINT64_MAX, &actions), -EINVAL);
        spw_schedule_finish(&schedule);
    }
    spw_graph_destroy(graph);
}

/* ---- random schedules ---- */

static void check_valid(const struct spw_plan_request *request, const struct spw_schedule *schedule, double time_us)
{
    struct spw_timing timing;
    struct spw_check check;
    double *starts = calloc(schedule->count + 1, sizeof *starts);
    struct spw_timed_step *events = calloc(schedule->count + 1, sizeof *events);
    assert_true(starts && events);
    assert_int_equal(spw_timeline(request->graph, schedule, NULL, request->device_bytes, starts, &timing, NULL), 0);
    assert_true(timing.time_us <= time_us * (1 + 1e-12));
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, starts[i]};
    const struct spw_check_rules rules = {
        .device_bytes = request->device_bytes, .host_bytes = request->host_bytes, .may_copy = true, .may_replay = true};
    assert_int_equal(spw_check_events(request->graph, schedule->start, events, schedule->count, &rules, &check), 0);
    if (check.fault)
        fail_msg("%s", check.message);
    free(starts);
    free(events);
}

static void count_steps(const struct spw_schedule *schedule, size_t counts[SPW_STEP_KINDS])
{
    memset(counts, 0, SPW_STEP_KINDS * sizeof *counts);
    for (size_t i = 0; i < schedule->count; i++)
        counts[schedule->steps[i].kind]++;
}

static void actions_are_as_valid_and_as_fast_as_their_schedule(void **state)
{
    static const char *const planners[] = {"lru", "offload", "revolve", "capuchin"};
    size_t tried = 0;
    for (uint64_t seed = 0; seed < 160; seed++) {
        struct spw_graph *graph = random_graph(seed);
        struct spw_plan_request request =
            planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) * (seed % 5) / 5);
        struct spw_plan plan;
        for (uint32_t i = 0; i < graph->tensor_count; i++)
            graph->tensors[i].copied_alone = seed >= 120 && (graph->tensors[i].persistent || i % 3 == 0);
        if (planned_make(planners[seed % 4], &request, &plan) == 0) {
            struct spw_actions actions;
            struct spw_schedule again;
            size_t before[SPW_STEP_KINDS], after[SPW_STEP_KINDS];
            assert_int_equal(spw_actions_of(graph, &plan.schedule, UINT64_MAX, &actions), 0);
            assert_int_equal(spw_schedule_init(&again, graph), 0);
            memcpy(again.start, actions.start, graph->tensor_count);
            assert_int_equal(spw_actions_steps(&actions, &again), 0);
            count_steps(&plan.schedule, before);
            count_steps(&again, after);
            assert_memory_equal(before, after, sizeof before);
            check_valid(&request, &again, plan.timing.time_us);
            spw_schedule_finish(&again);
            spw_actions_finish(&actions);
            spw_plan_finish(&plan);
            tried++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(tried > 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_out_and_drops_come_as_early_as_they_may),
        cmocka_unit_test(what_is_copied_alone_is_copied_behind_the_last_that_reads_it),
        cmocka_unit_test(copies_out_wait_where_the_host_has_no_room_earlier),
        cmocka_unit_test(a_schedule_that_is_not_valid_is_refused),
        cmocka_unit_test(actions_are_as_valid_and_as_fast_as_their_schedule),
    };
    return cmocka_run_group_tests_name("actions", tests, NULL, NULL);
}
