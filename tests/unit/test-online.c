/* test-online.c - planners that decide on demand: whom they choose and why, and that whatever they plan is valid. */
#include "planned.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "demand/evicted.h"
#include "graphs.h"
#include "iteration_file.h"
#include "demand/lane.h"
#include "demand/starts.h"

/* How often the plan has such a step. */
static size_t count_steps(const struct spw_plan *plan, enum spw_step_kind kind, uint32_t id)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->schedule.count; i++)
        count += plan->schedule.steps[i].kind == kind && plan->schedule.steps[i].id == id;
    return count;
}

static struct spw_plan make(const char *planner, const struct spw_graph *graph, uint64_t device_bytes)
{
    const struct spw_plan_request request = planned_request(graph, device_bytes);
    struct spw_plan plan;
    assert_int_equal(planned_make(planner, &request, &plan), 0);
    return plan;
}

/* The plan is checked as it is made; that it came about is the result. */
static bool is_planned(const char *planner, const struct spw_plan_request *request)
{
    struct spw_plan plan;
    if (planned_make(planner, request, &plan) < 0)
        return false;
    spw_plan_finish(&plan);
    return true;
}

/* ---- lru ---- */

/* a was made before b, but read after it: b is copied out for c. */
static void lru_copies_out_what_was_used_longest_ago(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, 10), b = graphs_tensor(graph, 10), c = graphs_tensor(graph, 10);
    graphs_op(graph, 1, NOTHING, LIST(a));
    graphs_op(graph, 1, NOTHING, LIST(b));
    graphs_op(graph, 1, LIST(a), NOTHING);
    graphs_op(graph, 1, NOTHING, LIST(c));
    graphs_op(graph, 1, LIST(a, b), NOTHING);
    graphs_op(graph, 1, LIST(c), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("lru", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, b), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, a), 0);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* b and c take turns on the device; both are copied out once, and only dropped from then on. */
static void lru_copies_out_once_what_nobody_writes(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, 10), b = graphs_tensor(graph, 10), c = graphs_tensor(graph, 10);
    graphs_op(graph, 1, NOTHING, LIST(a));
    graphs_op(graph, 1, NOTHING, LIST(b));
    graphs_op(graph, 1, LIST(a), LIST(c));
    for (int i = 0; i < 3; i++) {
        graphs_op(graph, 1, LIST(a, b), NOTHING);
        graphs_op(graph, 1, LIST(a, c), NOTHING);
    }
    graphs_finish(graph);
    struct spw_plan plan = make("lru", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, b), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, c), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_H2D, b), 3);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* Two weights, room for one: the one that is read in the middle starts on the host, the one read at both ends does not. */
static void what_lies_idle_longest_starts_on_the_host(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t busy = graphs_persistent(graph, 20), idle = graphs_persistent(graph, 20);
    graphs_op(graph, 5, LIST(busy), NOTHING);
    graphs_op(graph, 5, LIST(idle), NOTHING);
    graphs_op(graph, 5, LIST(busy), NOTHING);
    graphs_finish(graph);
    struct spw_plan_request request = planned_request(graph, 20);
    uint8_t start[2] = {SPW_START_DEVICE, SPW_START_DEVICE};
    assert_int_equal(spw_starts_choose(&request, start), 0);
    assert_int_equal(start[busy], SPW_START_DEVICE);
    assert_int_equal(start[idle], SPW_START_HOST);
    assert_true(is_planned("lru", &request));
    request.may_copy = false;
    assert_false(is_planned("lru", &request));
    spw_graph_destroy(graph);
}

/* A weight that is read at the start only goes out for good after that, instead of coming back for the end: the next
 * iteration fetches it when it needs it, beside another operation. */
static void what_lies_on_the_host_at_the_end_starts_there(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t weight = graphs_persistent(graph, 10), a = graphs_tensor(graph, 10), b = graphs_tensor(graph, 10);
    graphs_op(graph, 30, NOTHING, LIST(a));
    graphs_op(graph, 30, LIST(weight, a), NOTHING);
    graphs_op(graph, 30, LIST(a), LIST(b));
    graphs_op(graph, 30, LIST(a, b), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("lru", graph, 20);
    assert_int_equal(plan.schedule.start[weight], SPW_START_HOST);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, weight), 0);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* ---- dtr ---- */

/* Two tensors of the same size and almost the same age: the one that took 1 us goes, not the one that took 50. */
static void dtr_drops_what_is_cheap_to_compute(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t dear = graphs_tensor(graph, 10), cheap = graphs_tensor(graph, 10), other = graphs_tensor(graph, 10);
    const uint32_t makes_dear = graphs_op(graph, 50, NOTHING, LIST(dear));
    const uint32_t makes_cheap = graphs_op(graph, 1, NOTHING, LIST(cheap));
    graphs_op(graph, 100, NOTHING, NOTHING);
    graphs_op(graph, 1, NOTHING, LIST(other));
    graphs_op(graph, 1, LIST(other), NOTHING);
    graphs_op(graph, 1, LIST(cheap), NOTHING);
    graphs_op(graph, 1, LIST(dear), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("dtr", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_cheap), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_dear), 0);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* All three cost the same, but the second one's source has gone, so to get it back would take two replays. */
static void dtr_counts_what_has_been_evicted_around_a_tensor(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t source = graphs_tensor(graph, 10), made = graphs_tensor(graph, 10), alone = graphs_tensor(graph, 10),
                   other = graphs_tensor(graph, 10);
    graphs_op(graph, 10, NOTHING, LIST(source));
    const uint32_t makes_made = graphs_op(graph, 10, LIST(source), LIST(made));
    const uint32_t makes_alone = graphs_op(graph, 12, NOTHING, LIST(alone));
    graphs_op(graph, 100, NOTHING, NOTHING);
    graphs_op(graph, 1, NOTHING, LIST(other));
    graphs_op(graph, 1, LIST(other), NOTHING);
    graphs_op(graph, 1, LIST(alone), NOTHING);
    graphs_op(graph, 1, LIST(made), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("dtr", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_alone), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_made), 0);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* a, b, c and d, each made of the one before. Between what is evicted and what is there the exact neighbourhood ends; a
 * class goes on as one, less the cost of the one that came back. */
static void what_comes_back_takes_its_own_cost_along(void **state)
{
    struct spw_graph *graph = graphs_new();
    uint32_t t[4] = {graphs_tensor(graph, 10)};
    graphs_op(graph, 1, NOTHING, LIST(t[0]));
    for (int i = 1; i < 4; i++) {
        t[i] = graphs_tensor(graph, 10);
        graphs_op(graph, i == 1 ? 10 : 100, LIST(t[i - 1]), LIST(t[i]));
    }
    graphs_finish(graph);
    const double times[4] = {1, 2, 3, 4};
    double used_us = 0;
    uint64_t work = 0;
    struct spw_evicted *evicted;
    assert_int_equal(spw_evicted_create(graph, &evicted), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(spw_evicted_go(evicted, t[i], 1), 0);
    assert_true(spw_evicted_around_us(evicted, t[3], times, &used_us, &work) == 111);
    assert_true(used_us == 3);
    assert_true(spw_evicted_class_us(evicted, t[3], &work) == 111);
    spw_evicted_come(evicted, t[1]);
    assert_true(spw_evicted_around_us(evicted, t[3], times, &used_us, &work) == 100);
    assert_true(spw_evicted_class_us(evicted, t[3], &work) == 101);
    assert_true(spw_evicted_class_us(evicted, t[1], &work) == 101); /* both neighbours are of one class, which counts once */
    spw_evicted_destroy(evicted);
    spw_graph_destroy(graph);
}

/* x can only be made of t, which can't be made again and is used no more. That its time is not over yet is no help. */
static void dtr_keeps_what_could_not_be_made_again(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t t = graphs_tensor(graph, 10), x = graphs_tensor(graph, 10), w = graphs_tensor(graph, 10),
                   y = graphs_tensor(graph, 10);
    const uint32_t makes_t = graphs_op(graph, 1, NOTHING, LIST(t)), makes_x = graphs_op(graph, 1, LIST(t), LIST(x)),
                   makes_w = graphs_op(graph, 1, NOTHING, LIST(w));
    graph->ops[makes_t].replayable = false;
    graphs_op(graph, 1, NOTHING, LIST(y));
    graphs_op(graph, 1, LIST(x, y), NOTHING);
    const uint32_t last = graphs_op(graph, 1, LIST(w), NOTHING);
    graph->tensors[t].free_after = last;
    graphs_finish(graph);
    struct spw_plan plan = make("dtr", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_x), 0);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_w), 1);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* ---- delta ---- */

/* Two tensors are made, one of them before a long operation; there is room for one beside the third. A byte takes 1 us. */
static struct spw_graph *make_two(uint64_t bytes, double make_us, double pause_us)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, bytes), b = graphs_tensor(graph, bytes);
    graphs_op(graph, make_us, NOTHING, LIST(a));
    graphs_op(graph, pause_us, NOTHING, NOTHING);
    graphs_op(graph, 1, NOTHING, LIST(b));
    graphs_op(graph, pause_us, LIST(b), NOTHING);
    graphs_op(graph, pause_us, NOTHING, NOTHING);
    graphs_op(graph, 1, LIST(a), NOTHING);
    graphs_finish(graph);
    return graph;
}

/* 10 us of copying lie beside 100 us of operations: it costs nothing, and replaying would cost 50 us. */
static void delta_copies_where_operations_hide_the_copies(void **state)
{
    struct spw_graph *graph = make_two(10, 50, 100);
    struct spw_plan plan = make("delta", graph, 10);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, 0), 1);
    assert_int_equal(plan.timing.replays, 0);
    assert_true(plan.timing.time_us == graph->compute_us);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* 1000 us of copying do not fit beside 100 us of operations; 50 us of replaying are less. */
static void delta_replays_where_copies_would_take_longer(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    struct spw_plan plan = make("delta", graph, 1000);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, 0), 0);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, 0), 1);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* The same, where the operation may not be replayed: it takes long, and is done. */
static void delta_takes_the_way_that_there_is(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    graph->ops[0].replayable = false;
    struct spw_plan plan = make("delta", graph, 1000);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, 0), 1);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* ---- capuchin ---- */

/* Whoever is swapped last of a lane that carries two copies at a time waits for the other, forward as well as backward. */
static void a_lane_carries_one_copy_at_a_time(void **state)
{
    struct spw_lane lane;
    assert_int_equal(spw_lane_init(&lane, 100, 100, false), 0);
    assert_true(fabs(spw_lane_reach(&lane, 10, 20, true) - 30) < 1e-6);
    assert_true(fabs(spw_lane_reach(&lane, 10, 20, false) - 50) < 1e-6);
    assert_true(fabs(spw_lane_reach(&lane, 0, 20, true) - 40) < 1e-6); /* on both sides of what is taken */
    assert_true(fabs(spw_lane_reach(&lane, 90, 20, false) - 110) < 1e-6);
    spw_lane_finish(&lane);
    assert_int_equal(spw_lane_init(&lane, 100, 100, true), 0);
    assert_true(fabs(spw_lane_reach(&lane, 90, 20, true) - 70) < 1e-6);
    assert_true(fabs(spw_lane_reach(&lane, 90, 20, false) - 50) < 1e-6);
    spw_lane_clear(&lane);
    assert_true(fabs(spw_lane_reach(&lane, 10, 20, false) + 10) < 1e-6);
    spw_lane_finish(&lane);
}

/* Both a and b could leave for c, and both copies would be hidden; b's next use is the later one. */
static void capuchin_swaps_where_most_time_is_free(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, 10), b = graphs_tensor(graph, 10), c = graphs_tensor(graph, 10);
    graphs_op(graph, 50, NOTHING, LIST(a));
    graphs_op(graph, 50, NOTHING, LIST(b));
    graphs_op(graph, 50, NOTHING, NOTHING);
    graphs_op(graph, 1, NOTHING, LIST(c));
    graphs_op(graph, 50, LIST(c), NOTHING);
    graphs_op(graph, 50, NOTHING, NOTHING);
    graphs_op(graph, 1, LIST(a), NOTHING);
    graphs_op(graph, 300, NOTHING, NOTHING);
    graphs_op(graph, 1, LIST(b), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("capuchin", graph, 20);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, b), 1);
    assert_int_equal(plan.schedule.count, 9 + 3 + 3); /* operations; b out, dropped, in; each dropped at the end */
    assert_true(plan.timing.time_us == graph->compute_us);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* 1000 us of copying in a gap of 250 us would show; 50 us of replaying are less, and what can't be replayed is copied. */
static void capuchin_recomputes_where_swapping_would_show_for_longer(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    struct spw_plan plan = make("capuchin", graph, 1000);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, 0), 0);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, 0), 1);
    spw_plan_finish(&plan);
    graph->ops[0].replayable = false;
    plan = make("capuchin", graph, 1000);
    assert_int_equal(count_steps(&plan, SPW_STEP_D2H, 0), 1);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* Two tensors, either of which would do. The first is quicker to make, but of a third one that has to go in any case, so it
 * would take two replays. */
static void capuchin_counts_the_sources_of_a_replay(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t source = graphs_tensor(graph, 1000), made = graphs_tensor(graph, 1000),
                   alone = graphs_tensor(graph, 1000), large = graphs_tensor(graph, 1000);
    const uint32_t makes_source = graphs_op(graph, 10, NOTHING, LIST(source));
    const uint32_t makes_made = graphs_op(graph, 30, LIST(source), LIST(made));
    const uint32_t makes_alone = graphs_op(graph, 35, NOTHING, LIST(alone));
    graphs_op(graph, 1, NOTHING, LIST(large));
    graphs_op(graph, 1, LIST(large), NOTHING);
    graphs_op(graph, 1, LIST(made), NOTHING);
    graphs_op(graph, 1, LIST(alone), NOTHING);
    graphs_op(graph, 1, LIST(source), NOTHING);
    graphs_finish(graph);
    struct spw_plan plan = make("capuchin", graph, 2000);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_source), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_alone), 1);
    assert_int_equal(count_steps(&plan, SPW_STEP_REPLAY, makes_made), 0);
    spw_plan_finish(&plan);
    spw_graph_destroy(graph);
}

/* ---- all of them, on iterations of models ---- */

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
        const bool is = is_planned(planner, &request);
        assert_true(was_planned || !is); /* what does not fit does not fit in less */
        was_planned = is;
    }
    if (!and_smallest)
        return;
    request.device_bytes = graph->peak_bytes;
    assert_int_equal(spw_plan_smallest(spw_planner_find(planner), &request, &request.device_bytes, NULL), 0);
    assert_true(is_planned(planner, &request));
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
    assert_true(is_planned("lru", &request));
    assert_true(is_planned("delta", &request));
    request.device_bytes--;
    assert_false(is_planned("lru", &request));
    assert_false(is_planned("delta", &request));
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
        cmocka_unit_test(lru_copies_out_what_was_used_longest_ago),
        cmocka_unit_test(lru_copies_out_once_what_nobody_writes),
        cmocka_unit_test(what_lies_idle_longest_starts_on_the_host),
        cmocka_unit_test(what_lies_on_the_host_at_the_end_starts_there),
        cmocka_unit_test(dtr_drops_what_is_cheap_to_compute),
        cmocka_unit_test(dtr_counts_what_has_been_evicted_around_a_tensor),
        cmocka_unit_test(what_comes_back_takes_its_own_cost_along),
        cmocka_unit_test(dtr_keeps_what_could_not_be_made_again),
        cmocka_unit_test(delta_copies_where_operations_hide_the_copies),
        cmocka_unit_test(delta_replays_where_copies_would_take_longer),
        cmocka_unit_test(delta_takes_the_way_that_there_is),
        cmocka_unit_test(a_lane_carries_one_copy_at_a_time),
        cmocka_unit_test(capuchin_swaps_where_most_time_is_free),
        cmocka_unit_test(capuchin_recomputes_where_swapping_would_show_for_longer),
        cmocka_unit_test(capuchin_counts_the_sources_of_a_replay),
        cmocka_unit_test(iterations_of_models_are_planned_within_any_budget),
        cmocka_unit_test(long_iterations_are_planned_in_a_moment),
        cmocka_unit_test(planners_that_copy_need_no_more_than_the_largest_operation),
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
