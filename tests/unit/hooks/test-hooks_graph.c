/* test-hooks_graph.c - captures are counted right, and every way to give a node an address pins it. */
#include "capture.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fake-engine.h"
#include "graph_pins.h"
#include "hooks.h"
#include "layout.h"
#include "lock.h"
#include "pinning.h"
#include "pointer_tables.h"

/* ---- the driver: one stream that may capture, one kernel with one pointer and one number ---- */

static CUstreamCaptureStatus status;
static CUstream asked_stream;
static CUresult answer;
static unsigned driver_calls; /* sets added and captures begun */

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *ret_status)
{
    asked_stream = stream;
    *ret_status = status;
    return CUDA_SUCCESS;
}

/* Whoever is to make a stream wait looks first whether it captures, with the lock held. */
static CUresult begin(CUstream stream, CUstreamCaptureMode mode)
{
    assert_false(spw_try_lock());
    driver_calls++;
    if (answer == CUDA_SUCCESS)
        status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return answer;
}

static CUresult end(CUstream stream, CUgraph *graph)
{
    if (answer != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
        status = CU_STREAM_CAPTURE_STATUS_NONE;
    return answer;
}

/* None that is known: there is nothing to mark. */
static CUresult no_context(CUcontext *context)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult no_context_of(CUstream stream, CUcontext *context)
{
    return CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult wait_event(CUstream stream, CUevent event, unsigned flags)
{
    const bool was_free = spw_try_lock();
    if (was_free)
        spw_unlock();
    assert_int_equal(was_free, spw_captures_active == 0);
    driver_calls++;
    return answer;
}

static CUresult begin_again(CUstream stream, CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback,
                            void *data)
{
    return begin(stream, mode);
}

static CUresult begin_cig(CUstream stream, CUstreamCigCaptureParams *params)
{
    return begin(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
}

static CUresult end_cig(CUstream stream)
{
    return end(stream, NULL);
}

static CUresult param_info(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    *offset = 8 * i;
    *size = i ? 4 : 8;
    return f == (CUfunction)8 ? CUDA_ERROR_UNKNOWN : i < 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult add_kernel(CUgraphNode *n, CUgraph g, const CUgraphNode *d, size_t c, const CUDA_KERNEL_NODE_PARAMS *p)
{
    return answer;
}

static CUresult set_kernel(CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
    return answer;
}

static CUresult set_exec_kernel(CUgraphExec e, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
{
    return answer;
}

static CUresult set_kernel_attribute(CUgraphNode n, CUkernelNodeAttrID id, const CUkernelNodeAttrValue *value)
{
    return answer;
}

static CUresult add_kernel_v1(CUgraphNode *n, CUgraph g, const CUgraphNode *d, size_t c, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    return answer;
}

static CUresult add_copy(CUgraphNode *n, CUgraph g, const CUgraphNode *d, size_t c, const CUDA_MEMCPY3D *p, CUcontext ctx)
{
    return answer;
}

static CUresult add_set(CUgraphNode *n, CUgraph g, const CUgraphNode *d, size_t c, const CUDA_MEMSET_NODE_PARAMS *p,
                        CUcontext ctx)
{
    driver_calls++;
    return answer;
}

static CUresult add_node(CUgraphNode *n, CUgraph g, const CUgraphNode *d, const CUgraphEdgeData *e, size_t c,
                         CUgraphNodeParams *p)
{
    return answer;
}

static CUresult set_node(CUgraphNode n, CUgraphNodeParams *p)
{
    return answer;
}

static CUresult set_exec_node(CUgraphExec e, CUgraphNode n, CUgraphNodeParams *p)
{
    return answer;
}

static int setup(void **state)
{
    spw_pointer_tables_reset();
    spw_driver.cuStreamIsCapturing = is_capturing;
    spw_driver.cuStreamBeginCapture_v2 = begin;
    spw_driver.cuStreamEndCapture = end;
    spw_driver.cuStreamEndCapture_ptsz = end;
    spw_driver.cuCtxGetCurrent = no_context;
    spw_driver.cuStreamGetCtx = no_context_of;
    spw_driver.cuStreamWaitEvent = spw_driver.cuStreamWaitEvent_ptsz = wait_event;
    spw_driver.cuStreamBeginRecaptureToGraph = spw_driver.cuStreamBeginRecaptureToGraph_ptsz = begin_again;
    spw_driver.cuStreamBeginCaptureToCig = spw_driver.cuStreamBeginCaptureToCig_ptsz = begin_cig;
    spw_driver.cuStreamEndCaptureToCig = spw_driver.cuStreamEndCaptureToCig_ptsz = end_cig;
    spw_driver.cuFuncGetParamInfo = param_info;
    spw_driver.cuGraphAddKernelNode_v2 = add_kernel;
    spw_driver.cuGraphKernelNodeSetParams_v2 = set_kernel;
    spw_driver.cuGraphExecKernelNodeSetParams_v2 = set_exec_kernel;
    spw_driver.cuGraphAddKernelNode = add_kernel_v1;
    spw_driver.cuGraphKernelNodeSetAttribute = set_kernel_attribute;
    spw_driver.cuGraphAddMemcpyNode = add_copy;
    spw_driver.cuGraphAddMemsetNode = add_set;
    spw_driver.cuGraphAddNode_v2 = spw_driver.cuGraphAddNode_v3 = add_node;
    spw_driver.cuGraphExecNodeSetParams = set_exec_node;
    spw_driver.cuGraphNodeSetParams_v2 = set_node;
    answer = CUDA_SUCCESS;
    status = CU_STREAM_CAPTURE_STATUS_NONE;
    asked_stream = NULL;
    spw_captures_active = 0;
    no_room = false;
    driver_calls = 0;
    (void)pinned_nothing();
    lasting = 0;
    return 0;
}

/* ---- capture ---- */

static void nothing_is_asked_while_nothing_captures(void **state)
{
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    assert_false(spw_is_capturing((CUstream)77));
    assert_null(asked_stream);
}

static void a_capture_is_seen_from_its_begin_to_its_end(void **state)
{
    CUgraph graph;
    assert_int_equal(spw_on_cuStreamBeginCapture_v2((CUstream)7, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    assert_true(spw_is_capturing((CUstream)7));
    assert_int_equal(spw_on_cuStreamEndCapture((CUstream)7, &graph), CUDA_SUCCESS);
    assert_false(spw_is_capturing((CUstream)7));
    assert_int_equal(spw_captures_active, 0);
}

static void a_capture_that_did_not_begin_is_not_counted(void **state)
{
    answer = CUDA_ERROR_ILLEGAL_STATE;
    assert_int_equal(spw_on_cuStreamBeginCapture_v2((CUstream)7, CU_STREAM_CAPTURE_MODE_GLOBAL), answer);
    assert_int_equal(spw_captures_active, 0);
}

/* An invalidated capture ends with an error; one that another thread may not end goes on with an error. */
static void an_end_that_fails_counts_when_the_capture_is_over(void **state)
{
    CUgraph graph;
    spw_on_cuStreamBeginCapture_v2((CUstream)7, CU_STREAM_CAPTURE_MODE_GLOBAL);
    answer = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    assert_int_equal(spw_on_cuStreamEndCapture((CUstream)7, &graph), answer);
    assert_int_equal(spw_captures_active, 1);
    answer = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    assert_int_equal(spw_on_cuStreamEndCapture((CUstream)7, &graph), answer);
    assert_int_equal(spw_captures_active, 0);
    assert_int_equal(spw_on_cuStreamEndCapture((CUstream)7, &graph), answer);
    assert_int_equal(spw_captures_active, 0);
}

static void a_per_thread_call_means_the_threads_own_stream(void **state)
{
    CUgraph graph;
    spw_captures_active = 1;
    spw_on_cuStreamEndCapture_ptsz(NULL, &graph);
    assert_ptr_equal(asked_stream, CU_STREAM_PER_THREAD);
}

static void a_stream_joins_a_capture_while_nobody_orders_it(void **state)
{
    for (int captures = 0; captures < 2; captures++)
        for (int failing = 0; failing < 2; failing++) {
            spw_captures_active = captures;
            answer = failing ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
            assert_int_equal(spw_on_cuStreamWaitEvent((CUstream)7, (CUevent)1, 0), answer);
            assert_int_equal(spw_on_cuStreamWaitEvent_ptsz(NULL, (CUevent)1, 0), answer);
            assert_true(spw_try_lock());
            spw_unlock();
        }
    assert_int_equal(driver_calls, 8);
}

/* A graph that is captured anew (13.3), and a graphics command list (13.2). */
static void newer_captures_are_seen_from_their_begin_to_their_end(void **state)
{
    const CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    CUgraph graph;
    assert_int_equal(spw_on_cuStreamBeginRecaptureToGraph((CUstream)7, mode, NULL, NULL, NULL), CUDA_SUCCESS);
    assert_true(spw_is_capturing((CUstream)7));
    assert_int_equal(spw_on_cuStreamEndCapture((CUstream)7, &graph), CUDA_SUCCESS);
    assert_false(spw_is_capturing((CUstream)7));

    assert_int_equal(spw_on_cuStreamBeginCaptureToCig((CUstream)7, NULL), CUDA_SUCCESS);
    assert_true(spw_is_capturing((CUstream)7));
    assert_int_equal(spw_on_cuStreamEndCaptureToCig((CUstream)7), CUDA_SUCCESS);
    assert_int_equal(spw_captures_active, 0);

    assert_int_equal(spw_on_cuStreamBeginRecaptureToGraph_ptsz(NULL, mode, NULL, NULL, NULL), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuStreamEndCapture_ptsz(NULL, &graph), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuStreamBeginCaptureToCig_ptsz(NULL, NULL), CUDA_SUCCESS);
    assert_int_equal(spw_on_cuStreamEndCaptureToCig_ptsz(NULL), CUDA_SUCCESS);
    assert_ptr_equal(asked_stream, CU_STREAM_PER_THREAD);
    assert_int_equal(spw_captures_active, 0);
}

static void an_invalidated_capture_still_counts_as_capturing(void **state)
{
    spw_captures_active = 1;
    status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    assert_true(spw_is_capturing((CUstream)7));
}

/* ---- kernels ---- */

static void a_kernel_node_pins_what_its_parameters_point_to(void **state)
{
    CUdeviceptr a = LOW + 64;
    int number = 1;
    void *params[] = {&a, &number};
    CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)64, .kernelParams = params};
    CUDA_KERNEL_NODE_PARAMS by_kernel = {.kern = (CUkernel)64, .kernelParams = params};
    CUDA_KERNEL_NODE_PARAMS_v1 old = {.func = (CUfunction)64, .kernelParams = params};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = {.func = (CUfunction)64, .kernelParams = params}};

    assert_int_equal(spw_on_cuGraphAddKernelNode_v2(NULL, NULL, NULL, 0, &p), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphKernelNodeSetParams_v2(NULL, &by_kernel), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphExecKernelNodeSetParams_v2(NULL, NULL, &p), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphAddKernelNode(NULL, NULL, NULL, 0, &old), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &any), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphExecNodeSetParams(NULL, NULL, &any), CUDA_SUCCESS);
    assert_true(pinned_only(a));
}

static void a_kernel_node_that_cannot_be_parsed_pins_everything(void **state)
{
    CUdeviceptr a = LOW;
    void *params[] = {&a};
    CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)8, .kernelParams = params};
    spw_on_cuGraphAddKernelNode_v2(NULL, NULL, NULL, 0, &p);
    assert_int_equal(pinned_everything, 1);
}

/* The graph can be launched when no call names the table. */
/* A kernel writes an address into the node that nobody ever sees. */
static void a_kernel_node_that_kernels_may_change_pins_everything(void **state)
{
    const CUkernelNodeAttrID updatable = CU_KERNEL_NODE_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    CUkernelNodeAttrValue value = {.deviceUpdatableKernelNode = {.deviceUpdatable = 1}};
    assert_int_equal(spw_on_cuGraphKernelNodeSetAttribute(NULL, CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value), CUDA_SUCCESS);
    assert_int_equal(pinned_everything, 0);
    assert_int_equal(spw_on_cuGraphKernelNodeSetAttribute(NULL, updatable, &value), CUDA_SUCCESS);
    assert_int_equal(pinned_everything, 1);
    answer = CUDA_ERROR_INVALID_VALUE;
    assert_int_equal(spw_on_cuGraphKernelNodeSetAttribute(NULL, updatable, NULL), CUDA_ERROR_INVALID_VALUE);
    (void)pinned_nothing();
}

static void tables_are_pinned_once_there_is_a_graph(void **state)
{
    CUdeviceptr member = LOW + 4096;
    spw_pointer_tables_learn(LOW, &member, 8, &spw_pinning);
    assert_true(pinned_nothing());
    spw_on_cuStreamBeginCapture_v2((CUstream)7, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_true(pinned_only(member));
}

/* What lasts of it, and until when, is told by test-graph_pins.c. */
static void what_a_node_of_an_executable_graph_is_told_is_pinned(void **state)
{
    const CUgraphExec exec = (CUgraphExec)9;
    CUdeviceptr a = LOW + 24;
    void *params[] = {&a, &a};
    CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)7, .kernelParams = params};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset.dst = a};
    assert_int_equal(spw_on_cuGraphExecKernelNodeSetParams_v2(exec, NULL, &p), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(spw_on_cuGraphExecNodeSetParams(exec, NULL, &any), CUDA_SUCCESS);
    assert_true(pinned_only(a));
    assert_int_equal(lasting, 0); /* for good */
    spw_graph_pins_forget(exec);
}

/* ---- copies, sets, memory operations ---- */

static void a_copy_node_pins_both_ends(void **state)
{
    CUDA_MEMCPY3D in = {
        .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = &in, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = LOW};
    CUDA_MEMCPY3D out = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = LOW + 8, .dstDevice = HIGH};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    any.memcpy.copyParams = out;
    spw_on_cuGraphAddMemcpyNode(NULL, NULL, NULL, 0, &in, NULL);
    assert_true(pinned_only(LOW));
    spw_on_cuGraphAddMemcpyNode(NULL, NULL, NULL, 0, &out, NULL);
    assert_true(pinned_only(LOW + 8));
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &any);
    assert_true(pinned_only(LOW + 8));
}

static void a_set_node_pins_its_destination(void **state)
{
    CUDA_MEMSET_NODE_PARAMS p = {.dst = LOW + 5};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = {.dst = LOW + 6}};
    spw_on_cuGraphAddMemsetNode(NULL, NULL, NULL, 0, &p, NULL);
    assert_true(pinned_only(LOW + 5));
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &any);
    assert_true(pinned_only(LOW + 6));
}

static void a_memory_operation_node_pins_its_word(void **state)
{
    CUstreamBatchMemOpParams op = {.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32, .address = LOW + 16}};
    CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, .memOp = {.count = 1, .paramArray = &op}};
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &any);
    assert_true(pinned_only(LOW + 16));
}

/* A driver may be newer than what we know of nodes: batches of copies are nodes since 13.4. */
static void a_node_of_a_kind_that_is_not_known_pins_everything(void **state)
{
    CUgraphNodeParams newer = {.type = (CUgraphNodeType)99};
    assert_int_equal(spw_on_cuGraphAddNode_v3(NULL, NULL, NULL, NULL, 0, &newer), CUDA_SUCCESS);
    assert_int_equal(pinned_everything, 1);
    assert_int_equal(spw_on_cuGraphNodeSetParams_v2(NULL, &newer), CUDA_SUCCESS);
    assert_int_equal(pinned_everything, 2);
}

static void nodes_without_addresses_pin_nothing(void **state)
{
    CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY}, host = {.type = CU_GRAPH_NODE_TYPE_HOST};
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &empty);
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, &host);
    spw_on_cuGraphAddNode_v2(NULL, NULL, NULL, NULL, 0, NULL);
    assert_true(pinned_nothing());
}

/* ---- the driver's answers ---- */

static void the_drivers_answer_is_passed_on(void **state)
{
    CUDA_MEMSET_NODE_PARAMS p = {.dst = 0};
    answer = CUDA_ERROR_INVALID_CONTEXT;
    assert_int_equal(spw_on_cuGraphAddMemsetNode(NULL, NULL, NULL, 0, &p, NULL), answer);
    spw_driver.cuGraphAddMemsetNode = NULL;
    assert_int_equal(spw_on_cuGraphAddMemsetNode(NULL, NULL, NULL, 0, &p, NULL), CUDA_ERROR_NOT_FOUND);
}

/* A graph on missing memory would be launched without any call that could bring it back. */
static void a_node_whose_memory_cannot_be_pinned_is_refused(void **state)
{
    CUDA_MEMSET_NODE_PARAMS p = {.dst = LOW};
    CUdeviceptr member = LOW + 4096;
    no_room = true;
    assert_int_equal(spw_on_cuGraphAddMemsetNode(NULL, NULL, NULL, 0, &p, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    spw_pointer_tables_learn(LOW, &member, 8, &spw_pinning);
    assert_int_equal(spw_on_cuStreamBeginCapture_v2((CUstream)7, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(driver_calls, 0);
    assert_int_equal(spw_captures_active, 0);
    no_room = false;
    assert_int_equal(spw_on_cuGraphAddMemsetNode(NULL, NULL, NULL, 0, &p, NULL), CUDA_SUCCESS);
    assert_int_equal(driver_calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_asked_while_nothing_captures, setup),
        cmocka_unit_test_setup(a_capture_is_seen_from_its_begin_to_its_end, setup),
        cmocka_unit_test_setup(a_stream_joins_a_capture_while_nobody_orders_it, setup),
        cmocka_unit_test_setup(a_capture_that_did_not_begin_is_not_counted, setup),
        cmocka_unit_test_setup(an_end_that_fails_counts_when_the_capture_is_over, setup),
        cmocka_unit_test_setup(a_per_thread_call_means_the_threads_own_stream, setup),
        cmocka_unit_test_setup(newer_captures_are_seen_from_their_begin_to_their_end, setup),
        cmocka_unit_test_setup(an_invalidated_capture_still_counts_as_capturing, setup),
        cmocka_unit_test_setup(a_kernel_node_pins_what_its_parameters_point_to, setup),
        cmocka_unit_test_setup(a_kernel_node_that_cannot_be_parsed_pins_everything, setup),
        cmocka_unit_test_setup(a_kernel_node_that_kernels_may_change_pins_everything, setup),
        cmocka_unit_test_setup(tables_are_pinned_once_there_is_a_graph, setup),
        cmocka_unit_test_setup(what_a_node_of_an_executable_graph_is_told_is_pinned, setup),
        cmocka_unit_test_setup(a_copy_node_pins_both_ends, setup),
        cmocka_unit_test_setup(a_set_node_pins_its_destination, setup),
        cmocka_unit_test_setup(a_memory_operation_node_pins_its_word, setup),
        cmocka_unit_test_setup(a_node_of_a_kind_that_is_not_known_pins_everything, setup),
        cmocka_unit_test_setup(nodes_without_addresses_pin_nothing, setup),
        cmocka_unit_test_setup(a_node_whose_memory_cannot_be_pinned_is_refused, setup),
        cmocka_unit_test_setup(the_drivers_answer_is_passed_on, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
