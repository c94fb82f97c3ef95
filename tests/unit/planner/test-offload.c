/* test-offload.c - what could leave and when, what greedy takes of it, and what the fluid relaxation comes to. */
#include <math.h>

#include "graphs.h"
#include "stages/offload.h"

/* Three activations of 10, 40 and 20 bytes, made in this order and read again in the other; forward takes 5 us each,
 * backward 10 us; the loss between touches nothing of them. */
static struct spw_graph *make_chain(void)
{
    struct spw_graph *graph = graphs_new();
    static const uint64_t bytes[] = {10, 40, 20};
    uint32_t a[3], d[4];
    for (uint32_t i = 0; i < 3; i++)
        a[i] = graphs_tensor(graph, bytes[i]);
    for (uint32_t i = 0; i < 4; i++)
        d[i] = graphs_tensor(graph, 1);
    graphs_op(graph, 5, NOTHING, LIST(a[0]));
    graphs_op(graph, 5, LIST(a[0]), LIST(a[1]));
    graphs_op(graph, 5, LIST(a[1]), LIST(a[2]));
    graphs_op(graph, 5, NOTHING, LIST(d[3]));
    for (uint32_t i = 3; i-- > 0;)
        graphs_op(graph, 10, LIST(a[i], d[i + 1]), LIST(d[i]));
    graphs_finish(graph);
    return graph;
}

static void leaves_come_in_the_order_in_which_tensors_are_made(void **state)
{
    struct spw_graph *graph = make_chain();
    struct spw_leave *leaves;
    uint32_t count;
    assert_int_equal(spw_offload_leaves(graph, &leaves, &count), 0);
    assert_int_equal(count, 3); /* the gradients never rest */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(leaves[i].tensor, i);
        assert_false(leaves[i].wraps);
        assert_int_equal(leaves[i].to, 6 - i);
    }
    assert_int_equal(leaves[0].from, 2);
    assert_int_equal(leaves[2].from, 3);
    assert_true(leaves[0].idle_us == 10 + 20);
    free(leaves);
    spw_graph_destroy(graph);
}

/* What is used in the middle alone begins and ends on the host; what is used at both ends leaves in between. */
static void persistent_tensors_leave_over_the_boundary_where_they_rest_longest(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t middle = graphs_persistent(graph, 8), ends = graphs_persistent(graph, 8), x = graphs_tensor(graph, 1);
    graphs_op(graph, 5, LIST(ends), LIST(x));
    graphs_op(graph, 5, NOTHING, LIST(x));
    graphs_op(graph, 1, LIST(middle, x), LIST(middle));
    graphs_op(graph, 5, LIST(x), LIST(x));
    graphs_op(graph, 5, LIST(x, ends), LIST(ends));
    graphs_finish(graph);
    struct spw_leave *leaves;
    uint32_t count;
    assert_int_equal(spw_offload_leaves(graph, &leaves, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(leaves[0].tensor, middle); /* the longest rest first */
    assert_true(leaves[0].wraps);
    assert_int_equal(leaves[0].from, 3);
    assert_int_equal(leaves[0].to, 2);
    assert_true(leaves[0].idle_us == 20);
    assert_int_equal(leaves[1].tensor, ends);
    assert_false(leaves[1].wraps);
    assert_true(leaves[1].idle_us == 11);
    free(leaves);
    spw_graph_destroy(graph);
}

static uint32_t take(const struct spw_graph *graph, uint64_t bytes, uint32_t given)
{
    struct spw_leave *leaves;
    uint32_t count, mask = 0;
    bool taken[8] = {false};
    assert_int_equal(spw_offload_leaves(graph, &leaves, &count), 0);
    for (uint32_t i = 0; i < count; i++)
        taken[i] = given >> i & 1;
    assert_int_equal(spw_offload_greedy(graph, bytes, leaves, count, taken), 0);
    for (uint32_t i = 0; i < count; i++)
        mask |= (uint32_t)taken[i] << i;
    free(leaves);
    return mask;
}

static void greedy_takes_the_first_that_help_and_gives_back_what_is_not_needed(void **state)
{
    struct spw_graph *graph = make_chain();
    assert_int_equal(graph->peak_bytes, 10 + 40 + 20 + 2); /* at the first backward */
    assert_int_equal(take(graph, 72, 0), 0);
    assert_int_equal(take(graph, 71, 0), 1);
    assert_int_equal(take(graph, 62, 0), 1);
    assert_int_equal(take(graph, 61, 0), 3);
    /* all taken: what was taken last is given back first, as long as the rest is enough */
    assert_int_equal(take(graph, 72, 7), 0);
    assert_int_equal(take(graph, 71, 7), 1);
    assert_int_equal(take(graph, 61, 7), 3);
    spw_graph_destroy(graph);
}

/* Within 62 bytes the first ten have to be away when the backward begins: they leave while 10 us are computed, and return.
 * Within 52 bytes twenty of them do, and the working sets of the operations fit as they are. */
static void the_relaxation_waits_for_what_has_to_be_away(void **state)
{
    struct spw_graph *graph = make_chain();
    struct spw_fluid fluid;
    assert_int_equal(spw_offload_fluid(graph, 72, &fluid), 0);
    assert_true(fluid.us == graph->compute_us);
    assert_true(fluid.forward_bytes == 0 && fluid.backward_bytes == 0);
    const double before = fluid.us;
    assert_int_equal(spw_offload_fluid(graph, 62, &fluid), 0);
    assert_true(fluid.us >= before && fluid.us < before + 10);
    assert_true(fluid.backward_bytes == 10);
    assert_int_equal(spw_offload_fluid(graph, 60, &fluid), 0);
    assert_true(fluid.us >= before);
    assert_int_equal(spw_offload_fluid(graph, 59, &fluid), 0);
    assert_true(isinf(fluid.us)); /* an operation touches 40 and 20 bytes */
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_come_in_the_order_in_which_tensors_are_made),
        cmocka_unit_test(persistent_tensors_leave_over_the_boundary_where_they_rest_longest),
        cmocka_unit_test(greedy_takes_the_first_that_help_and_gives_back_what_is_not_needed),
        cmocka_unit_test(the_relaxation_waits_for_what_has_to_be_away),
    };
    return cmocka_run_group_tests_name("offload", tests, NULL, NULL);
}
