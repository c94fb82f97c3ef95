/* test-online-models.c - planners that decide on demand, on iterations of models: whatever they plan is valid, within any
 * budget that it fits in, and is there in a moment. */
#include "checked-plan.h"

#include <stdio.h>
#include <time.h>

#include "graphs.h"
#include "iteration_file.h"

static const char *const planners[] = {"lru", "dtr", "delta", "capuchin"};
enum { PLANNERS = sizeof planners / sizeof planners[0] };

static struct iteration load(const char *name)
{
    char path[4096];
    struct json_text text;
    struct json_problem problem;
    struct iteration iteration = {0};
    (void)snprintf(path, sizeof path, "%s/%s.json", GRAPHS_FOLDER, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    if (json_text_read(path, file, &text, &problem) < 0 || iteration_take(&text, &iteration, &problem) < 0)
        fail_msg("%s", problem.message);
    (void)fclose(file);
    return iteration;
}

static void sweep(const char *planner, const struct spw_graph *graph, bool may_copy, bool may_replay, bool and_smallest)
{
    struct spw_plan_request request = planned_request(graph, 0);
    request.may_copy = may_copy;
    request.may_replay = may_replay;
    bool was_planned = true;
    for (uint64_t share = 80; share >= 30; share -= 10) {
        request.device_bytes = graph->peak_bytes / 100 * share;
        const bool is = planned_is_possible(planner, &request);
        assert_true(was_planned || !is); /* what does not fit does not fit in less */
        was_planned = is;
    }
    if (!and_smallest)
        return;
    request.device_bytes = graph->peak_bytes;
    assert_int_equal(spw_plan_smallest(spw_planner_find(planner), &request, &request.device_bytes, NULL), 0);
    assert_true(planned_is_possible(planner, &request));
}

static void iterations_of_models_are_planned_within_any_budget(void **state)
{
    static const struct model {
        const char *name;
        bool in_all_ways; /* with each means forbidden, and at the smallest budget too */
    } models[] = {{"gpt2-medium-b16-s1024-flash-h200-bf16", false}, {"gpt2-small-b8-s1024-a100-40g-tf32", true},
                  {"lstm-t512-h1024-b64-v100-16g-fp32", false},     {"resnet50-b64-v100-16g-fp32", true},
                  {"resnet50-b190-v100-16g-fp32", false},           {"resnet50-b475-v100-16g-fp32", false},
                  {"resnet50-b760-v100-16g-fp32", false},           {"vgg16-b64-v100-16g-fp32", true}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct iteration iteration = load(models[i].name);
        for (size_t p = 0; p < PLANNERS; p++)
            for (unsigned means = models[i].in_all_ways ? 0 : 3; means < 4; means++)
                sweep(planners[p], iteration.graph, means & 1, means & 2, models[i].in_all_ways && means == 3);
        iteration_finish(&iteration);
    }
}

/* No schedule exists within less than an operation needs by itself, and copies get by with just that. */
static void planners_that_copy_need_no_more_than_the_largest_operation(void **state)
{
    struct iteration iteration = load("resnet50-b64-v100-16g-fp32");
    struct spw_plan_request request = planned_request(iteration.graph, iteration.graph->least_bytes);
    assert_true(planned_is_possible("lru", &request));
    assert_true(planned_is_possible("delta", &request));
    request.device_bytes--;
    assert_false(planned_is_possible("lru", &request));
    assert_false(planned_is_possible("delta", &request));
    iteration_finish(&iteration);
}

/* 45 000 operations on a link ten times too slow. A ranking that is never out of date takes capuchin 20 s. */
static void long_iterations_are_planned_in_a_moment(void **state)
{
    const struct chain_kind kind = {.layers = 15000,
                                    .activation_bytes = 1000000,
                                    .saved_bytes = 500000,
                                    .parameter_bytes = 200000,
                                    .forward_us = 100000,
                                    .backward_us = 200000,
                                    .uneven = 7};
    struct spw_graph *graph = graphs_chain(&kind);
    const struct spw_plan_request request = planned_request(graph, graph->peak_bytes / 2);
    for (size_t p = 0; p < PLANNERS; p++) {
        const clock_t begun = clock();
        struct spw_schedule schedule;
        assert_int_equal(spw_schedule_init(&schedule, graph), 0);
        assert_int_equal(spw_planner_find(planners[p])->make(&request, &schedule), 0);
        assert_true((double)(clock() - begun) / CLOCKS_PER_SEC < 10);
        spw_schedule_finish(&schedule);
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_of_models_are_planned_within_any_budget),
        cmocka_unit_test(planners_that_copy_need_no_more_than_the_largest_operation),
        cmocka_unit_test(long_iterations_are_planned_in_a_moment),
    };
    return cmocka_run_group_tests_name("online-models", tests, NULL, NULL);
}
