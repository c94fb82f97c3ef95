/* test-graph.c - what a graph derives from operations and tensors, and schedules as lists. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tiny.h"

/* ---- versions and uses ---- */

/* 0: persistent, updated in place; 1: an activation that is overwritten; 2: initial; 3: a small counter. */
static struct spw_graph *layers(void)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 70000, .persistent = true},
                                                 {.bytes = 8},
                                                 {.bytes = 4, .initial = true},
                                                 {.bytes = 65536, .persistent = true}};
    static const struct tiny_op ops[] = {
        {10, T(0) | T(2), T(1)}, {20, T(1) | T(3), T(3)}, {30, T(2), T(1)}, {40, T(0) | T(1), T(0)}};
    return TINY_GRAPH(tensors, ops);
}

static const struct spw_touched_tensor *touched(const struct spw_graph *graph, uint32_t op, uint32_t place)
{
    return &graph->touched[graph->ops[op].first_read + place];
}

static void each_write_raises_the_version_that_later_operations_read(void **state)
{
    static const struct {
        uint32_t op, place, tensor, version;
    } expected[] = {{0, 0, 0, 0}, {0, 1, 2, 0}, {0, 2, 1, 1}, {1, 0, 1, 1}, {1, 1, 3, 0}, {1, 2, 3, 1},
                    {2, 0, 2, 0}, {2, 1, 1, 2}, {3, 0, 0, 0}, {3, 1, 1, 2}, {3, 2, 0, 1}};
    struct spw_graph *graph = layers();
    assert_int_equal(graph->touched_count, sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(touched(graph, expected[i].op, expected[i].place)->tensor, expected[i].tensor);
        assert_int_equal(touched(graph, expected[i].op, expected[i].place)->version, expected[i].version);
    }
    static const uint32_t last[] = {1, 2, 0, 1};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(graph->tensors[i].last_version, last[i]);
    assert_int_equal(graph->ops[3].first_write, graph->ops[3].first_read + graph->ops[3].read_count);
    spw_graph_destroy(graph);
}

static void uses_of_a_tensor_are_its_operations_in_order(void **state)
{
    static const struct spw_use expected[] = {
        {0, 0, true, false}, {3, 0, true, true},                                            /* of tensor 0 */
        {0, 0, false, true}, {1, 1, true, false}, {2, 1, false, true}, {3, 2, true, false}, /* 1 */
        {0, 0, true, false}, {2, 0, true, false},                                           /* 2 */
        {1, 0, true, true},                                                                 /* 3 */
    };
    static const uint32_t first[] = {0, 2, 6, 8}, count[] = {2, 4, 2, 1};
    struct spw_graph *graph = layers();
    assert_int_equal(graph->use_count, sizeof expected / sizeof expected[0]);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(graph->tensors[i].first_use, first[i]);
        assert_int_equal(graph->tensors[i].use_count, count[i]);
    }
    for (uint32_t i = 0; i < graph->use_count; i++) {
        assert_int_equal(graph->uses[i].op, expected[i].op);
        assert_int_equal(graph->uses[i].version, expected[i].version);
        assert_int_equal(graph->uses[i].reads, expected[i].reads);
        assert_int_equal(graph->uses[i].writes, expected[i].writes);
    }
    spw_graph_destroy(graph);
}

static void in_place_is_said_of_the_read_and_the_write_and_side_where_it_is_small(void **state)
{
    struct spw_graph *graph = layers();
    for (uint32_t op = 0; op < graph->op_count; op++)
        for (uint32_t i = 0; i < graph->ops[op].read_count + graph->ops[op].write_count; i++) {
            const struct spw_touched_tensor *touch = touched(graph, op, i);
            assert_int_equal(touch->in_place, (op == 1 && touch->tensor == 3) || (op == 3 && touch->tensor == 0));
            assert_int_equal(touch->side, op == 1 && touch->tensor == 3); /* 65536 bytes are, 70000 are not */
        }
    spw_graph_destroy(graph);
}

static void producer_is_the_operation_that_leaves_the_version(void **state)
{
    struct spw_graph *graph = layers();
    assert_int_equal(spw_graph_producer(graph, 1, 1), 0);
    assert_int_equal(spw_graph_producer(graph, 1, 2), 2);
    assert_int_equal(spw_graph_producer(graph, 0, 1), 3);
    assert_int_equal(spw_graph_producer(graph, 3, 1), 1);
    assert_int_equal(spw_graph_producer(graph, 2, 0), SPW_NO_INDEX); /* what there was at the start */
    spw_graph_destroy(graph);
}

static void use_from_is_the_first_use_by_that_operation_or_a_later_one(void **state)
{
    static const uint32_t of_one[] = {0, 1, 2, 3, 4}, of_two[] = {0, 1, 1, 2, 2};
    struct spw_graph *graph = layers();
    for (uint32_t op = 0; op < 5; op++) {
        assert_int_equal(spw_graph_use_from(graph, 1, op), of_one[op]);
        assert_int_equal(spw_graph_use_from(graph, 2, op), of_two[op]);
    }
    spw_graph_destroy(graph);
}

/* ---- sums ---- */

static void sums_are_those_of_what_is_alive_and_what_may_not_leave(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 3, .persistent = true},
                                                 {.bytes = 5, .persistent = true, .fixed = true},
                                                 {.bytes = 7, .initial = true, .fixed = true},
                                                 {.bytes = 11},
                                                 {.bytes = 13, .fixed = true},
                                                 {.bytes = 17}};
    static const struct tiny_op ops[] = {
        {1, T(0), T(3)}, {2, T(3), T(4)}, {4, T(2), T(5)}, {8, T(4) | T(5), T(0)}, {16, T(3) | T(5), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_int_equal(graph->persistent_bytes, 8);
    assert_int_equal(graph->peak_bytes, 8 + 7 + 11 + 13 + 17); /* during operation 2 */
    assert_int_equal(graph->least_bytes, 5 + 7 + 13 + 17);     /* likewise: 1, 2 and 4 may not leave, 5 is written */
    assert_int_equal(graph->least_op, 2);
    assert_true(graph->compute_us == 31);
    spw_graph_destroy(graph);
}

/* An update in place is one tensor, and what is not used but allocated counts in the peak alone. */
static void what_an_operation_needs_counts_each_tensor_once(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 100, .persistent = true}, {.bytes = 30}};
    static const struct tiny_op ops[] = {{1, T(0), T(0) | T(1)}, {1, T(1), T(1)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_int_equal(graph->least_bytes, 130);
    assert_int_equal(graph->least_op, 0);
    assert_int_equal(graph->peak_bytes, 130);
    spw_graph_destroy(graph);
}

/* Whatever is said of its allocation. */
static void what_is_there_at_the_start_is_alive_from_the_start(void **state)
{
    const struct spw_graph_tensor input = {.bytes = 100, .alloc_before = 1, .free_after = 1, .initial = true},
                                  first = {.bytes = 50, .alloc_before = 0, .free_after = 0};
    const struct spw_graph_op op = {.us = 1};
    const uint32_t zero = 0, one = 1;
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &input), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &first), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, NULL, 0, &one, 1), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, &zero, 1, NULL, 0), 0);
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    assert_int_equal(graph->peak_bytes, 150);
    spw_graph_destroy(graph);
}

static void copies_take_their_size_at_the_bandwidth_unless_they_say_so(void **state)
{
    struct spw_graph *graph;
    struct spw_graph_problem problem;
    assert_int_equal(spw_graph_create(4, 2, &graph), 0);
    const struct spw_graph_tensor plain = {.bytes = 100, .d2h_us = -1, .h2d_us = -1, .persistent = true},
                                  own = {.bytes = 100, .d2h_us = 7, .h2d_us = 0, .persistent = true},
                                  other = {.bytes = 100, .d2h_us = 0, .h2d_us = 7, .persistent = true};
    assert_int_equal(spw_graph_add_tensor(graph, &plain), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &own), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &other), 0);
    assert_int_equal(spw_graph_add_op(graph, &(struct spw_graph_op){.us = 1}, NULL, 0, NULL, 0), 0);
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    assert_true(graph->tensors[0].d2h_us == 25 && graph->tensors[0].h2d_us == 50);
    assert_true(graph->tensors[1].d2h_us == 7 && graph->tensors[1].h2d_us == 0);
    assert_true(graph->tensors[2].d2h_us == 0 && graph->tensors[2].h2d_us == 7);
    spw_graph_destroy(graph);
}

static void rounding_up_changes_sizes_and_sums_and_nothing_else(void **state)
{
    struct spw_graph *graph = layers();
    assert_int_equal(spw_graph_round_up(graph, 4096, 0), 0);
    static const uint64_t bytes[] = {73728, 4096, 4096, 65536};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(graph->tensors[i].bytes, bytes[i]);
    assert_int_equal(graph->persistent_bytes, 73728 + 65536);
    assert_int_equal(graph->peak_bytes, 73728 + 65536 + 4096 + 4096);
    assert_int_equal(graph->least_bytes, 73728 + 4096 + 4096);
    assert_true(graph->compute_us == 100);
    assert_true(graph->tensors[1].d2h_us == 8 && graph->tensors[0].h2d_us == 70000); /* as before */
    assert_int_equal(spw_graph_round_up(graph, 131072, 0), 0);
    assert_true(touched(graph, 1, 2)->side); /* what was a side buffer is one */
    assert_int_equal(spw_graph_round_up(graph, 0, 0), 0);
    assert_int_equal(graph->tensors[1].bytes, 131072);
    spw_graph_destroy(graph);
}

static void what_updates_a_persistent_tensor_cannot_run_again_unless_that_is_small(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 65537, .persistent = true}, {.bytes = 65536, .persistent = true}, {.bytes = 70000}};
    static const struct tiny_op ops[] = {{10, T(0) | T(1), T(2)}, {10, T(2), T(2)}, {10, T(1), T(1)},
                                         {10, T(1), T(2) | T(0)}, {10, T(0), T(0)}, {10, T(0), T(2), .fixed = true}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    for (uint32_t op = 0; op < 6; op++)
        assert_int_equal(spw_graph_can_replay(graph, op), op < 4);
    spw_graph_destroy(graph);
}

/* ---- schedules ---- */

static void schedule_is_a_list_that_grows_and_can_be_copied(void **state)
{
    struct spw_graph *graph = layers();
    struct spw_schedule schedule, copy;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_schedule_init(&copy, graph), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(schedule.start[i], SPW_START_DEVICE);
    assert_int_equal(spw_schedule_copy(&copy, &schedule, graph), 0); /* nothing is a list too */
    assert_int_equal(copy.count, 0);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(spw_schedule_add(&schedule, i % SPW_STEP_KINDS, i), 0);
    schedule.start[3] = SPW_START_CLEAN;
    assert_int_equal(spw_schedule_copy(&copy, &schedule, graph), 0);
    spw_schedule_finish(&schedule);
    assert_int_equal(copy.count, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(copy.steps[i].kind == i % SPW_STEP_KINDS && copy.steps[i].id == i);
    assert_int_equal(copy.start[3], SPW_START_CLEAN);
    spw_schedule_finish(&copy);
    spw_graph_destroy(graph);
}

static void steps_have_the_names_that_files_have(void **state)
{
    static const char *const names[] = {"op", "replay", "d2h", "h2d", "drop", "?"};
    for (int i = 0; i < 6; i++)
        assert_string_equal(spw_step_name((enum spw_step_kind)i), names[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_write_raises_the_version_that_later_operations_read),
        cmocka_unit_test(uses_of_a_tensor_are_its_operations_in_order),
        cmocka_unit_test(in_place_is_said_of_the_read_and_the_write_and_side_where_it_is_small),
        cmocka_unit_test(producer_is_the_operation_that_leaves_the_version),
        cmocka_unit_test(use_from_is_the_first_use_by_that_operation_or_a_later_one),
        cmocka_unit_test(sums_are_those_of_what_is_alive_and_what_may_not_leave),
        cmocka_unit_test(what_an_operation_needs_counts_each_tensor_once),
        cmocka_unit_test(what_is_there_at_the_start_is_alive_from_the_start),
        cmocka_unit_test(copies_take_their_size_at_the_bandwidth_unless_they_say_so),
        cmocka_unit_test(rounding_up_changes_sizes_and_sums_and_nothing_else),
        cmocka_unit_test(what_updates_a_persistent_tensor_cannot_run_again_unless_that_is_small),
        cmocka_unit_test(schedule_is_a_list_that_grows_and_can_be_copied),
        cmocka_unit_test(steps_have_the_names_that_files_have),
    };
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
