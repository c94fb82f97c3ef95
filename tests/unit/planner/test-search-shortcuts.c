/* test-search-shortcuts.c - what the search leaves out makes no difference: times above a limit, and slots one by one. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/timeline.h"
#include "search/compose.h"
#include "search/prefetch.h"
#include "random-graph.h"

enum { CASES = 3000 };
#define AS_EARLY_AS_CAN_BE 1e9 /* a lead */

struct composed {
    struct spw_plan_request request;
    struct spw_schedule schedule;
    double replayed_us;
};

/* A schedule of choices at random, its copies in as early as they get with that lead. False: none came of it. */
static bool compose(struct spw_graph *graph, uint64_t *random, double lead, struct composed *ret)
{
    struct spw_composer *composer;
    struct spw_prefetcher *prefetcher;
    struct spw_composed composed;
    const size_t count = spw_choice_count(graph);
    const uint32_t options = SPW_DROP + 1 + random_below(random, 5);
    uint8_t *choices = malloc(count);
    assert_non_null(choices);
    ret->request = (struct spw_plan_request){.graph = graph,
                                             .device_bytes = graph->least_bytes + (graph->peak_bytes - graph->least_bytes) *
                                                                                      random_below(random, 101) / 100,
                                             .host_bytes = UINT64_MAX,
                                             .may_copy = true,
                                             .may_replay = true,
                                             .machine = {.duplex = 1}};
    for (size_t i = 0; i < count; i++) {
        const uint32_t choice = random_below(random, options);
        choices[i] = (uint8_t)(choice > SPW_DROP ? SPW_SWAP : choice);
    }
    assert_int_equal(spw_schedule_init(&ret->schedule, graph), 0);
    assert_int_equal(spw_composer_create(&ret->request, &composer), 0);
    assert_int_equal(spw_prefetcher_create(graph, &prefetcher), 0);
    int r = spw_compose(composer, choices, &ret->schedule, &composed);
    if (r == 0)
        r = spw_prefetch(prefetcher, &ret->schedule, ret->request.device_bytes, NULL, lead);
    ret->replayed_us = composed.replayed_us;
    spw_prefetcher_destroy(prefetcher);
    spw_composer_destroy(composer);
    free(choices);
    return r == 0;
}

/* ---- times ---- */

static void hold_limit(const struct composed *c, struct spw_timer *timer, const struct spw_timing *whole, double share)
{
    const double limit_us = whole->time_us * share;
    struct spw_timing timing;
    const int r = spw_timer_run_within(timer, &c->schedule, c->request.device_bytes,
                                       c->request.graph->compute_us + c->replayed_us, limit_us, &timing);
    if (r == -ETIME)
        assert_true(whole->time_us > limit_us);
    else
        assert_true(r == 0 && timing.time_us == whole->time_us && timing.stall_us == whole->stall_us &&
                    timing.h2d_bytes == whole->h2d_bytes && timing.d2h_bytes == whole->d2h_bytes);
}

/* Where nothing waits, whatever is not late at once never is. */
static void a_time_within_the_limit_is_found_and_only_others_are_given_up(void **state)
{
    static const double shares[] = {0.5, 0.9, 0.99, 1 - 1e-6, 1, 1 + 1e-6, 1.5};
    size_t given_up = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        uint64_t random = seed;
        struct spw_graph *graph = random_graph(seed);
        struct spw_timing whole, timing;
        struct spw_timer *timer;
        struct composed c;
        const bool is_composed = compose(graph, &random, 0.05, &c);
        assert_int_equal(spw_timer_create(graph, &c.request.machine, &timer), 0);
        if (is_composed) {
            assert_int_equal(spw_timer_run(timer, &c.schedule, c.request.device_bytes, NULL, &whole, NULL), 0);
            for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
                hold_limit(&c, timer, &whole, shares[i]);
            given_up += spw_timer_run_within(timer, &c.schedule, c.request.device_bytes, graph->compute_us + c.replayed_us,
                                             whole.time_us * (1 - 1e-6), &timing) == -ETIME;
        }
        spw_timer_destroy(timer);
        spw_schedule_finish(&c.schedule);
        spw_graph_destroy(graph);
    }
    print_message("%zu of %d given up\n", given_up, CASES);
    assert_true(given_up > CASES / 8);
}

/* One pass tells, and not that it takes so many more to find the time. */
static void where_copies_slow_each_other_no_more_is_given_up_than_is_too_slow_without_that(void **state)
{
    static const double shares[] = {0.5, 0.8, 0.9, 0.99, 1 - 1e-6, 1, 1 + 1e-6, 1.5};
    size_t given_up = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        uint64_t random = seed;
        struct spw_graph *graph = random_graph(seed);
        struct spw_timing whole, alone, timing;
        struct spw_timer *timer;
        struct composed c;
        const bool is_composed = compose(graph, &random, 0.05, &c);
        c.request.machine.duplex = 0.7;
        assert_int_equal(spw_timer_create(graph, &c.request.machine, &timer), 0);
        if (is_composed) {
            const double work_us = graph->compute_us + c.replayed_us;
            const uint64_t bytes = c.request.device_bytes;
            assert_int_equal(spw_timer_run(timer, &c.schedule, bytes, NULL, &whole, NULL), 0);
            assert_int_equal(spw_timeline(graph, &c.schedule, NULL, bytes, NULL, &alone, NULL), 0);
            assert_true(alone.time_us <= whole.time_us * (1 + 1e-9));
            for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
                hold_limit(&c, timer, &whole, shares[i]);
            given_up += alone.time_us < whole.time_us &&
                        spw_timer_run_within(timer, &c.schedule, bytes, work_us, alone.time_us * 0.999, &timing) == -ETIME;
        }
        spw_timer_destroy(timer);
        spw_schedule_finish(&c.schedule);
        spw_graph_destroy(graph);
    }
    print_message("%zu of %d given up\n", given_up, CASES);
    assert_true(given_up > CASES / 2);
}

/* ---- slots ---- */

/* The bytes that are taken during each compute step. */
static void find_levels(const struct composed *c, uint64_t *levels)
{
    const struct spw_graph *graph = c->request.graph;
    bool *there = calloc(graph->tensor_count, sizeof *there);
    uint64_t bytes = 0;
    assert_non_null(there);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        there[i] = t->persistent ? c->schedule.start[i] != SPW_START_HOST : t->initial;
        bytes += there[i] ? t->bytes : 0;
    }
    for (size_t i = 0; i < c->schedule.count; i++) {
        const struct spw_step step = c->schedule.steps[i];
        if (step.kind == SPW_STEP_H2D || step.kind == SPW_STEP_DROP) {
            there[step.id] = step.kind == SPW_STEP_H2D;
            bytes += step.kind == SPW_STEP_H2D ? graph->tensors[step.id].bytes : 0 - graph->tensors[step.id].bytes;
        }
        if (step.kind > SPW_STEP_REPLAY)
            continue;
        const struct spw_graph_op *op = &graph->ops[step.id];
        for (uint32_t w = 0; w < op->write_count; w++) {
            const struct spw_touched_tensor *touch = &graph->touched[op->first_write + w];
            if (there[touch->tensor] || (step.kind == SPW_STEP_REPLAY && touch->side))
                continue;
            there[touch->tensor] = true;
            bytes += graph->tensors[touch->tensor].bytes;
        }
        *levels++ = bytes;
    }
    free(there);
}

/* How many copies in stand as many compute steps away from where their tensors were dropped, as far as there was no room. */
static size_t hold_arrivals(const struct composed *c, uint64_t seed)
{
    uint64_t *levels = malloc((c->schedule.count + 1) * sizeof *levels);
    size_t *free_from = calloc(c->request.graph->tensor_count, sizeof *free_from), slot = 0, held_up = 0;
    assert_true(levels && free_from);
    find_levels(c, levels);
    for (size_t i = 0; i < c->schedule.count; i++) {
        const struct spw_step step = c->schedule.steps[i];
        if (step.kind == SPW_STEP_DROP || step.kind == SPW_STEP_D2H)
            free_from[step.id] = slot;
        if (step.kind == SPW_STEP_H2D && free_from[step.id] < slot && c->request.graph->tensors[step.id].bytes > 0) {
            if (levels[slot - 1] + c->request.graph->tensors[step.id].bytes <= c->request.device_bytes)
                fail_msg("seed %llu: step %zu could be earlier", (unsigned long long)seed, i);
            held_up++;
        }
        slot += step.kind <= SPW_STEP_REPLAY;
    }
    free(levels);
    free(free_from);
    return held_up;
}

static void copies_in_go_as_far_ahead_as_there_is_room_and_no_farther(void **state)
{
    size_t held_up = 0;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        uint64_t random = seed;
        struct spw_graph *graph = random_graph(seed);
        struct spw_timing timing;
        struct composed c;
        if (compose(graph, &random, AS_EARLY_AS_CAN_BE, &c)) {
            held_up += hold_arrivals(&c, seed);
            if (spw_timeline(graph, &c.schedule, NULL, c.request.device_bytes, NULL, &timing, NULL) != 0)
                fail_msg("seed %llu: it does not fit", (unsigned long long)seed);
        }
        spw_schedule_finish(&c.schedule);
        spw_graph_destroy(graph);
    }
    print_message("%zu copies in are held up\n", held_up);
    assert_true(held_up > CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_within_the_limit_is_found_and_only_others_are_given_up),
        cmocka_unit_test(where_copies_slow_each_other_no_more_is_given_up_than_is_too_slow_without_that),
        cmocka_unit_test(copies_in_go_as_far_ahead_as_there_is_room_and_no_farther),
    };
    return cmocka_run_group_tests_name("search-shortcuts", tests, NULL, NULL);
}
