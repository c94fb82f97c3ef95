/* test-lineage.c - which operations have to be replayed to make a tensor again, and for how long. */
#include "attempt.h"
#include "plan/lineage.h"

/* The time to recompute version 1 of the tensor before operation `at`, with the input retained or not. */
static double lineage_us(const struct spw_graph *graph, uint32_t tensor, uint32_t at, bool retain_leaves)
{
    struct spw_lineage *lineage;
    assert_int_equal(spw_lineage_create(graph, &lineage), 0);
    const struct spw_lineage_terms terms = {.at = at, .retain_leaves = retain_leaves};
    const double us = spw_lineage_us(lineage, tensor, 1, &terms);
    const uint32_t *retained;
    const uint32_t count = spw_lineage_retained(lineage, &retained);
    assert_true(us < 0 || (retain_leaves ? count == 1 && retained[0] == 0 : count == 0));
    spw_lineage_destroy(lineage);
    return us;
}

static void lineage_counts_each_operation_that_would_be_replayed(void **state)
{
    struct spw_graph *graph = line();
    assert_true(lineage_us(graph, 1, 2, false) == 10);
    assert_true(lineage_us(graph, 2, 4, false) == 20); /* 1 is dead by then */
    assert_true(lineage_us(graph, 2, 1, false) < 0);   /* nobody has made it yet */
    spw_graph_destroy(graph);
    graph = there_and_back(false);
    assert_true(lineage_us(graph, 1, 3, false) < 0); /* the input is gone */
    assert_true(lineage_us(graph, 1, 3, true) == 10);
    spw_graph_destroy(graph);
}

static void lineage_ends_where_what_was_read_is_overwritten(void **state)
{
    static const struct tiny_tensor tensors[] = {{SPW_SIDE_BUFFER_BYTES + 1, .persistent = true}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, 0, T(2)}, {10, T(0), T(0)}, {10, T(1) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_true(lineage_us(graph, 1, 2, false) == 10);
    assert_true(lineage_us(graph, 1, 3, false) < 0);
    assert_true(lineage_us(graph, 2, 3, false) == 10);
    spw_graph_destroy(graph);
}

/* 1 is a side buffer of operation 1, and so small that its replay leaves it alone. */
static void lineage_ends_at_a_side_buffer(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .persistent = true}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(1)}, {10, T(1), T(2)}, {10, T(1) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_int_equal(spw_lineage_maker(graph, 1, 1), 0);
    assert_int_equal(spw_lineage_maker(graph, 1, 2), SPW_NO_INDEX);
    struct attempt a = attempt(graph, 1000);
    *behind(&a, 1, 2) = *behind(&a, 2, 0) = SPW_DROP; /* 2 can be made again as long as 1 is there */
    expect(&a, "op0 op1 op2 drop2 replay2 op3 drop1 drop2");
    attempt_finish(&a);
}

/* 2 is written by a memset, a scatter and an activation in place; each can be replayed, the last two after the ones before.
 */
static void what_several_operations_wrote_is_made_by_all_of_them(void **state)
{
    const uint64_t large = SPW_SIDE_BUFFER_BYTES + 1;
    const struct tiny_tensor tensors[] = {{large, .persistent = true}, {large}, {large}};
    static const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {20, 0, T(2)}, {30, T(1) | T(2), T(2)}, {40, T(2), T(2)}, {10, T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_int_equal(spw_lineage_maker(graph, 2, 3), 3);
    assert_int_equal(spw_lineage_first_maker(graph, 2, 3), 1);
    assert_int_equal(spw_lineage_first_maker(graph, 2, 1), 1);
    assert_int_equal(spw_lineage_first_maker(graph, 1, 1), 0);
    graph->ops[2].replayable = false;
    assert_int_equal(spw_lineage_first_maker(graph, 2, 3), SPW_NO_INDEX);
    assert_int_equal(spw_lineage_first_maker(graph, 2, 1), 1);
    graph->ops[2].replayable = true;
    struct attempt a = attempt(graph, 10 * large);
    *behind(&a, 2, 2) = SPW_DROP;
    expect(&a, "op0 op1 op2 drop1 op3 drop2 replay0 replay1 replay2 replay3 op4 drop2 drop1");
    attempt_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lineage_counts_each_operation_that_would_be_replayed),
        cmocka_unit_test(lineage_ends_at_a_side_buffer),
        cmocka_unit_test(what_several_operations_wrote_is_made_by_all_of_them),
        cmocka_unit_test(lineage_ends_where_what_was_read_is_overwritten),
    };
    return cmocka_run_group_tests_name("lineage", tests, NULL, NULL);
}
