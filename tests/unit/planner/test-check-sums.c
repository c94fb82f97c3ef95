/* test-check-sums.c - what is one instant, what an execution comes to, and that the checker is quick and fails cleanly. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <cmocka.h>

#include "failing-memory.h"
#include "tiny.h"

/* ---- instants ---- */

static void times_that_differ_by_rounding_are_one_instant(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    ACCEPTS(graph, {OP(0, 0), OP(1, 10 - 5e-7), OP(2, 20 - 5e-7), OP(3, 30 - 1e-6), DROP(0, 10 - 5e-7), DROP(2, 30 - 5e-7),
                    DROP(1, 40 - 1e-6), DROP(3, 40)});
    REFUSES(graph, SPW_FAULT_BUSY, 1, {OP(0, 0), OP(1, 10 - 1e-5), OP(2, 20), OP(3, 30)});
    /* what lies far away makes them no less strict */
    REFUSES(graph, SPW_FAULT_BUSY, 1, {OP(0, 0), OP(1, 10 - 1e-5), OP(2, 20), OP(3, 1e30)});
    spw_graph_destroy(graph);
}

static void what_takes_no_time_happens_where_it_is_listed(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .initial = true}, {.bytes = 5}, {.bytes = 0}};
    static const struct tiny_op ops[] = {{0, T(0), T(1)}, {0, T(1), T(2)}, {5, T(1) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), OP(1, 0), D2H(2, 0), DROP(2, 0), H2D(2, 0), OP(2, 0), DROP(0, 3), DROP(1, 5), DROP(2, 5)});
    REFUSES(graph, SPW_FAULT_MISSING, 1, {DROP(0, 0), OP(0, 0), OP(1, 0), OP(2, 0)});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {OP(1, 0), OP(0, 0), OP(2, 0)});
    spw_graph_destroy(graph);
}

/* ---- what it comes to ---- */

static void sums_are_those_of_the_execution(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    const struct spw_timed_step events[] = {OP(0, 0),    OP(1, 10),  D2H(1, 10),    DROP(1, 20), OP(2, 20),
                                            DROP(2, 30), H2D(1, 32), REPLAY(1, 40), DROP(2, 50), OP(3, 52),
                                            DROP(0, 10), D2H(3, 62), DROP(1, 63),   DROP(3, 64)};
    const struct spw_check result = tiny_check(graph, TINY_ON_DEVICE, events, 14, &TINY_FREE);
    assert_int_equal(result.fault, SPW_FAULT_NONE);
    assert_int_equal(result.event, 14);
    assert_true(result.time_us == 64); /* the last copy out ends */
    assert_true(result.replayed_us == 10);
    assert_true(result.stall_us == 14);
    assert_int_equal(result.peak_bytes, 16);
    assert_int_equal(result.host_peak_bytes, 8);
    assert_int_equal(result.d2h_bytes, 10);
    assert_int_equal(result.h2d_bytes, 8);
    struct spw_check_rules rules = TINY_FREE;
    rules.model_s = true;
    const struct spw_check model_s = tiny_check(graph, TINY_ON_DEVICE, events, 14, &rules);
    assert_int_equal(model_s.fault, SPW_FAULT_NONE);
    assert_true(model_s.time_us == 62); /* the last recorded operation ends */
    assert_true(model_s.stall_us == 12);
    const struct spw_timed_step beyond[] = {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 35), DROP(2, 45), REPLAY(1, 45)};
    assert_true(tiny_check(graph, TINY_ON_DEVICE, beyond, 6, &rules).stall_us == 5);
    spw_graph_destroy(graph);
}

/* The activations of a long chain leave and come back: as many events as a long iteration has. */
static void long_iterations_are_checked_in_no_time(void **state)
{
    enum { LAYERS = 50000 };
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    for (uint32_t i = 0; i < LAYERS; i++) {
        const struct spw_graph_tensor tensor = {.id = i,
                                                .bytes = 1,
                                                .d2h_us = -1,
                                                .h2d_us = -1,
                                                .alloc_before = i,
                                                .free_after = 2 * LAYERS - 1 - i,
                                                .evictable = true};
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
    for (uint32_t i = 0; i < 2 * LAYERS; i++) {
        const struct spw_graph_op op = {.us = 1, .replayable = true};
        const uint32_t before = i - 1, own = i < LAYERS ? i : 2 * LAYERS - 1 - i;
        assert_int_equal(spw_graph_add_op(graph, &op, i < LAYERS ? &before : &own, i > 0, &own, i < LAYERS), 0);
    }
    struct spw_graph_problem problem;
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    struct spw_timed_step *events = malloc(6 * (size_t)LAYERS * sizeof *events);
    assert_non_null(events);
    size_t count = 0;
    for (uint32_t i = 0; i < LAYERS; i++) {
        events[count++] = OP(i, i);
        events[count++] = D2H(i, i + 1);
        events[count++] = DROP(i, i + 2);
        events[count++] = H2D(i, 3 * LAYERS - i);
        events[count++] = OP(2 * LAYERS - 1 - i, 3 * LAYERS - i + 1);
        events[count++] = DROP(i, 3 * LAYERS - i + 2);
    }
    uint8_t *start = calloc(LAYERS, 1);
    assert_non_null(start);
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 3;
    const clock_t began = clock();
    tiny_expect(graph, start, events, count, &rules, SPW_FAULT_NONE, 0);
    assert_true((double)(clock() - began) / CLOCKS_PER_SEC < 5); /* a tenth of a second on one core, unless it is busy */
    free(start);
    free(events);
    spw_graph_destroy(graph);
}

static void lack_of_memory_is_said(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    const struct spw_timed_step events[] = {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROPS_OF_TWO_LAYERS};
    struct spw_check result = {.event = 77};
    int r = -ENOMEM, tries = 0;
    while (r == -ENOMEM && tries < 20) {
        memory_fails_after(tries++);
        r = spw_check_events(graph, TINY_ON_DEVICE, events, 8, &TINY_FREE, &result);
        memory_is_back();
        assert_true(r == 0 || result.event == 77);
    }
    assert_int_equal(r, 0);
    assert_true(tries > 3);
    assert_int_equal(result.fault, SPW_FAULT_NONE);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_that_differ_by_rounding_are_one_instant),
        cmocka_unit_test(what_takes_no_time_happens_where_it_is_listed),
        cmocka_unit_test(sums_are_those_of_the_execution),
        cmocka_unit_test(long_iterations_are_checked_in_no_time),
        cmocka_unit_test(lack_of_memory_is_said),
    };
    return cmocka_run_group_tests_name("check-sums", tests, NULL, NULL);
}
