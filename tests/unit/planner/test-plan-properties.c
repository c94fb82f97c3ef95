/* test-plan-properties.c - what holds of every planner's plans for any iteration, on thousands of random ones.
 *
 * test-plan-properties SLICE SLICES: of the GRAPHS graphs, every SLICES-th. FIRST_SEED=5000 takes others than usual; a graph
 * that breaks a rule is named by its seed. */
#include "checked-plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plan/choice.h"
#include "random-iteration.h"
#include "plan/random.h"

#ifdef __SANITIZE_ADDRESS__
#define SLOWER 3
#else
#define SLOWER 1
#endif

enum {
    GRAPHS = 10000 / SLOWER,
    MOST_LAYERS = 6,
    SEARCHED = 100 /* planners that search see every 100th */
};

static uint64_t first_seed, slice, slices = 1;

/* A clock that goes on by as much whenever it is looked at, so that planners that search stop after the same work. */
static double clock_s(void *context)
{
    double *now_s = context;
    return *now_s += 0.001;
}

/* A budget between what is needed and what would be used, and sometimes a means, or host memory, less. */
static struct spw_plan_request some_request(const struct spw_graph *graph, uint64_t *random)
{
    const uint64_t most = graph->peak_bytes, least = graph->least_bytes < most ? graph->least_bytes : most;
    struct spw_plan_request request = planned_request(graph, least + spw_random_below(random, most - least + 1));
    if (spw_random_below(random, 5) == 0)
        request.device_bytes = least;
    request.may_copy = spw_random_below(random, 5) > 0;
    request.may_replay = spw_random_below(random, 5) > 0;
    static double now_s;
    if (spw_random_below(random, 8) == 0)
        request.host_bytes = spw_random_below(random, most + 1);
    if (spw_random_below(random, 4) == 0)
        request.machine.duplex = 0.4 + 0.6 * spw_random_fraction(random);
    request.seed = spw_random_next(random);
    request.now_s = clock_s;
    request.now_context = &now_s;
    request.time_limit_s = 0.2;
    return request;
}

static bool is_same(const struct spw_graph *graph, const struct spw_schedule *a, const struct spw_schedule *b)
{
    return a->count == b->count && memcmp(a->start, b->start, graph->tensor_count) == 0 &&
           (a->count == 0 || memcmp(a->steps, b->steps, a->count * sizeof *a->steps) == 0);
}

/* ---- the rules ---- */

/* planned_make() has the plan checked; besides, the same request gives the same plan: one in four is made again. */
static void hold_planner(const struct spw_planner *planner, const struct spw_plan_request *request)
{
    struct spw_plan plan, again;
    if (planned_make(planner->name, request, &plan) < 0)
        return;
    assert_true(plan.timing.peak_bytes <= request->device_bytes);
    if (request->seed % 4 == 0) {
        assert_int_equal(spw_plan_make(planner, request, &again), 0);
        assert_true(is_same(request->graph, &plan.schedule, &again.schedule));
        assert_true(plan.timing.time_us == again.timing.time_us);
        spw_plan_finish(&again);
    }
    spw_plan_finish(&plan);
}

static void every_plan_is_valid_and_made_the_same_again(void **state)
{
    for (uint64_t i = slice; i < GRAPHS; i += slices) {
        uint64_t random = first_seed + i;
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        const struct spw_plan_request request = some_request(graph, &random);
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        for (const struct spw_planner *p = spw_planners; p->name; p++)
            if (!p->searches || i % (SEARCHED * slices) == slice)
                hold_planner(p, &request);
        spw_graph_destroy(graph);
    }
}

/* Planners for any graph, with room for everything: nothing is moved, nothing is done twice. */
static void with_room_for_everything_nothing_is_evicted(void **state)
{
    static const char *const planners[] = {"none", "lru", "dtr", "delta", "capuchin"};
    for (uint64_t i = slice; i < GRAPHS; i += 4 * slices) {
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        const struct spw_plan_request request = planned_request(graph, graph->peak_bytes);
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        for (size_t p = 0; p < sizeof planners / sizeof planners[0]; p++) {
            struct spw_plan plan;
            assert_int_equal(planned_make(planners[p], &request, &plan), 0);
            assert_int_equal(plan.timing.replays, 0);
            assert_int_equal(plan.timing.d2h_bytes + plan.timing.h2d_bytes, 0);
            spw_plan_finish(&plan);
        }
        spw_graph_destroy(graph);
    }
}

/* The time of `auto`'s plan; < 0: there is none. */
static double auto_time(const struct spw_plan_request *request)
{
    struct spw_plan plan;
    if (planned_make("auto", request, &plan) < 0)
        return -1;
    const double us = plan.timing.time_us;
    spw_plan_finish(&plan);
    return us;
}

/* A plan for a budget is one for any larger budget too. */
static void more_room_is_never_slower(void **state)
{
    for (uint64_t i = slice; i < GRAPHS; i += SEARCHED * slices) {
        uint64_t random = first_seed + i;
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        struct spw_plan_request request = some_request(graph, &random);
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        double before_us = -1;
        for (int step = 0; step < 4; step++) {
            const double us = auto_time(&request);
            if (before_us >= 0 && !(us >= 0 && us <= before_us * (1 + 1e-9)))
                fail_msg("seed %llu: %.6f us within %llu bytes, %.6f us within less", (unsigned long long)(first_seed + i),
                         us, (unsigned long long)request.device_bytes, before_us);
            before_us = us;
            request.device_bytes += (graph->peak_bytes - request.device_bytes + 2) / 3;
        }
        spw_graph_destroy(graph);
    }
}

/* Copies alone do with what the largest operation needs, if nothing lies in the way from the start, and the host has room.
 */
static void copies_do_with_the_least_there_is(void **state)
{
    for (uint64_t i = slice; i < GRAPHS; i += 4 * slices) {
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        const struct spw_plan_request request = planned_request(graph, graph->least_bytes);
        bool has_initial = false;
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        for (uint32_t t = 0; t < graph->tensor_count; t++)
            has_initial |= graph->tensors[t].initial;
        static const char *const planners[] = {"lru", "delta"};
        for (size_t p = 0; p < 2 && !has_initial; p++) {
            struct spw_plan plan;
            assert_int_equal(planned_make(planners[p], &request, &plan), 0);
            spw_plan_finish(&plan);
        }
        spw_graph_destroy(graph);
    }
}

/* Choices may come from a file: whatever they are, what they come to is a valid plan, or none. */
static void whatever_choices_it_begins_with_a_plan_is_valid(void **state)
{
    unsigned made = 0;
    (void)state;
    for (uint64_t i = slice; i < GRAPHS; i += slices) {
        uint64_t random = first_seed + i;
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        struct spw_plan_request request = some_request(graph, &random);
        const size_t count = spw_choice_count(graph);
        uint8_t *choices = malloc(count + 1);
        assert_non_null(choices);
        for (size_t k = 0; k < count; k++)
            choices[k] =
                (uint8_t)(spw_random_below(&random, 2) ? spw_random_next(&random) >> 17 : spw_random_below(&random, 5));
        request.begin_with = choices;
        request.only_begin_with = true;
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        made += planned_is_possible("auto", &request);
        free(choices);
        spw_graph_destroy(graph);
    }
    assert_in_range(made, GRAPHS / slices / 20, GRAPHS);
}

/* What a plan was made of makes it again, without a search, but for a few that were found within a smaller budget. */
static void the_choices_of_a_plan_come_to_it(void **state)
{
    unsigned made = 0, close = 0;
    (void)state;
    for (uint64_t i = slice; i < GRAPHS; i += SEARCHED * slices) {
        uint64_t random = first_seed + i;
        struct spw_graph *graph = random_iteration(first_seed + i, MOST_LAYERS);
        struct spw_plan_request request = some_request(graph, &random);
        uint8_t *choices = malloc(spw_choice_count(graph) + 1);
        assert_non_null(choices);
        planned_says("seed %llu", (unsigned long long)(first_seed + i));
        request.ret_choices = choices;
        const double searched_us = auto_time(&request);
        request.ret_choices = NULL;
        request.begin_with = choices;
        request.only_begin_with = true;
        const double us = searched_us >= 0 ? auto_time(&request) : -1;
        made += searched_us >= 0;
        close += us >= 0 && us <= 1.05 * searched_us;
        free(choices);
        spw_graph_destroy(graph);
    }
    assert_in_range(made, GRAPHS / SEARCHED / slices / 2, GRAPHS);
    assert_in_range(made - close, 0, 2 + made / 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_choices_it_begins_with_a_plan_is_valid),
        cmocka_unit_test(the_choices_of_a_plan_come_to_it),
        cmocka_unit_test(every_plan_is_valid_and_made_the_same_again),
        cmocka_unit_test(with_room_for_everything_nothing_is_evicted),
        cmocka_unit_test(more_room_is_never_slower),
        cmocka_unit_test(copies_do_with_the_least_there_is),
    };
    const char *seed = getenv("FIRST_SEED");
    first_seed = seed ? strtoull(seed, NULL, 10) : 0;
    if (argc > 2) {
        slice = strtoull(argv[1], NULL, 10);
        slices = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests_name("plan-properties", tests, NULL, NULL);
}
