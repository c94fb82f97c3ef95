/* test-online.c - planners that decide on demand: whom they choose, and why. */
#include "checked-plan.h"

#include <math.h>

#include "demand/evicted.h"
#include "graphs.h"
#include "demand/lane.h"
#include "demand/starts.h"

struct expected {
    enum spw_step_kind kind;
    uint32_t id;
    size_t times;
};

/* Makes the plan, which has each of these steps so often. */
static struct spw_timing expect_steps(const char *planner, const struct spw_graph *graph, uint64_t device_bytes,
                                      const struct expected *expected, size_t count)
{
    const struct spw_plan_request request = planned_request(graph, device_bytes);
    struct spw_plan plan;
    assert_int_equal(planned_make(planner, &request, &plan), 0);
    for (size_t e = 0; e < count; e++) {
        size_t times = 0;
        for (size_t i = 0; i < plan.schedule.count; i++)
            times += plan.schedule.steps[i].kind == expected[e].kind && plan.schedule.steps[i].id == expected[e].id;
        if (times != expected[e].times)
            fail_msg("%s %u: %zu times, not %zu", spw_step_name(expected[e].kind), expected[e].id, times, expected[e].times);
    }
    const struct spw_timing timing = plan.timing;
    spw_plan_finish(&plan);
    return timing;
}
#define EXPECT_STEPS(planner, graph, bytes, ...) \
    expect_steps(planner, graph, bytes, (const struct expected[])__VA_ARGS__, \
                 sizeof((const struct expected[])__VA_ARGS__) / sizeof(struct expected))

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
    EXPECT_STEPS("lru", graph, 20, {{SPW_STEP_D2H, b, 1}, {SPW_STEP_D2H, a, 0}});
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
    EXPECT_STEPS("lru", graph, 20, {{SPW_STEP_D2H, b, 1}, {SPW_STEP_D2H, c, 1}, {SPW_STEP_H2D, b, 3}});
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
    assert_true(planned_is_possible("lru", &request));
    request.may_copy = false;
    assert_false(planned_is_possible("lru", &request));
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
    const struct spw_plan_request request = planned_request(graph, 20);
    struct spw_plan plan;
    assert_int_equal(planned_make("lru", &request, &plan), 0);
    assert_int_equal(plan.schedule.start[weight], SPW_START_HOST);
    assert_int_equal(plan.timing.d2h_bytes, 0);
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
    EXPECT_STEPS("dtr", graph, 20, {{SPW_STEP_REPLAY, makes_cheap, 1}, {SPW_STEP_REPLAY, makes_dear, 0}});
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
    EXPECT_STEPS("dtr", graph, 20, {{SPW_STEP_REPLAY, makes_alone, 1}, {SPW_STEP_REPLAY, makes_made, 0}});
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
    EXPECT_STEPS("dtr", graph, 20, {{SPW_STEP_REPLAY, makes_x, 0}, {SPW_STEP_REPLAY, makes_w, 1}});
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
    const struct spw_timing timing = EXPECT_STEPS("delta", graph, 10, {{SPW_STEP_D2H, 0, 1}});
    assert_int_equal(timing.replays, 0);
    assert_true(timing.time_us == graph->compute_us);
    spw_graph_destroy(graph);
}

/* 1000 us of copying do not fit beside 100 us of operations; 50 us of replaying are less. */
static void delta_replays_where_copies_would_take_longer(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    EXPECT_STEPS("delta", graph, 1000, {{SPW_STEP_D2H, 0, 0}, {SPW_STEP_REPLAY, 0, 1}});
    spw_graph_destroy(graph);
}

/* The same, where the operation may not be replayed: it takes long, and is done. */
static void delta_takes_the_way_that_there_is(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    graph->ops[0].replayable = false;
    EXPECT_STEPS("delta", graph, 1000, {{SPW_STEP_D2H, 0, 1}});
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
    const struct spw_timing timing = EXPECT_STEPS(
        "capuchin", graph, 20, {{SPW_STEP_D2H, b, 1}, {SPW_STEP_H2D, b, 1}, {SPW_STEP_DROP, b, 2}, {SPW_STEP_DROP, a, 1}});
    assert_int_equal(timing.d2h_bytes, 10);
    assert_int_equal(timing.replays, 0);
    assert_true(timing.time_us == graph->compute_us);
    spw_graph_destroy(graph);
}

/* 1000 us of copying in a gap of 250 us would show; 50 us of replaying are less, and what can't be replayed is copied. */
static void capuchin_recomputes_where_swapping_would_show_for_longer(void **state)
{
    struct spw_graph *graph = make_two(1000, 50, 100);
    EXPECT_STEPS("capuchin", graph, 1000, {{SPW_STEP_D2H, 0, 0}, {SPW_STEP_REPLAY, 0, 1}});
    graph->ops[0].replayable = false;
    EXPECT_STEPS("capuchin", graph, 1000, {{SPW_STEP_D2H, 0, 1}});
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
    EXPECT_STEPS("capuchin", graph, 2000,
                 {{SPW_STEP_REPLAY, makes_source, 1}, {SPW_STEP_REPLAY, makes_alone, 1}, {SPW_STEP_REPLAY, makes_made, 0}});
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
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
