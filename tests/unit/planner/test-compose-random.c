/* test-compose-random.c - whatever is chosen for whatever graph, what composing and prefetching make of it is valid. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/check.h"
#include "search/compose.h"
#include "search/prefetch.h"
#include "random-graph.h"
#include "plan/timeline.h"

enum { CASES = 5000 };

/* The time of the schedule; the test fails unless the checker accepts it. `start_us` has room for one more than its steps.
 */
static double check(const struct spw_plan_request *request, const struct spw_schedule *schedule, double *start_us,
                    uint64_t seed)
{
    const struct spw_check_rules rules = {.device_bytes = request->device_bytes,
                                          .host_bytes = request->host_bytes,
                                          .may_replay = request->may_replay,
                                          .may_copy = request->may_copy};
    struct spw_timed_step *events = malloc((schedule->count + 1) * sizeof *events);
    struct spw_timing timing;
    struct spw_check found;
    size_t stuck = 0;
    assert_non_null(events);
    if (spw_timeline(request->graph, schedule, &request->machine, request->device_bytes, start_us, &timing, &stuck) != 0)
        fail_msg("seed %llu: step %zu has no time", (unsigned long long)seed, stuck);
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, start_us[i]};
    assert_int_equal(spw_check_events(request->graph, schedule->start, events, schedule->count, &rules, &found), 0);
    if (found.fault != SPW_FAULT_NONE)
        fail_msg("seed %llu: event %zu: %s", (unsigned long long)seed, found.event, found.message);
    free(events);
    return found.time_us;
}

/* Most gaps are kept in some cases, and few in others. */
static void choose(uint8_t *choices, size_t count, uint64_t *random)
{
    const uint32_t options = 5 + random_below(random, 20);
    for (size_t i = 0; i < count; i++) {
        const uint32_t option = random_below(random, options);
        choices[i] = (uint8_t)(option > SPW_STORE ? SPW_KEEP : option);
        if (option == SPW_DROP && random_below(random, 2))
            choices[i] = SPW_DROP_EARLY(random_below(random, 16)) | (random_below(random, 2) ? SPW_BRIEF : 0);
    }
}

static struct spw_plan_request request_for(const struct spw_graph *graph, uint64_t *random)
{
    const uint64_t range = graph->peak_bytes - graph->least_bytes;
    const uint64_t host_bytes = random_below(random, 4) ? UINT64_MAX : graph->peak_bytes / 2;
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = graph->least_bytes + range * random_below(random, 101) / 100,
                                     .host_bytes = host_bytes,
                                     .may_copy = random_below(random, 6) > 0,
                                     .may_replay = random_below(random, 6) > 0,
                                     .machine = {.duplex = 1, .host_bytes = host_bytes}};
}

/* Moves copies and drops by the times before, and checks again. Whether it could be done. */
static bool prefetch(const struct spw_plan_request *request, struct spw_schedule *schedule, double *start_us,
                     uint64_t *random, uint64_t seed)
{
    struct spw_prefetcher *prefetcher;
    assert_int_equal(spw_prefetcher_create(request->graph, &prefetcher), 0);
    const size_t bytes = schedule->count * sizeof *schedule->steps;
    struct spw_step *before = malloc(bytes + 1);
    assert_non_null(before);
    memcpy(before, schedule->steps, bytes);
    const double lead = random_below(random, 30) / 10.0;
    const int r = spw_prefetch(prefetcher, schedule, request->device_bytes, random_below(random, 2) ? start_us : NULL, lead);
    assert_true(r == 0 || r == -EINVAL);
    if (r == 0)
        (void)check(request, schedule, start_us, seed);
    else
        assert_memory_equal(before, schedule->steps, bytes);
    free(before);
    spw_prefetcher_destroy(prefetcher);
    return r == 0;
}

/* Whether a schedule came of it, and whether that could be prefetched. */
static bool compose_one(uint64_t seed, bool *ret_prefetched)
{
    uint64_t random = seed;
    struct spw_graph *graph = random_graph(seed);
    const struct spw_plan_request request = request_for(graph, &random);
    struct spw_composer *composer;
    struct spw_schedule schedule;
    struct spw_composed composed;
    uint8_t *choices = malloc(spw_choice_count(graph) + 1);
    assert_non_null(choices);
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_composer_create(&request, &composer), 0);
    choose(choices, spw_choice_count(graph), &random);
    const int r = spw_compose(composer, choices, &schedule, &composed);
    assert_true(r == 0 || r == -ENOSPC);
    *ret_prefetched = false;
    if (r == 0) {
        double *start_us = malloc((schedule.count + 1) * sizeof *start_us);
        assert_non_null(start_us);
        const double us = check(&request, &schedule, start_us, seed);
        assert_true(us >= (graph->compute_us + composed.replayed_us) * (1 - 1e-9));
        *ret_prefetched = prefetch(&request, &schedule, start_us, &random, seed);
        free(start_us);
    }
    free(choices);
    spw_composer_destroy(composer);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
    return r == 0;
}

static void any_choices_for_any_graph_give_valid_schedules_or_none(void **state)
{
    size_t composed = 0, prefetched = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        bool is_prefetched;
        composed += compose_one(seed, &is_prefetched);
        prefetched += is_prefetched;
    }
    print_message("%d cases, %zu schedules, %zu prefetched\n", CASES, composed, prefetched);
    assert_true(composed > CASES / 2 && prefetched > composed / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_choices_for_any_graph_give_valid_schedules_or_none),
    };
    return cmocka_run_group_tests_name("compose-random", tests, NULL, NULL);
}
