/* test-graph-execs.c - executable graphs: how long they live, and which changes their nodes take. */
#include "graph_fixture.h"

/* ---- lives ---- */

CHILD_TEST(a_destroyed_graph_is_refused_and_its_exec_goes_on)
{
    CUgraphExec again;
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphDestroy(graph));
    assert_int_equal(cuGraphInstantiate(&again, graph, 0), CUDA_ERROR_INVALID_VALUE);
    run(1);
    assert_true(first() == 1);
}

CHILD_TEST(destroying_an_exec_teaches_the_host_nothing)
{
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecDestroy(exec));
    OK(launch_add(add, memory, COUNT, 1, two));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

/* The exec is gone, and a stream may have its place among the timelines; but nobody has told the host. */
CHILD_TEST(a_new_stream_is_not_ordered_with_an_exec_that_has_ended)
{
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecDestroy(exec));
    for (int i = 0; i < 1000; i++) /* time goes by */
        (void)cuStreamQuery(two);
    OK(launch_add(add, memory, COUNT, 1, new_stream()));
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(a_captured_launch_becomes_a_child_graph)
{
    size_t count = 1;
    CUgraphNode node, inner;
    CUgraphNodeType type;
    graph_start();
    inner = new_add(graph, NULL, 0, 1);
    instantiate();
    OK(exec_set_value(exec, inner, 5));
    CUgraph outer;
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuGraphLaunch(exec, one));
    OK(launch_add(add, memory, COUNT, 1, one));
    OK(cuStreamEndCapture(one, &outer));
    OK(cuGraphGetRootNodes(outer, &node, &count));
    OK(cuGraphNodeGetType(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
    OK(exec_set_value(exec, inner, 100));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    graph = outer;
    instantiate();
    run(2);
    assert_true(first() == 12);
}

CHILD_TEST(what_a_destroyed_exec_still_uses_may_not_be_unmapped)
{
    graph_start();
    memory = new_mapping(GRANULE, NULL);
    (void)new_set(graph, NULL, 0, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecDestroy(exec));
    (void)cuMemUnmap(memory, GRANULE);
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(a_destroyed_exec_is_refused_and_its_launches_end)
{
    graph_start();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
    for (int i = 0; i < 3; i++)
        OK(cuGraphLaunch(exec, one));
    OK(cuGraphExecDestroy(exec));
    assert_int_equal(cuGraphLaunch(exec, one), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(one));
    assert_true(first() == 3);
}

CHILD_TEST(an_event_may_be_destroyed_before_its_graph_runs)
{
    CUgraphNode record, wait;
    graph_start();
    CUevent event = new_event(), other = new_event();
    OK(cuGraphAddEventRecordNode(&record, graph, NULL, 0, event));
    OK(cuGraphAddEventWaitNode(&wait, graph, &record, 1, other));
    (void)new_add(graph, &wait, 1, 1);
    instantiate();
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy(event));
    OK(cuEventDestroy(other));
    for (int i = 0; i < 64; i++) /* whoever takes their place in memory */
        (void)new_event();
    run(2);
    assert_true(first() == 2);
}

CHILD_TEST(event_nodes_order_a_graph_with_other_streams)
{
    CUgraphNode record;
    CUevent event;
    graph_start();
    event = new_event();
    CUgraphNode kernel = new_add(graph, NULL, 0, 1);
    OK(cuGraphAddEventRecordNode(&record, graph, &kernel, 1, event));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuStreamWaitEvent(two, event, 0));
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuCtxSynchronize());
    assert_true(first() == 2);
}

CHILD_TEST(a_wait_node_waits_for_what_was_recorded_at_the_launch)
{
    CUgraphNode wait;
    CUevent event;
    graph_start();
    event = new_event();
    OK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, event));
    (void)new_add(graph, &wait, 1, 1);
    instantiate();
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuEventRecord(event, two));
    run(1);
    assert_true(first() == 2);
}

/* ---- single nodes ---- */

CHILD_TEST(an_exec_takes_new_parameters_for_a_node_of_its_graph)
{
    graph_start();
    CUgraphNode before = new_set(graph, NULL, 0, 0), node = new_add(graph, &before, 1, 1);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(exec_set_value(exec, node, 20));
    run(1);
    assert_true(first() == 20);
    assert_int_equal(exec_set_value(exec, before, 1), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(an_exec_refuses_nodes_of_other_graphs_and_destroyed_ones)
{
    CUgraph clone;
    CUgraphNode cloned;
    graph_start();
    CUgraphNode kept = new_add(graph, NULL, 0, 1), removed = new_empty(graph, &kept, 1),
                gone = new_add(graph, &removed, 1, 1);
    instantiate();
    OK(cuGraphClone(&clone, graph));
    OK(cuGraphNodeFindInClone(&cloned, kept, clone));
    OK(cuGraphDestroyNode(gone));
    assert_int_equal(exec_set_value(exec, cloned, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(exec_set_value(exec, gone, 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(exec_set_value(exec, new_add(graph, NULL, 0, 1), 2), CUDA_ERROR_INVALID_VALUE);
    OK(exec_set_value(exec, kept, 2));
    OK(cuGraphDestroy(graph));
    for (int i = 0; i < 64; i++) /* whoever takes their place in memory */
        assert_int_equal(exec_set_value(exec, new_add(clone, NULL, 0, 1), 2), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(exec_set_value(exec, kept, 2), CUDA_ERROR_INVALID_VALUE);
    run(1);
    assert_true(first() == 3);
}

CHILD_TEST(a_disabled_node_only_orders_until_it_is_enabled_again)
{
    unsigned enabled = 9;
    graph_start();
    CUgraphNode a = new_add(graph, NULL, 0, 1), b = new_add(graph, &a, 1, 10), c = new_add(graph, &b, 1, 100);
    CUgraphNode nothing = new_empty(graph, &c, 1);
    instantiate();
    OK(cuGraphNodeSetEnabled(exec, b, 0));
    OK(cuGraphNodeGetEnabled(exec, b, &enabled));
    assert_int_equal(enabled, 0);
    run(1);
    assert_true(first() == 101);
    OK(cuGraphNodeSetEnabled(exec, b, 5));
    OK(cuGraphNodeGetEnabled(exec, b, &enabled));
    assert_int_equal(enabled, 1);
    run(1);
    assert_true(first() == 212);
    assert_int_equal(cuGraphNodeSetEnabled(exec, nothing, 0), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_copy_of_an_exec_stays_a_plain_one_between_the_same_kinds_of_memory)
{
    CUgraphNode node;
    graph_start();
    char *pinned = new_pinned(BYTES, 0);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = pinned,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory,
                          .WidthInBytes = 64,
                          .Height = 1,
                          .Depth = 1};
    OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    instantiate();
    copy.srcHost = pinned + 64;
    copy.WidthInBytes = 128;
    OK(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
    copy.WidthInBytes = 0;
    assert_int_equal(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context), CUDA_ERROR_INVALID_VALUE);
    copy.WidthInBytes = copy.srcPitch = copy.dstPitch = 64;
    copy.Height = 2;
    assert_int_equal(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context), CUDA_ERROR_INVALID_VALUE);
    copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                           .srcDevice = memory + 64,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = memory,
                           .WidthInBytes = 64,
                           .Height = 1,
                           .Depth = 1};
    assert_int_equal(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_set_of_an_exec_keeps_its_rows)
{
    CUgraphNode flat, rows;
    graph_start();
    CUDA_MEMSET_NODE_PARAMS params = {.dst = memory, .elementSize = 4, .width = 8, .height = 1};
    OK(cuGraphAddMemsetNode(&flat, graph, NULL, 0, &params, context));
    CUDA_MEMSET_NODE_PARAMS matrix = {.dst = memory, .elementSize = 4, .width = 8, .height = 4, .pitch = 64};
    OK(cuGraphAddMemsetNode(&rows, graph, &flat, 1, &matrix, context));
    instantiate();
    params.width = 16;
    OK(cuGraphExecMemsetNodeSetParams(exec, flat, &params, context));
    assert_int_equal(cuGraphExecMemsetNodeSetParams(exec, flat, &matrix, context), CUDA_ERROR_INVALID_VALUE);
    matrix.value = 3;
    OK(cuGraphExecMemsetNodeSetParams(exec, rows, &matrix, context));
    matrix.width = 4;
    assert_int_equal(cuGraphExecMemsetNodeSetParams(exec, rows, &matrix, context), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_refused_event_leaves_the_node_as_it_was)
{
    CUgraphNode record;
    CUevent event, found = NULL;
    graph_start();
    event = new_event();
    OK(cuGraphAddEventRecordNode(&record, graph, NULL, 0, event));
    CUevent gone = new_event();
    OK(cuEventDestroy(gone));
    assert_int_equal(cuGraphEventRecordNodeSetEvent(record, gone), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphEventRecordNodeSetEvent(record, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphEventRecordNodeGetEvent(record, &found));
    assert_ptr_equal(found, event);
}

/* ---- counts ---- */

static void three_launches_of_four(void)
{
    graph_start();
    CUgraphNode node = new_add(graph, NULL, 0, 1);
    for (int i = 0; i < 3; i++)
        node = new_add(graph, &node, 1, 1);
    instantiate();
    run(3);
}

static void nodes_and_launches_are_counted(void **state)
{
    (void)state;
    assert_true(in_child(three_launches_of_four, NULL));
    assert_int_equal(child_stat("launches"), 12);
    assert_int_equal(child_stat("graph_launches"), 3);
}

enum { NODES = 100, LAUNCHES = 20 };

static void hundreds_as_graphs(void)
{
    graph_start();
    CUgraphNode node = new_add(graph, NULL, 0, 1);
    for (int i = 1; i < NODES; i++)
        node = new_add(graph, &node, 1, 1);
    instantiate();
    run(LAUNCHES);
}

static void hundreds_one_by_one(void)
{
    hundreds_as_graphs();
    for (int i = 0; i < NODES * LAUNCHES; i++)
        OK(launch_add(add, memory, COUNT, 1, one));
    OK(cuStreamSynchronize(one));
}

static void a_graph_costs_less_than_its_launches(void **state)
{
    (void)state;
    assert_true(in_child(hundreds_as_graphs, NULL));
    long long as_graphs = child_stat("virtual_ns");
    assert_true(in_child(hundreds_one_by_one, NULL));
    assert_true(child_stat("virtual_ns") - as_graphs > as_graphs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_destroyed_graph_is_refused_and_its_exec_goes_on),
        cmocka_unit_test(destroying_an_exec_teaches_the_host_nothing),
        cmocka_unit_test(a_new_stream_is_not_ordered_with_an_exec_that_has_ended),
        cmocka_unit_test(a_captured_launch_becomes_a_child_graph),
        cmocka_unit_test(what_a_destroyed_exec_still_uses_may_not_be_unmapped),
        cmocka_unit_test(a_destroyed_exec_is_refused_and_its_launches_end),
        cmocka_unit_test(an_event_may_be_destroyed_before_its_graph_runs),
        cmocka_unit_test(event_nodes_order_a_graph_with_other_streams),
        cmocka_unit_test(a_wait_node_waits_for_what_was_recorded_at_the_launch),
        cmocka_unit_test(an_exec_takes_new_parameters_for_a_node_of_its_graph),
        cmocka_unit_test(an_exec_refuses_nodes_of_other_graphs_and_destroyed_ones),
        cmocka_unit_test(a_disabled_node_only_orders_until_it_is_enabled_again),
        cmocka_unit_test(a_copy_of_an_exec_stays_a_plain_one_between_the_same_kinds_of_memory),
        cmocka_unit_test(a_set_of_an_exec_keeps_its_rows),
        cmocka_unit_test(a_refused_event_leaves_the_node_as_it_was),
        cmocka_unit_test(nodes_and_launches_are_counted),
        cmocka_unit_test(a_graph_costs_less_than_its_launches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
