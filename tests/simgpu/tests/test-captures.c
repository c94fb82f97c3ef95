/* test-captures.c - stream capture: what becomes nodes, what a capture forbids, and how it ends. */
#include "graph_fixture.h"

#include <pthread.h>

static CUevent event;
static CUgraph captured;
static CUstream blocking; /* takes turns with the legacy default stream */

static void start(void)
{
    graph_start();
    event = new_event();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
}

static void begin_mode(CUstreamCaptureMode mode)
{
    start();
    OK(cuStreamBeginCapture(one, mode));
}

static void begin(void)
{
    begin_mode(CU_STREAM_CAPTURE_MODE_GLOBAL);
}

static CUresult end(void)
{
    captured = (CUgraph)&captured; /* the call must change it */
    return cuStreamEndCapture(one, &captured);
}

static CUstreamCaptureStatus status(CUstream s)
{
    CUstreamCaptureStatus found;
    OK(cuStreamIsCapturing(s, &found));
    return found;
}

/* All that an invalid capture of stream one promises, until it ends and after. */
static void is_invalid(void)
{
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(launch_add(add, memory, COUNT, 1, one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuEventRecord(event, one), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(end(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(captured);
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(launch_add(add, memory, COUNT, 1, one));
    OK(cuStreamSynchronize(one));
}

static void is_valid(void)
{
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(end());
    assert_non_null(captured);
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_NONE);
}

/* Lets stream two take part in the capture of stream one. */
static void fork_to_two(void)
{
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
}

static CUgraphNodeType only_type(void)
{
    CUgraphNode node;
    CUgraphNodeType type;
    size_t count = 1;
    OK(cuGraphGetNodes(captured, NULL, &count));
    assert_int_equal(count, 1);
    OK(cuGraphGetNodes(captured, &node, &count));
    OK(cuGraphNodeGetType(node, &type));
    return type;
}

/* ---- what is captured ---- */

CHILD_TEST(what_is_captured_does_not_run)
{
    begin();
    OK(launch_add(add, memory, COUNT, 1, one));
    is_valid();
    OK(cuCtxSynchronize());
    assert_true(first() == 0);
}

CHILD_TEST(capturing_to_a_graph_adds_to_it)
{
    size_t count = 0;
    start();
    CUgraphNode before = new_add(graph, NULL, 0, 1);
    OK(cuStreamBeginCaptureToGraph(one, graph, &before, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_add(add, memory, COUNT, 2, one));
    OK(end());
    assert_ptr_equal(captured, graph);
    OK(cuGraphNodeGetDependentNodes(before, NULL, NULL, &count));
    assert_int_equal(count, 1);
    instantiate();
    run(1);
    assert_true(first() == 3);
}

CHILD_TEST(a_capture_does_not_start_behind_a_node_of_another_graph)
{
    start();
    CUgraphNode foreign = new_empty(new_graph(), NULL, 0);
    assert_int_equal(cuStreamBeginCaptureToGraph(one, graph, &foreign, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCaptureToGraph(one, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

CHILD_TEST(an_invalid_capture_leaves_the_given_graph_alone)
{
    start();
    OK(cuStreamBeginCaptureToGraph(one, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
    (void)new_add(graph, NULL, 0, 1);
    instantiate();
}

CHILD_TEST(the_dependencies_of_a_capture_can_be_replaced)
{
    CUstreamCaptureStatus found;
    CUgraph in;
    const CUgraphNode *nodes;
    size_t count;
    begin();
    OK(launch_add(add, memory, COUNT, 1, one));
    OK(cuStreamGetCaptureInfo(one, &found, NULL, &in, &nodes, NULL, &count));
    assert_int_equal(count, 1);
    CUgraphNode extra = new_empty(in, nodes, 1);
    OK(cuStreamUpdateCaptureDependencies(one, &extra, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(cuStreamGetCaptureInfo(one, &found, NULL, NULL, &nodes, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(nodes[0], extra);
    is_valid();
    assert_ptr_equal(captured, in);
}

CHILD_TEST(the_dependencies_of_a_capture_are_nodes_of_its_graph)
{
    begin();
    CUgraphNode foreign = new_empty(graph, NULL, 0);
    assert_int_equal(cuStreamUpdateCaptureDependencies(one, &foreign, NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamUpdateCaptureDependencies(two, NULL, NULL, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
    is_valid();
}

CHILD_TEST(external_records_and_waits_become_nodes)
{
    start();
    assert_int_equal(cuEventRecordWithFlags(event, one, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuStreamWaitEvent(one, event, CU_EVENT_WAIT_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventRecord(event, two));
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecordWithFlags(event, one, CU_EVENT_RECORD_EXTERNAL));
    OK(end());
    assert_int_equal(only_type(), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    OK(cuEventSynchronize(event));
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamWaitEvent(one, event, CU_EVENT_WAIT_EXTERNAL));
    OK(end());
    assert_int_equal(only_type(), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

/* ---- what makes it invalid ---- */

CHILD_TEST(synchronising_a_capturing_stream_invalidates_the_capture)
{
    begin();
    assert_int_equal(cuStreamSynchronize(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

CHILD_TEST(querying_a_capturing_stream_invalidates_the_capture)
{
    begin();
    assert_int_equal(cuStreamQuery(one), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

CHILD_TEST(synchronising_the_context_invalidates_its_captures)
{
    begin();
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

static void capture_the_event(void)
{
    begin_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(cuEventRecord(event, one));
}

CHILD_TEST(querying_a_captured_event_invalidates_the_capture)
{
    capture_the_event();
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    is_invalid();
}

CHILD_TEST(synchronising_a_captured_event_invalidates_the_capture)
{
    capture_the_event();
    assert_int_equal(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
    is_invalid();
}

CHILD_TEST(a_captured_event_measures_no_time)
{
    start();
    CUevent outside = new_event();
    OK(cuEventRecord(outside, two));
    OK(cuEventRecord(event, two));
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(event, one));
    float ms;
    assert_int_equal(cuEventElapsedTime(&ms, outside, event), CUDA_ERROR_CAPTURED_EVENT);
    is_invalid();
}

CHILD_TEST(an_event_from_outside_is_isolated_from_the_capture)
{
    start();
    OK(cuEventRecord(event, two));
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuStreamWaitEvent(one, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    is_invalid();
}

CHILD_TEST(two_captures_that_would_merge_are_both_invalid)
{
    CUgraph other;
    begin();
    OK(cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuEventRecord(event, two));
    assert_int_equal(cuStreamWaitEvent(one, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assert_int_equal(cuStreamEndCapture(two, &other), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    is_invalid();
}

CHILD_TEST(every_stream_of_an_invalid_capture_is_unusable_until_it_ends)
{
    begin();
    fork_to_two();
    assert_int_equal(cuStreamQuery(two), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(launch_add(add, memory, COUNT, 1, two), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_int_equal(cuStreamWaitEvent(new_stream(), event, 0), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    is_invalid();
    OK(cuStreamSynchronize(two));
}

/* ---- the legacy default stream ---- */

CHILD_TEST(the_legacy_stream_invalidates_a_capture_of_a_blocking_stream)
{
    CUstreamCaptureStatus found;
    start();
    OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
    assert_int_equal(cuStreamIsCapturing(NULL, &found), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamGetCaptureInfo(NULL, &found, NULL, NULL, NULL, NULL, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(status(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(launch_add(add, memory, COUNT, 1, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamSynchronize(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assert_int_equal(cuStreamEndCapture(blocking, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    OK(launch_add(add, memory, COUNT, 1, NULL));
}

CHILD_TEST(the_legacy_stream_is_free_beside_a_capture_of_a_non_blocking_stream)
{
    begin();
    OK(launch_add(add, memory, COUNT, 1, NULL));
    OK(cuStreamSynchronize(NULL));
    is_valid();
    OK(cuCtxSynchronize());
    assert_true(first() == 1);
}

CHILD_TEST(the_legacy_stream_is_not_captured)
{
    start();
    assert_int_equal(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(status(NULL), CU_STREAM_CAPTURE_STATUS_NONE);
}

CHILD_TEST(the_default_stream_of_a_thread_is_captured)
{
    start();
    OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(launch_add(add, memory, COUNT, 1, CU_STREAM_PER_THREAD));
    OK(cuStreamEndCapture(CU_STREAM_PER_THREAD, &captured));
    assert_int_equal(only_type(), CU_GRAPH_NODE_TYPE_KERNEL);
}

/* ---- modes ---- */

static CUresult unsafe_call(void)
{
    CUdeviceptr p;
    return cuMemAlloc(&p, 64);
}

CHILD_TEST(an_allocation_during_a_global_capture_invalidates_it)
{
    begin();
    assert_int_equal(unsafe_call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

CHILD_TEST(an_allocation_during_a_relaxed_capture_is_allowed)
{
    begin_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    OK(unsafe_call());
    is_valid();
}

CHILD_TEST(a_thread_in_relaxed_mode_may_allocate_during_a_capture)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    begin();
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(unsafe_call());
    OK(cuThreadExchangeStreamCaptureMode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    assert_int_equal(unsafe_call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

CHILD_TEST(calls_that_no_stream_orders_are_prohibited)
{
    CUdeviceptr p, range;
    CUmemGenericAllocationHandle handle;
    void *host = malloc(4096), *pinned;
    CUevent outside;
    start();
    outside = new_event();
    OK(cuMemAlloc(&p, GRANULE));
    range = new_mapping(GRANULE, &handle);
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cuMemFree(p), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemHostAlloc(&pinned, 64, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemHostRegister(host, 4096, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemUnmap(range, GRANULE), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemRelease(handle), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuMemcpyDtoH(host, p, 64), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuModuleUnload(module), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_int_equal(cuEventQuery(outside), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
    free(host);
}

struct elsewhere { /* what another thread does, and its answer */
    CUstreamCaptureMode mode;
    CUresult (*call)(void);
    CUresult answer;
};

static void *do_elsewhere(void *argument)
{
    struct elsewhere *e = argument;
    (void)cuCtxSetCurrent(context);
    (void)cuThreadExchangeStreamCaptureMode(&e->mode);
    e->answer = e->call();
    return NULL;
}

static CUresult elsewhere(CUstreamCaptureMode mode, CUresult (*call)(void))
{
    struct elsewhere e = {mode, call, CUDA_SUCCESS};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, do_elsewhere, &e), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return e.answer;
}

CHILD_TEST(a_global_capture_binds_other_threads_in_global_mode)
{
    begin();
    OK(elsewhere(CU_STREAM_CAPTURE_MODE_RELAXED, unsafe_call));
    OK(elsewhere(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, unsafe_call));
    assert_int_equal(status(one), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, unsafe_call), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

CHILD_TEST(a_thread_local_capture_binds_its_own_thread_alone)
{
    begin_mode(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    OK(elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, unsafe_call));
    assert_int_equal(unsafe_call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    is_invalid();
}

/* ---- how it ends ---- */

CHILD_TEST(only_the_origin_ends_a_capture)
{
    begin();
    fork_to_two();
    assert_int_equal(cuStreamEndCapture(two, &captured), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    is_valid();
    assert_int_equal(end(), CUDA_ERROR_ILLEGAL_STATE);
}

CHILD_TEST(a_stream_is_captured_once_at_a_time)
{
    begin();
    assert_int_equal(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
    is_valid();
}

CHILD_TEST(another_thread_ends_relaxed_captures_only)
{
    begin();
    assert_int_equal(elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, end), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    is_valid();
    OK(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL, end));
}

CHILD_TEST(a_branch_that_does_not_come_back_fails_the_capture)
{
    begin();
    fork_to_two();
    OK(launch_add(add, memory, COUNT, 1, two));
    assert_int_equal(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(captured);
    OK(cuStreamSynchronize(two));
}

CHILD_TEST(a_branch_whose_stream_is_destroyed_must_have_come_back)
{
    begin();
    fork_to_two();
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuStreamDestroy(two));
    assert_int_equal(end(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    assert_null(captured);
}

CHILD_TEST(a_branch_that_has_come_back_may_lose_its_stream)
{
    begin();
    fork_to_two();
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuEventRecord(event, two));
    OK(cuStreamWaitEvent(one, event, 0));
    OK(cuStreamDestroy(two));
    is_valid();
}

CHILD_TEST(a_capture_goes_with_the_stream_it_began_on)
{
    begin();
    fork_to_two();
    OK(cuStreamDestroy(one));
    assert_int_equal(status(two), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(unsafe_call());
    assert_int_equal(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuCtxSynchronize());
}

CHILD_TEST(an_event_of_a_capture_that_is_over_is_waited_for_by_nobody)
{
    begin();
    OK(cuEventRecord(event, one));
    is_valid();
    assert_int_equal(cuStreamWaitEvent(two, event, 0), CUDA_ERROR_CAPTURED_EVENT);
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
}

CHILD_TEST(streams_of_another_context_take_part_until_the_end)
{
    CUcontext second;
    CUstream there;
    CUdevice device;
    begin();
    OK(cuCtxGetDevice(&device));
    OK(cuCtxCreate(&second, NULL, 0, device));
    OK(cuStreamCreate(&there, CU_STREAM_NON_BLOCKING));
    OK(cuCtxSetCurrent(context));
    OK(cuEventRecord(event, one));
    OK(cuCtxSetCurrent(second));
    OK(cuStreamWaitEvent(there, event, 0));
    assert_int_equal(status(there), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuCtxSetCurrent(context));
    is_valid();
    OK(cuCtxSetCurrent(second));
    assert_int_equal(status(there), CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamSynchronize(there));
}

CHILD_TEST(a_graph_that_is_being_captured_stays)
{
    start();
    OK(cuStreamBeginCaptureToGraph(one, graph, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUgraphNode node = new_empty(graph, NULL, 0);
    assert_int_equal(cuGraphDestroyNode(node), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
    is_valid();
    OK(cuGraphDestroy(graph));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_captured_does_not_run),
        cmocka_unit_test(capturing_to_a_graph_adds_to_it),
        cmocka_unit_test(a_capture_does_not_start_behind_a_node_of_another_graph),
        cmocka_unit_test(an_invalid_capture_leaves_the_given_graph_alone),
        cmocka_unit_test(the_dependencies_of_a_capture_can_be_replaced),
        cmocka_unit_test(the_dependencies_of_a_capture_are_nodes_of_its_graph),
        cmocka_unit_test(external_records_and_waits_become_nodes),
        cmocka_unit_test(synchronising_a_capturing_stream_invalidates_the_capture),
        cmocka_unit_test(querying_a_capturing_stream_invalidates_the_capture),
        cmocka_unit_test(synchronising_the_context_invalidates_its_captures),
        cmocka_unit_test(querying_a_captured_event_invalidates_the_capture),
        cmocka_unit_test(synchronising_a_captured_event_invalidates_the_capture),
        cmocka_unit_test(a_captured_event_measures_no_time),
        cmocka_unit_test(an_event_from_outside_is_isolated_from_the_capture),
        cmocka_unit_test(two_captures_that_would_merge_are_both_invalid),
        cmocka_unit_test(every_stream_of_an_invalid_capture_is_unusable_until_it_ends),
        cmocka_unit_test(the_legacy_stream_invalidates_a_capture_of_a_blocking_stream),
        cmocka_unit_test(the_legacy_stream_is_free_beside_a_capture_of_a_non_blocking_stream),
        cmocka_unit_test(the_legacy_stream_is_not_captured),
        cmocka_unit_test(the_default_stream_of_a_thread_is_captured),
        cmocka_unit_test(an_allocation_during_a_global_capture_invalidates_it),
        cmocka_unit_test(an_allocation_during_a_relaxed_capture_is_allowed),
        cmocka_unit_test(a_thread_in_relaxed_mode_may_allocate_during_a_capture),
        cmocka_unit_test(calls_that_no_stream_orders_are_prohibited),
        cmocka_unit_test(a_global_capture_binds_other_threads_in_global_mode),
        cmocka_unit_test(a_thread_local_capture_binds_its_own_thread_alone),
        cmocka_unit_test(only_the_origin_ends_a_capture),
        cmocka_unit_test(a_stream_is_captured_once_at_a_time),
        cmocka_unit_test(another_thread_ends_relaxed_captures_only),
        cmocka_unit_test(a_branch_that_does_not_come_back_fails_the_capture),
        cmocka_unit_test(a_branch_whose_stream_is_destroyed_must_have_come_back),
        cmocka_unit_test(a_branch_that_has_come_back_may_lose_its_stream),
        cmocka_unit_test(a_capture_goes_with_the_stream_it_began_on),
        cmocka_unit_test(an_event_of_a_capture_that_is_over_is_waited_for_by_nobody),
        cmocka_unit_test(streams_of_another_context_take_part_until_the_end),
        cmocka_unit_test(a_graph_that_is_being_captured_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
