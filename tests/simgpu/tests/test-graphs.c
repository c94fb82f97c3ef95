/* test-graphs.c - graphs made by hand: what may be built, what a look at them tells, and in which order they run. */
#include "graph_fixture.h"

#include <string.h>

/* ---- building ---- */

CHILD_TEST(nodes_run_after_what_they_depend_on)
{
    graph_start();
    CUgraphNode last = new_add(graph, NULL, 0, 3), set = new_set(graph, NULL, 0, 10);
    OK(add_edge(graph, set, last));
    instantiate();
    run(2);
    assert_true(first() == 13);
}

CHILD_TEST(nodes_that_nothing_orders_are_found)
{
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(two_launches_of_an_exec_follow_each_other_on_any_streams)
{
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(exec, two));
    OK(cuCtxSynchronize());
    assert_true(first() == 2);
}

CHILD_TEST(two_execs_of_a_graph_are_not_ordered)
{
    CUgraphExec other;
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphInstantiate(&other, graph, 0));
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(other, two));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(a_new_node_may_not_depend_on_another_graph)
{
    CUgraphNode node;
    graph_start();
    CUgraphNode foreign = new_empty(new_graph(), NULL, 0);
    assert_int_equal(cuGraphAddEmptyNode(&node, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_new_node_may_not_name_a_dependency_twice)
{
    CUgraphNode node;
    size_t count = 0;
    graph_start();
    CUgraphNode before = new_empty(graph, NULL, 0);
    assert_int_equal(cuGraphAddEmptyNode(&node, graph, (CUgraphNode[]){before, before}, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 1);
}

CHILD_TEST(an_edge_from_or_to_another_graph_is_refused)
{
    graph_start();
    CUgraph other = new_graph();
    CUgraphNode mine = new_empty(graph, NULL, 0), foreign = new_empty(other, NULL, 0);
    assert_int_equal(add_edge(graph, foreign, mine), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(add_edge(graph, mine, foreign), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(add_edge(other, mine, mine), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(the_same_edge_twice_is_refused)
{
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, &a, 1);
    assert_int_equal(add_edge(graph, a, b), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(an_edge_to_the_node_itself_is_refused)
{
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0);
    assert_int_equal(add_edge(graph, a, a), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(edges_are_added_all_together_or_not_at_all)
{
    size_t count = 0;
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, NULL, 0);
    CUgraphNode from[] = {a, b}, to[] = {b, b};
    assert_int_equal(cuGraphAddDependencies(graph, from, to, NULL, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphGetEdges(graph, NULL, NULL, NULL, &count));
    assert_int_equal(count, 0);
}

CHILD_TEST(an_edge_that_does_not_exist_cannot_be_removed)
{
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, &a, 1);
    assert_int_equal(cuGraphRemoveDependencies(graph, &b, &a, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphRemoveDependencies(graph, &a, &b, NULL, 1));
    assert_int_equal(cuGraphRemoveDependencies(graph, &a, &b, NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(instantiating_a_cycle_fails_and_names_a_node_on_it)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, &a, 1), c = new_empty(graph, &b, 1);
    OK(add_edge(graph, c, b));
    assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
    assert_true(params.hErrNode_out == b || params.hErrNode_out == c);
}

CHILD_TEST(a_cycle_in_a_child_graph_is_found)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {0};
    CUgraphNode node;
    graph_start();
    CUgraph child = new_graph();
    CUgraphNode a = new_empty(child, NULL, 0), b = new_empty(child, &a, 1);
    OK(add_edge(child, b, a));
    OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    assert_int_equal(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
    assert_ptr_equal(params.hErrNode_out, node);
}

CHILD_TEST(a_good_graph_leaves_no_error_behind)
{
    CUDA_GRAPH_INSTANTIATE_PARAMS params = {.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD, .result_out = 9};
    cuuint64_t flags = 0;
    graph_start();
    params.hUploadStream = one;
    params.hErrNode_out = new_empty(graph, NULL, 0);
    OK(cuGraphInstantiateWithParams(&exec, graph, &params));
    assert_int_equal(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    assert_null(params.hErrNode_out);
    OK(cuGraphExecGetFlags(exec, &flags));
    assert_int_equal(flags, 0);
}

CHILD_TEST(unknown_flags_are_refused)
{
    graph_start();
    assert_int_equal(cuGraphInstantiate(&exec, graph, 1u << 9), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_removed_node_takes_its_edges_with_it)
{
    size_t count = 1;
    graph_start();
    CUgraphNode a = new_add(graph, NULL, 0, 1), b = new_empty(graph, &a, 1);
    CUgraphNode c = new_set(graph, &b, 1, 5), roots[2];
    OK(cuGraphDestroyNode(b));
    assert_int_equal(cuGraphDestroyNode(b), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphNodeGetDependencies(c, NULL, NULL, &count));
    assert_int_equal(count, 0);
    count = 2;
    OK(cuGraphGetRootNodes(graph, roots, &count));
    assert_int_equal(count, 2);
    assert_ptr_equal(roots[1], c);
}

CHILD_TEST(a_chain_of_a_hundred_thousand_nodes_is_instantiated_and_runs)
{
    enum { LENGTH = 100000 };
    graph_start();
    CUgraphNode first_node = new_add(graph, NULL, 0, 1), node = first_node;
    for (int i = 0; i < LENGTH; i++)
        node = new_empty(graph, &node, 1);
    CUgraphNode last = new_add(graph, &node, 1, 1);
    instantiate();
    run(1);
    assert_true(first() == 2);
    OK(add_edge(graph, last, first_node));
    assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
}

/* The last node first: every node is placed by walking back along all that it depends on. */
CHILD_TEST(a_long_chain_that_was_built_backwards_is_put_in_order)
{
    enum { LENGTH = 30000 };
    graph_start();
    CUgraphNode after = new_add(graph, NULL, 0, 1);
    for (int i = 0; i < LENGTH; i++) {
        CUgraphNode before = new_empty(graph, NULL, 0);
        OK(add_edge(graph, before, after));
        after = before;
    }
    OK(add_edge(graph, new_set(graph, NULL, 0, 7), after));
    instantiate();
    run(1);
    assert_true(first() == 8);
}

/* ---- looking ---- */

CHILD_TEST(a_larger_array_is_cleared_behind_the_nodes)
{
    CUgraphNode nodes[4], roots[4], more[4];
    size_t count = 4;
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, &a, 1);
    memset(nodes, 1, sizeof nodes);
    memset(roots, 1, sizeof roots);
    OK(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    assert_true(nodes[0] == a && nodes[1] == b && !nodes[2] && !nodes[3]);
    count = 4;
    OK(cuGraphGetRootNodes(graph, roots, &count));
    assert_int_equal(count, 1);
    assert_true(roots[0] == a && !roots[1] && !roots[2] && !roots[3]);
    for (int dependents = 0; dependents < 2; dependents++) {
        count = 4;
        memset(more, 1, sizeof more);
        OK(dependents ? cuGraphNodeGetDependentNodes(a, more, NULL, &count)
                      : cuGraphNodeGetDependencies(b, more, NULL, &count));
        assert_int_equal(count, 1);
        assert_true(more[0] == (dependents ? b : a) && !more[1] && !more[2] && !more[3]);
    }
}

CHILD_TEST(a_larger_array_is_cleared_behind_the_edges)
{
    CUgraphNode from[3], to[3];
    CUgraphEdgeData data[3];
    size_t count = 3;
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0), b = new_empty(graph, &a, 1);
    memset(from, 1, sizeof from);
    memset(to, 1, sizeof to);
    memset(data, 1, sizeof data);
    OK(cuGraphGetEdges(graph, from, to, data, &count));
    assert_int_equal(count, 1);
    assert_true(from[0] == a && to[0] == b && data[0].type == 0 && data[0].from_port == 0);
    assert_true(!from[1] && !to[1] && !from[2] && !to[2]);
}

CHILD_TEST(a_smaller_array_gets_what_fits)
{
    CUgraphNode nodes[2] = {NULL, NULL};
    size_t count = 1;
    graph_start();
    CUgraphNode a = new_empty(graph, NULL, 0);
    (void)new_empty(graph, &a, 1);
    OK(cuGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 1);
    assert_true(nodes[0] == a && !nodes[1]);
    OK(cuGraphGetNodes(graph, NULL, &count));
    assert_int_equal(count, 2);
}

CHILD_TEST(results_that_go_nowhere_are_refused)
{
    CUgraphNode from;
    size_t count = 1;
    graph_start();
    CUgraphNode node = new_add(graph, NULL, 0, 1), set = new_set(graph, &node, 1, 0);
    instantiate();
    const CUresult answers[] = {
        cuGraphGetNodes(graph, NULL, NULL),
        cuGraphGetRootNodes(graph, NULL, NULL),
        cuGraphGetEdges(graph, NULL, NULL, NULL, NULL),
        cuGraphGetEdges(graph, &from, NULL, NULL, &count),
        cuGraphNodeGetDependencies(node, NULL, NULL, NULL),
        cuGraphNodeGetDependentNodes(node, NULL, NULL, NULL),
        cuGraphNodeGetType(node, NULL),
        cuGraphClone(NULL, graph),
        cuGraphNodeFindInClone(NULL, node, graph),
        cuGraphKernelNodeGetParams(node, NULL),
        cuGraphMemsetNodeGetParams(set, NULL),
        cuGraphInstantiate(NULL, graph, 0),
        cuGraphInstantiateWithParams(&exec, graph, NULL),
        cuGraphExecGetFlags(exec, NULL),
        cuGraphExecUpdate(exec, graph, NULL),
        cuGraphNodeGetEnabled(exec, node, NULL),
        cuGraphAddDependencies(graph, NULL, NULL, NULL, 1),
        cuGraphRemoveDependencies(graph, NULL, NULL, NULL, 1),
        cuGraphAddEmptyNode(NULL, graph, NULL, 0),
        cuGraphAddEmptyNode(&from, graph, NULL, 1),
        cuGraphCreate(NULL, 0),
    };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        assert_int_equal(answers[i], CUDA_ERROR_INVALID_VALUE);
}

/* ---- clones and child graphs ---- */

CHILD_TEST(a_clone_knows_its_nodes_and_lives_alone)
{
    CUgraph clone;
    CUgraphNode found;
    graph_start();
    CUgraphNode node = new_add(graph, NULL, 0, 7);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&found, node, clone));
    assert_ptr_not_equal(found, node);
    assert_int_equal(cuGraphNodeFindInClone(&found, found, clone), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphNodeFindInClone(&found, new_empty(graph, NULL, 0), clone), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphDestroy(graph));
    assert_int_equal(cuGraphNodeFindInClone(&found, node, clone), CUDA_ERROR_INVALID_VALUE);
    graph = clone;
    instantiate();
    run(1);
    assert_true(first() == 7);
}

CHILD_TEST(a_removed_clone_of_a_node_is_not_found)
{
    CUgraph clone;
    CUgraphNode a, found;
    graph_start();
    a = new_empty(graph, NULL, 0);
    CUgraphNode b = new_empty(graph, &a, 1), c = new_empty(graph, &b, 1);
    OK(cuGraphClone(&clone, graph));
    (void)new_empty(clone, NULL, 0);
    OK(cuGraphNodeFindInClone(&found, b, clone));
    OK(cuGraphDestroyNode(found));
    assert_int_equal(cuGraphNodeFindInClone(&found, b, clone), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphNodeFindInClone(&found, c, clone));
}

CHILD_TEST(a_child_graph_runs_where_its_node_stands)
{
    CUgraphNode node;
    graph_start();
    CUgraph child = new_graph();
    CUgraphNode a = new_add(child, NULL, 0, 1);
    (void)new_add(child, &a, 1, 1);
    CUgraphNode before = new_add(graph, NULL, 0, 10);
    OK(cuGraphAddChildGraphNode(&node, graph, &before, 1, child));
    (void)new_add(graph, &node, 1, 100);
    instantiate();
    run(2);
    assert_true(first() == 224);
}

CHILD_TEST(a_node_beside_a_child_graph_is_not_ordered_with_it)
{
    CUgraphNode node;
    graph_start();
    CUgraph child = new_graph();
    (void)new_add(child, NULL, 0, 1);
    (void)new_add(graph, NULL, 0, 10);
    OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(an_embedded_graph_may_be_changed_but_not_destroyed)
{
    CUgraph child = NULL, clone;
    CUgraphNode node, cloned;
    graph_start();
    OK(cuGraphAddChildGraphNode(&node, graph, NULL, 0, new_graph()));
    OK(cuGraphChildGraphNodeGetGraph(node, &child));
    assert_int_equal(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
    (void)new_add(child, NULL, 0, 4);
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&cloned, node, clone));
    OK(cuGraphChildGraphNodeGetGraph(cloned, &child));
    (void)new_set(child, NULL, 0, 9);
    instantiate();
    run(1);
    assert_true(first() == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_run_after_what_they_depend_on),
        cmocka_unit_test(nodes_that_nothing_orders_are_found),
        cmocka_unit_test(two_launches_of_an_exec_follow_each_other_on_any_streams),
        cmocka_unit_test(two_execs_of_a_graph_are_not_ordered),
        cmocka_unit_test(a_new_node_may_not_depend_on_another_graph),
        cmocka_unit_test(a_new_node_may_not_name_a_dependency_twice),
        cmocka_unit_test(an_edge_from_or_to_another_graph_is_refused),
        cmocka_unit_test(the_same_edge_twice_is_refused),
        cmocka_unit_test(an_edge_to_the_node_itself_is_refused),
        cmocka_unit_test(edges_are_added_all_together_or_not_at_all),
        cmocka_unit_test(an_edge_that_does_not_exist_cannot_be_removed),
        cmocka_unit_test(instantiating_a_cycle_fails_and_names_a_node_on_it),
        cmocka_unit_test(a_cycle_in_a_child_graph_is_found),
        cmocka_unit_test(a_good_graph_leaves_no_error_behind),
        cmocka_unit_test(unknown_flags_are_refused),
        cmocka_unit_test(a_removed_node_takes_its_edges_with_it),
        cmocka_unit_test(a_chain_of_a_hundred_thousand_nodes_is_instantiated_and_runs),
        cmocka_unit_test(a_long_chain_that_was_built_backwards_is_put_in_order),
        cmocka_unit_test(a_larger_array_is_cleared_behind_the_nodes),
        cmocka_unit_test(a_larger_array_is_cleared_behind_the_edges),
        cmocka_unit_test(a_smaller_array_gets_what_fits),
        cmocka_unit_test(results_that_go_nowhere_are_refused),
        cmocka_unit_test(a_clone_knows_its_nodes_and_lives_alone),
        cmocka_unit_test(a_removed_clone_of_a_node_is_not_found),
        cmocka_unit_test(a_child_graph_runs_where_its_node_stands),
        cmocka_unit_test(a_node_beside_a_child_graph_is_not_ordered_with_it),
        cmocka_unit_test(an_embedded_graph_may_be_changed_but_not_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
