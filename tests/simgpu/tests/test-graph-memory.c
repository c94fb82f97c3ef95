/* test-graph-memory.c - memory that graphs allocate: one address, there from its allocation to its free and no longer. */
#include "graph_fixture.h"

#include <string.h>

static CUdeviceptr inside; /* what new_allocation() made */

static CUgraphNode new_allocation(CUgraph in)
{
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {
        .poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
        .bytesize = BYTES,
    };
    OK(cuGraphAddMemAllocNode(&node, in, NULL, 0, &params));
    inside = params.dptr;
    return node;
}

/* Sets `inside` to 1 and copies it to `memory`. */
static CUgraphNode new_use(CUgraph in, CUgraphNode after)
{
    CUgraphNode node;
    const float value = 1;
    CUDA_MEMSET_NODE_PARAMS set = {.dst = inside, .elementSize = 4, .width = COUNT, .height = 1};
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = inside,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = memory,
                          .WidthInBytes = BYTES,
                          .Height = 1,
                          .Depth = 1};
    memcpy(&set.value, &value, sizeof value);
    OK(cuGraphAddMemsetNode(&node, in, &after, 1, &set, context));
    OK(cuGraphAddMemcpyNode(&node, in, &node, 1, &copy, context));
    return node;
}

static CUgraphNode new_free(CUgraph in, CUgraphNode after)
{
    CUgraphNode node;
    OK(cuGraphAddMemFreeNode(&node, in, &after, 1, inside));
    return node;
}

static CUresult touch(CUstream stream)
{
    OK(launch_add(add, inside, COUNT, 1, stream));
    return cuStreamSynchronize(stream);
}

static cuuint64_t bytes_of(CUgraphMem_attribute attribute)
{
    cuuint64_t bytes;
    OK(cuDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

/* ---- one graph ---- */

CHILD_TEST(a_graph_uses_what_it_allocates_in_every_launch)
{
    graph_start();
    (void)new_free(graph, new_use(graph, new_allocation(graph)));
    instantiate();
    run(1);
    assert_true(first() == 1);
    OK(cuMemsetD8(memory, 0, BYTES));
    OK(cuCtxSynchronize());
    run(2);
    assert_true(first() == 1);
}

CHILD_TEST(memory_is_not_there_before_its_allocation)
{
    graph_start();
    (void)new_allocation(graph);
    assert_int_equal(touch(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(memory_is_not_there_after_its_free)
{
    graph_start();
    (void)new_free(graph, new_use(graph, new_allocation(graph)));
    instantiate();
    run(1);
    assert_int_equal(touch(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(a_kernel_that_declares_nothing_faults_after_the_free)
{
    graph_start();
    (void)new_free(graph, new_allocation(graph));
    instantiate();
    run(1);
    OK(launch_add(guessed, inside, COUNT, 1, one));
    assert_int_equal(cuStreamSynchronize(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(a_node_beside_the_allocation_is_not_ordered_with_it)
{
    CUgraphNode node;
    graph_start();
    (void)new_allocation(graph);
    CUDA_MEMSET_NODE_PARAMS set = {.dst = inside, .elementSize = 4, .width = COUNT, .height = 1};
    OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_not_equal(cuStreamSynchronize(one), CUDA_SUCCESS);
}

CHILD_TEST(a_node_beside_the_free_is_not_ordered_with_it)
{
    graph_start();
    CUgraphNode allocation = new_allocation(graph);
    (void)new_use(graph, allocation);
    (void)new_free(graph, allocation);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_not_equal(cuStreamSynchronize(one), CUDA_SUCCESS);
}

/* ---- what stays allocated ---- */

CHILD_TEST(what_is_not_freed_is_there_after_the_launch)
{
    graph_start();
    (void)new_use(graph, new_allocation(graph));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(touch(one));
    OK(cuMemFreeAsync(inside, one));
    assert_int_equal(touch(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

CHILD_TEST(other_streams_must_wait_for_the_launch_that_allocates)
{
    graph_start();
    (void)new_use(graph, new_allocation(graph));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_not_equal(touch(two), CUDA_SUCCESS);
}

CHILD_TEST(a_launch_is_refused_while_its_allocation_is_not_freed)
{
    graph_start();
    (void)new_use(graph, new_allocation(graph));
    instantiate();
    run(1);
    assert_int_equal(cuGraphLaunch(exec, one), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(inside, one));
    assert_int_equal(cuMemFreeAsync(inside, one), CUDA_ERROR_INVALID_VALUE);
    run(1);
    OK(cuMemFree(inside));
    assert_int_equal(cuMemFree(inside), CUDA_ERROR_INVALID_VALUE);
    run(1);
    OK(touch(one));
}

CHILD_TEST(a_launch_frees_by_itself_where_that_was_asked_for)
{
    graph_start();
    (void)new_use(graph, new_allocation(graph));
    OK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphLaunch(exec, two));
    OK(touch(two));
    assert_true(first() == 1);
}

CHILD_TEST(memory_lives_longer_than_graph_and_exec_while_it_is_allocated)
{
    graph_start();
    (void)new_allocation(graph);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    OK(cuGraphDestroy(graph));
    OK(cuGraphExecDestroy(exec));
    OK(touch(one));
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
    OK(cuMemFreeAsync(inside, one));
    OK(cuStreamSynchronize(one));
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
    assert_int_equal(cuMemFreeAsync(inside, one), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(another_graph_may_free_what_is_allocated)
{
    CUgraphExec second;
    CUgraphNode node;
    graph_start();
    (void)new_use(graph, new_allocation(graph));
    instantiate();
    CUgraph other = new_graph();
    OK(cuGraphAddMemFreeNode(&node, other, NULL, 0, inside));
    OK(cuGraphInstantiate(&second, other, 0));
    assert_int_equal(cuGraphLaunch(second, one), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++) {
        OK(cuGraphLaunch(exec, one));
        OK(cuGraphLaunch(second, one));
    }
    assert_int_equal(cuGraphLaunch(second, one), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(touch(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- what is refused ---- */

CHILD_TEST(memory_is_freed_once_and_by_one_graph_or_outside)
{
    CUgraphNode node;
    graph_start();
    CUgraph other = new_graph();
    (void)new_free(graph, new_allocation(graph));
    assert_int_equal(cuGraphAddMemFreeNode(&node, graph, NULL, 0, inside), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphAddMemFreeNode(&node, other, NULL, 0, inside), CUDA_ERROR_INVALID_VALUE);
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_equal(cuMemFreeAsync(inside, one), CUDA_ERROR_INVALID_VALUE);
    (void)new_allocation(graph);
    OK(cuGraphAddMemFreeNode(&node, other, NULL, 0, inside));
    assert_int_equal(cuGraphAddMemFreeNode(&node, other, NULL, 0, inside), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphAddMemFreeNode(&node, graph, NULL, 0, inside), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_graph_frees_only_what_graphs_allocate)
{
    CUgraphNode node;
    graph_start();
    (void)new_allocation(graph);
    assert_int_equal(cuGraphAddMemFreeNode(&node, graph, NULL, 0, memory), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphAddMemFreeNode(&node, graph, NULL, 0, inside + 256), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphAddMemFreeNode(&node, graph, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(a_graph_with_memory_has_one_exec_at_a_time)
{
    CUgraphExec second;
    graph_start();
    (void)new_free(graph, new_use(graph, new_allocation(graph)));
    instantiate();
    OK(cuGraphLaunch(exec, one));
    assert_int_equal(cuGraphInstantiate(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphExecDestroy(exec));
    instantiate();
    run(1);
    assert_true(first() == 1);
}

CHILD_TEST(a_graph_with_memory_only_grows_and_has_no_double)
{
    CUgraph clone, child;
    CUgraphNode node;
    graph_start();
    CUgraphNode a = new_allocation(graph), b = new_free(graph, a), c = new_empty(graph, NULL, 0);
    assert_int_equal(cuGraphDestroyNode(c), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphRemoveDependencies(graph, &a, &b, NULL, 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphClone(&clone, graph), CUDA_ERROR_INVALID_VALUE);
    CUgraph other = new_graph();
    assert_int_equal(cuGraphAddChildGraphNode(&node, other, NULL, 0, graph), CUDA_ERROR_INVALID_VALUE);
    OK(cuGraphAddChildGraphNode(&node, other, NULL, 0, new_graph()));
    OK(cuGraphChildGraphNodeGetGraph(node, &child));
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    OK(cuGraphMemAllocNodeGetParams(a, &params));
    assert_true(params.dptr == inside && params.bytesize == BYTES);
    assert_int_equal(cuGraphAddMemAllocNode(&node, child, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    assert_int_equal(cuGraphAddMemAllocNode(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
}

CHILD_TEST(an_update_to_another_allocation_is_not_supported)
{
    CUgraphExecUpdateResultInfo info;
    graph_start();
    (void)new_free(graph, new_allocation(graph));
    instantiate();
    OK(cuGraphExecUpdate(exec, graph, &info));
    CUgraph other = new_graph();
    (void)new_free(other, new_allocation(other));
    assert_int_equal(cuGraphExecUpdate(exec, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED);
}

/* ---- captured ---- */

CHILD_TEST(allocations_are_captured_with_their_frees)
{
    CUgraph captured;
    graph_start();
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemAllocAsync(&inside, BYTES, one));
    OK(cuMemsetD32Async(inside, 0x40000000, COUNT, one));
    OK(cuMemcpyDtoDAsync(memory, inside, BYTES, one));
    OK(cuMemFreeAsync(inside, one));
    OK(cuStreamEndCapture(one, &captured));
    graph = captured;
    instantiate();
    run(2);
    assert_true(first() == 2);
    assert_int_equal(touch(one), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- counts ---- */

CHILD_TEST(memory_of_graphs_is_counted)
{
    cuuint64_t zero = 0, some = 1;
    graph_start();
    (void)new_allocation(graph);
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), BYTES);
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
    instantiate();
    run(1);
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), BYTES);
    OK(cuMemFreeAsync(inside, one));
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), BYTES);
    assert_int_equal(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &some), CUDA_ERROR_INVALID_VALUE);
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    assert_int_equal(bytes_of(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
    assert_int_equal(cuDeviceGraphMemTrim(7), CUDA_ERROR_INVALID_DEVICE);
}

static void leave_an_allocation(void)
{
    graph_start();
    (void)new_allocation(graph);
    instantiate();
    run(1);
    OK(cuMemFree(memory));
}

static void an_allocation_that_is_never_freed_is_counted_at_exit(void **state)
{
    (void)state;
    assert_true(in_child(leave_an_allocation, NULL));
    assert_int_equal(child_stat("live_allocations_at_exit"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_uses_what_it_allocates_in_every_launch),
        cmocka_unit_test(memory_is_not_there_before_its_allocation),
        cmocka_unit_test(memory_is_not_there_after_its_free),
        cmocka_unit_test(a_kernel_that_declares_nothing_faults_after_the_free),
        cmocka_unit_test(a_node_beside_the_allocation_is_not_ordered_with_it),
        cmocka_unit_test(a_node_beside_the_free_is_not_ordered_with_it),
        cmocka_unit_test(what_is_not_freed_is_there_after_the_launch),
        cmocka_unit_test(other_streams_must_wait_for_the_launch_that_allocates),
        cmocka_unit_test(a_launch_is_refused_while_its_allocation_is_not_freed),
        cmocka_unit_test(a_launch_frees_by_itself_where_that_was_asked_for),
        cmocka_unit_test(memory_lives_longer_than_graph_and_exec_while_it_is_allocated),
        cmocka_unit_test(another_graph_may_free_what_is_allocated),
        cmocka_unit_test(memory_is_freed_once_and_by_one_graph_or_outside),
        cmocka_unit_test(a_graph_frees_only_what_graphs_allocate),
        cmocka_unit_test(a_graph_with_memory_has_one_exec_at_a_time),
        cmocka_unit_test(a_graph_with_memory_only_grows_and_has_no_double),
        cmocka_unit_test(an_update_to_another_allocation_is_not_supported),
        cmocka_unit_test(allocations_are_captured_with_their_frees),
        cmocka_unit_test(memory_of_graphs_is_counted),
        cmocka_unit_test(an_allocation_that_is_never_freed_is_counted_at_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
