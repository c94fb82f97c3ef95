/* test-graph-updates.c - an executable graph takes over what another graph does, if that has the same shape. */
#include "graph_fixture.h"

static CUgraph other;
static CUgraphExecUpdateResultInfo info;

/* The update is refused for that reason, and nothing has changed: `value` is still what a launch leaves. */
static void assert_refused(CUgraphExecUpdateResult reason, float value)
{
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, reason);
    run(1);
    assert_true(first() == value);
}

CHILD_TEST(an_update_takes_new_parameters)
{
    graph_start();
    CUgraphNode node = new_add(graph, NULL, 0, 1);
    instantiate();
    other = new_graph();
    (void)new_add(other, NULL, 0, 20);
    OK(cuGraphExecUpdate(exec, other, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(cuGraphDestroy(other));
    run(1);
    assert_true(first() == 20);
    OK(exec_set_value(exec, node, 300)); /* the exec still belongs to the first graph */
    run(1);
    assert_true(first() == 320);
}

CHILD_TEST(an_update_reaches_into_child_graphs)
{
    CUgraphNode node, before;
    CUgraph child;
    graph_start();
    other = new_graph();
    for (int i = 0; i < 2; i++) {
        CUgraph g = i ? other : graph;
        child = new_graph();
        before = new_set(child, NULL, 0, i ? 50 : 5);
        (void)new_add(child, &before, 1, 1);
        OK(cuGraphAddChildGraphNode(&node, g, NULL, 0, child));
    }
    instantiate();
    OK(cuGraphExecUpdate(exec, other, &info));
    run(1);
    assert_true(first() == 51);
    OK(cuGraphChildGraphNodeGetGraph(node, &child));
    CUgraphNode extra = new_add(child, NULL, 0, 1);
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 51);
    OK(cuGraphDestroyNode(extra));
    OK(cuGraphExecUpdate(exec, other, &info));
}

CHILD_TEST(an_update_pairs_nodes_along_edges_not_by_their_numbers)
{
    graph_start();
    CUgraphNode a = new_set(graph, NULL, 0, 5);
    (void)new_add(graph, &a, 1, 1);
    instantiate();
    other = new_graph();
    CUgraphNode last = new_add(other, NULL, 0, 2), set = new_set(other, NULL, 0, 70);
    OK(add_edge(other, set, last));
    OK(cuGraphExecUpdate(exec, other, &info));
    run(1);
    assert_true(first() == 72);
}

/* A chain against a star: as many nodes, as many edges into each, more branches. */
CHILD_TEST(an_update_from_a_chain_to_a_star_is_refused)
{
    graph_start();
    other = new_graph();
    CUgraphNode chain = new_add(graph, NULL, 0, 1), hub = new_add(other, NULL, 0, 2), exits[3];
    for (int i = 0; i < 3; i++) {
        chain = new_empty(graph, &chain, 1);
        exits[i] = new_empty(other, &hub, 1);
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 1);
    assert_ptr_equal(info.errorNode, exits[1]);
}

CHILD_TEST(an_update_with_more_nodes_is_refused)
{
    graph_start();
    other = new_graph();
    (void)new_set(graph, NULL, 0, 1);
    CUgraphNode node = new_set(other, NULL, 0, 2);
    (void)new_empty(other, &node, 1);
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 1);
    assert_null(info.errorNode);
}

CHILD_TEST(an_update_with_fewer_exits_is_refused)
{
    graph_start();
    other = new_graph();
    (void)new_set(graph, NULL, 0, 1);
    (void)new_empty(graph, NULL, 0);
    CUgraphNode node = new_set(other, NULL, 0, 2), last = new_empty(other, &node, 1);
    instantiate();
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
    assert_ptr_equal(info.errorNode, last);
}

CHILD_TEST(an_update_with_an_edge_more_is_refused)
{
    CUgraphNode middle[2];
    graph_start();
    other = new_graph();
    for (int i = 0; i < 2; i++) {
        CUgraph g = i ? other : graph;
        CUgraphNode roots[] = {new_empty(g, NULL, 0), new_empty(g, NULL, 0)};
        middle[i] = new_empty(g, roots, i ? 2 : 1);
        (void)new_empty(g, (CUgraphNode[]){middle[i], roots[1]}, 2);
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 0);
    assert_ptr_equal(info.errorNode, middle[1]);
}

/* Two branches that begin at two nodes, against two that begin at the same one. */
CHILD_TEST(an_update_with_an_edge_from_another_node_names_both_ends)
{
    CUgraphNode roots[2], middle[2];
    graph_start();
    other = new_graph();
    for (int i = 0; i < 2; i++) {
        CUgraph g = i ? other : graph;
        roots[0] = new_empty(g, NULL, 0);
        roots[1] = new_empty(g, NULL, 0);
        middle[0] = new_empty(g, &roots[0], 1);
        middle[1] = new_empty(g, &roots[i ? 0 : 1], 1);
        (void)new_empty(g, middle, 2);
        (void)new_empty(g, roots, 2);
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 0);
    assert_ptr_equal(info.errorNode, middle[1]);
    assert_ptr_equal(info.errorFromNode, roots[0]);
}

CHILD_TEST(an_update_to_a_cycle_is_refused)
{
    graph_start();
    other = new_graph();
    for (int i = 0; i < 2; i++) {
        CUgraphNode a = new_empty(i ? other : graph, NULL, 0), b = new_empty(i ? other : graph, &a, 1);
        if (i)
            OK(add_edge(other, b, a));
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, 0);
}

CHILD_TEST(an_update_that_changes_a_type_is_refused)
{
    graph_start();
    other = new_graph();
    CUgraphNode a = new_set(graph, NULL, 0, 1), b = new_set(other, NULL, 0, 2);
    (void)new_empty(graph, &a, 1);
    CUgraphNode last = new_add(other, &b, 1, 3);
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, 1);
    assert_ptr_equal(info.errorNode, last);
}

CHILD_TEST(an_update_that_changes_the_rows_of_a_set_is_refused)
{
    CUgraphNode node;
    graph_start();
    other = new_graph();
    for (unsigned i = 0; i < 2; i++) {
        CUDA_MEMSET_NODE_PARAMS rows = {.dst = memory, .elementSize = 4, .width = 8 + i, .height = 4, .pitch = 64};
        CUgraphNode before = new_set(i ? other : graph, NULL, 0, (float)(i + 1));
        CUgraphNode after = new_add(i ? other : graph, &before, 1, 2);
        rows.dst = memory + BYTES / 2;
        OK(cuGraphAddMemsetNode(&node, i ? other : graph, &after, 1, &rows, context));
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, 3);
    assert_ptr_equal(info.errorNode, node);
}

CHILD_TEST(an_update_to_another_kind_of_memory_is_refused)
{
    CUgraphNode node;
    graph_start();
    other = new_graph();
    void *pinned = new_pinned(BYTES, 0);
    for (int i = 0; i < 2; i++) {
        CUDA_MEMSET_NODE_PARAMS set = {
            .dst = i ? (CUdeviceptr)(uintptr_t)pinned : memory, .elementSize = 4, .width = 8, .height = 1};
        OK(cuGraphAddMemsetNode(&node, i ? other : graph, NULL, 0, &set, context));
    }
    instantiate();
    assert_refused(CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, 0);
}

CHILD_TEST(an_update_with_nothing_to_update_from_tells_an_error)
{
    graph_start();
    instantiate();
    info.result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
    assert_int_equal(cuGraphExecUpdate(exec, NULL, &info), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_takes_new_parameters),
        cmocka_unit_test(an_update_reaches_into_child_graphs),
        cmocka_unit_test(an_update_pairs_nodes_along_edges_not_by_their_numbers),
        cmocka_unit_test(an_update_from_a_chain_to_a_star_is_refused),
        cmocka_unit_test(an_update_with_more_nodes_is_refused),
        cmocka_unit_test(an_update_with_fewer_exits_is_refused),
        cmocka_unit_test(an_update_with_an_edge_more_is_refused),
        cmocka_unit_test(an_update_with_an_edge_from_another_node_names_both_ends),
        cmocka_unit_test(an_update_to_a_cycle_is_refused),
        cmocka_unit_test(an_update_that_changes_a_type_is_refused),
        cmocka_unit_test(an_update_that_changes_the_rows_of_a_set_is_refused),
        cmocka_unit_test(an_update_to_another_kind_of_memory_is_refused),
        cmocka_unit_test(an_update_with_nothing_to_update_from_tells_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
