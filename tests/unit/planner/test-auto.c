/* test-auto.c - what the default planner promises: the same plan again, no slower plan for more memory, none slower than
 * another planner's, an end in time, and nothing left behind where memory runs out. */
#include <errno.h>
#include <math.h>

#include "failing-memory.h"
#include "graphs.h"
#include "checked-plan.h"
#include "random-iteration.h"

static struct spw_graph *chain(uint32_t layers, uint32_t uneven)
{
    return graphs_chain(&(struct chain_kind){.layers = layers,
                                             .activation_bytes = 10,
                                             .saved_bytes = 4,
                                             .parameter_bytes = 3,
                                             .forward_us = 10,
                                             .backward_us = 20,
                                             .uneven = uneven});
}

/* INFINITY: there is none. */
static double time_of(const char *planner, const struct spw_plan_request *request)
{
    struct spw_plan plan;
    if (planned_make(planner, request, &plan) != 0)
        return INFINITY;
    const double us = plan.timing.time_us;
    spw_plan_finish(&plan);
    return us;
}

static void the_same_request_gives_the_same_schedule(void **state)
{
    struct spw_graph *graph = chain(4, 3);
    struct spw_plan_request request = planned_request(graph, (graph->least_bytes + graph->peak_bytes) / 2);
    struct spw_plan plans[2];
    request.seed = 7;
    for (int i = 0; i < 2; i++)
        assert_int_equal(planned_make("auto", &request, &plans[i]), 0);
    assert_int_equal(plans[0].schedule.count, plans[1].schedule.count);
    assert_memory_equal(plans[0].schedule.steps, plans[1].schedule.steps,
                        plans[0].schedule.count * sizeof *plans[0].schedule.steps);
    for (int i = 0; i < 2; i++)
        spw_plan_finish(&plans[i]);
    spw_graph_destroy(graph);
}

static void more_memory_never_makes_a_slower_plan_and_no_planner_a_faster_one(void **state)
{
    struct spw_graph *graph = graphs_chain(&(struct chain_kind){
        .layers = 4, .activation_bytes = 9, .saved_bytes = 5, .forward_us = 3, .backward_us = 5, .uneven = 9});
    double before = INFINITY;
    for (uint64_t bytes = graph->least_bytes; bytes <= graph->peak_bytes; bytes += 2) {
        const struct spw_plan_request request = planned_request(graph, bytes);
        const double us = time_of("auto", &request);
        if (us > before + 1e-9)
            fail_msg("%g us with %llu bytes, and %g with one less", us, (unsigned long long)bytes, before);
        before = us;
        for (const struct spw_planner *other = spw_planners + 1; other->name && (bytes - graph->least_bytes) % 8 == 0;
             other++)
            if (time_of(other->name, &request) < us - 1e-9)
                fail_msg("%s is faster with %llu bytes", other->name, (unsigned long long)bytes);
    }
    assert_true(before <= graph->compute_us * (1 + 1e-9));
    spw_graph_destroy(graph);
}

/* Three iterations for which the best plan is one that hands the host's memory on in time. A search that took host memory
 * for unlimited would prefer plans that turn out to wait for it, and end with what another planner has found; by the
 * number that it draws from it may find one all the same, and the other way round. */
static void a_search_knows_that_copies_out_wait_for_memory_on_the_host(void **state)
{
    static const struct {
        uint64_t seed, host_eighths, drawn_from;
        double share; /* of the best other planner's time, that is beaten */
    } cases[] = {{77, 3, 8, 0.95}, {112, 3, 1, 0.98}, {195, 3, 18, 0.95}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct spw_graph *graph = random_iteration(cases[i].seed, 6);
        struct spw_plan_request request =
            planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) / 4);
        double best_us = INFINITY;
        request.seed = cases[i].drawn_from;
        request.host_bytes = graph->peak_bytes * cases[i].host_eighths / 8;
        request.time_limit_s = 0.05; /* of work: there is no clock */
        for (const struct spw_planner *other = spw_planners + 1; other->name; other++)
            best_us = fmin(best_us, time_of(other->name, &request));
        const double us = time_of("auto", &request);
        if (!(us < best_us * cases[i].share))
            fail_msg("seed %llu: %g us, and %g", (unsigned long long)cases[i].seed, us, best_us);
        spw_graph_destroy(graph);
    }
}

static double tick(void *context)
{
    return *(double *)context += 1e-3;
}

/* Each look at the clock takes a millisecond: so many looks are the most that a search may take. */
static void a_search_ends_in_time(void **state)
{
    struct spw_graph *graph = chain(40, 3);
    struct spw_plan_request request =
        planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) / 16);
    double now_s = 100;
    request.time_limit_s = 0.5;
    request.now_s = tick;
    request.now_context = &now_s;
    assert_true(time_of("auto", &request) < INFINITY);
    if (now_s < 100.4 || now_s > 100.7)
        fail_msg("it ends at %g s", now_s);
    spw_graph_destroy(graph);
}

/* However little time there is: what the others do at once is known. */
static void a_search_without_time_finds_no_slower_plan_than_quick_planners(void **state)
{
    struct spw_graph *graph = chain(6, 3);
    for (uint64_t share = 0; share <= 8; share++) {
        struct spw_plan_request request =
            planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) * share / 8);
        double now_s = 0;
        request.time_limit_s = 1e-3;
        request.now_s = tick;
        request.now_context = &now_s;
        const double us = time_of("auto", &request);
        for (const struct spw_planner *other = spw_planners + 1; other->name; other++)
            if (other->most_ops == 0 && time_of(other->name, &request) < us - 1e-9)
                fail_msg("%s is faster with %llu bytes", other->name, (unsigned long long)request.device_bytes);
    }
    spw_graph_destroy(graph);
}

static void memory_that_runs_out_is_reported_and_leaves_nothing_behind(void **state)
{
    struct spw_graph *graph = chain(12, 3);
    struct spw_plan_request request = planned_request(graph, (graph->least_bytes + graph->peak_bytes) / 2);
    double now_s;
    request.time_limit_s = 0.02;
    request.now_s = tick;
    request.now_context = &now_s;
    size_t reported = 0;
    for (long calls = 0; calls < 5000; calls += 1 + calls / 20) {
        struct spw_schedule schedule;
        const long before = memory_blocks();
        assert_int_equal(spw_schedule_init(&schedule, graph), 0);
        now_s = 0;
        memory_fails_once_after(calls);
        const int r = spw_plan_auto(&request, &schedule);
        spw_schedule_finish(&schedule);
        assert_int_equal(memory_blocks(), before);
        if (!memory_is_back())
            break;
        assert_int_equal(r, -ENOMEM);
        reported++;
    }
    assert_true(reported > 20);
    spw_graph_destroy(graph);
}

struct running_out {
    unsigned looks, until; /* at the clock */
};

static double run_out(void *context)
{
    struct running_out *clock = context;
    return ++clock->looks > clock->until ? INFINITY : clock->looks;
}

/* The only limit that a search without one of time has is its work; and it stops where nobody wants it any more. */
static void a_search_ends_soon_after_the_clock_has_run_out(void **state)
{
    struct spw_graph *graph = chain(12, 3);
    struct spw_plan_request request = planned_request(graph, (graph->least_bytes + graph->peak_bytes) / 2);
    struct running_out never = {.until = UINT32_MAX}, soon = {.until = 100};
    struct spw_schedule schedule;
    request.now_s = run_out;
    request.now_context = &never;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_plan_auto(&request, &schedule), 0);
    spw_schedule_finish(&schedule);
    request.now_context = &soon;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_plan_auto(&request, &schedule), -ECANCELED); /* while it computed a bound */
    spw_schedule_finish(&schedule);
    assert_true(never.looks > 1000);
    assert_true(soon.looks < soon.until + 100);
    spw_graph_destroy(graph);
}

/* Looks at the clock, about as many as schedules that were tried. */
static unsigned looks_at(struct spw_graph *graph, double bound_us)
{
    struct spw_plan_request request =
        planned_request(graph, graph->least_bytes + (graph->peak_bytes - graph->least_bytes) / 16);
    struct running_out never = {.until = UINT32_MAX};
    struct spw_schedule schedule;
    request.bound_us = bound_us;
    request.now_s = run_out;
    request.now_context = &never;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_plan_auto(&request, &schedule), 0);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
    return never.looks;
}

static unsigned looks_of(uint32_t layers, double bound_us)
{
    return looks_at(chain(layers, 3), bound_us);
}

static void more_operations_are_searched_with_fewer_schedules(void **state)
{
    const unsigned few = looks_of(40, 0), many = looks_of(250, 0);
    if (many > few / 2)
        fail_msg("%u looks for 40 layers, %u for 250", few, many);
}

/* Each operation updates a list of tensors and reads another, as those of an optimizer and launches of whole graphs do. */
static struct spw_graph *operations_on(uint32_t tensors_of_each)
{
    enum { OPS = 10 };
    struct spw_graph *graph = graphs_new();
    for (uint32_t i = 0; i < OPS * tensors_of_each; i++)
        graphs_persistent(graph, 8);
    for (uint32_t o = 0; o < OPS; o++) {
        uint32_t read[100], written[100];
        assert_true(tensors_of_each <= 100);
        for (uint32_t i = 0; i < tensors_of_each; i++) {
            written[i] = o * tensors_of_each + i;
            read[i] = (o * 3 + 1) % OPS * tensors_of_each + i;
        }
        const struct spw_graph_op op = {.us = 50};
        assert_int_equal(spw_graph_add_op(graph, &op, read, tensors_of_each, written, tensors_of_each), 0);
    }
    graphs_finish(graph);
    return graph;
}

static void operations_on_many_tensors_are_searched_with_fewer_schedules(void **state)
{
    const unsigned few = looks_at(operations_on(2), 0), many = looks_at(operations_on(100), 0);
    if (many > few / 2)
        fail_msg("%u looks for operations on 2 tensors, %u on 100", few, many);
}

static void a_search_ends_where_it_reaches_a_bound_that_is_known(void **state)
{
    assert_true(looks_of(40, 1e12) < 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_request_gives_the_same_schedule),
        cmocka_unit_test(more_memory_never_makes_a_slower_plan_and_no_planner_a_faster_one),
        cmocka_unit_test(a_search_knows_that_copies_out_wait_for_memory_on_the_host),
        cmocka_unit_test(a_search_ends_in_time),
        cmocka_unit_test(a_search_ends_soon_after_the_clock_has_run_out),
        cmocka_unit_test(more_operations_are_searched_with_fewer_schedules),
        cmocka_unit_test(operations_on_many_tensors_are_searched_with_fewer_schedules),
        cmocka_unit_test(a_search_ends_where_it_reaches_a_bound_that_is_known),
        cmocka_unit_test(a_search_without_time_finds_no_slower_plan_than_quick_planners),
        cmocka_unit_test(memory_that_runs_out_is_reported_and_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("auto", tests, NULL, NULL);
}
