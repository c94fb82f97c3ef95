/* hooks_graph.c - counts captures, and pins what a node of a graph may touch when it gets its parameters.
 *
 * Nodes are looked at before the driver is asked, so that nothing is unpinned between its answer and ours. A refused node
 * pins for nothing, which only costs memory. Clones and child graphs have only addresses that some node had before. The
 * addresses of an executable graph are read when it is made and updated (graph_pins.h). */
#include "hooks_wait.h"
#include "hooks_graph.h"
#include "hooks_pin.h"

#include "arena.h"
#include "pin.h"
#include "capture.h"
#include "graph_memory.h"
#include "graph_pins.h"
#include "graph_writes.h"
#include "hooks.h"
#include "layout.h"
#include "lock.h"
#include "outside.h"
#include "scan.h"
#include "streams.h"
#include "pinning.h"
#include "pointer_tables.h"

static const char why_graph[] = "a graph uses it";
static const char why_unparsed[] = "a graph has a kernel whose parameters cannot be parsed";
static const char why_updatable[] = "kernels may give a graph's kernel other parameters";
static const char why_unknown[] = "a graph has a node of a kind that is not known";

/* ---- what is pinned ---- */

/* the parameters are of a node of an executable graph */
static _Thread_local bool is_of_exec;

#define OF_EXEC(look) (is_of_exec = true, (look), is_of_exec = false, spw_graph_pins_tell())

static void pin(CUdeviceptr address)
{
    if (spw_in_arena(address) && is_of_exec)
        spw_graph_pins_gather(address);
    else if (spw_in_arena(address))
        spw_pin_of_node(&address, 1, why_graph);
}

void spw_pin_launch(CUfunction f, void *const *params, void *const *extra)
{
    CUdeviceptr hits[SPW_SCAN_ROOM];
    spw_pointer_tables_pin(why_graph, &spw_pinning);
    int n = spw_scan_launch(spw_layout_of(f), params, extra, spw_arena_low, spw_arena_high, hits, SPW_SCAN_ROOM, NULL);
    if (n < 0)
        spw_pin_everything(why_unparsed);
    for (int i = 0; i < n && is_of_exec; i++)
        spw_graph_pins_gather(hits[i]);
    if (n > 0 && !is_of_exec)
        spw_pin_of_kernel_node(hits, (size_t)n, why_graph);
}

void spw_pin_launch_attribute(CUlaunchAttributeID attribute, const CUlaunchAttributeValue *value)
{
    if (attribute == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && value &&
        value->deviceUpdatableKernelNode.deviceUpdatable)
        spw_pin_everything(why_updatable);
}

static void pin_kernel(const CUDA_KERNEL_NODE_PARAMS *p)
{
    if (p)
        spw_pin_launch(p->func ? p->func : (CUfunction)p->kern, p->kernelParams, p->extra);
}

static void pin_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    if (p)
        spw_pin_launch(p->func, p->kernelParams, p->extra);
}

/* The memory types say which of the addresses count. One that does not count is in no arena, or is there by chance and is
 * pinned for nothing. */
static void pin_copy(const CUDA_MEMCPY3D *p)
{
    if (!p)
        return;
    const struct spw_box box = spw_box_3d(p);
    spw_graph_writes_meet(&box);
    pin(p->srcDevice);
    pin(p->dstDevice);
    pin((CUdeviceptr)(uintptr_t)p->srcHost);
    pin((CUdeviceptr)(uintptr_t)p->dstHost);
}

static void pin_set(const CUDA_MEMSET_NODE_PARAMS *p)
{
    if (!p)
        return;
    const struct spw_box box = spw_graph_writes_set_box(p);
    spw_graph_writes_meet(&box);
    pin(p->dst);
}

/* Converts the parameters to those of a memset node call, which lack the context. */
static CUDA_MEMSET_NODE_PARAMS set_of(const CUgraphNodeParams *p)
{
    return (CUDA_MEMSET_NODE_PARAMS){.dst = p->memset.dst,
                                     .pitch = p->memset.pitch,
                                     .value = p->memset.value,
                                     .elementSize = p->memset.elementSize,
                                     .width = p->memset.width,
                                     .height = p->memset.height};
}

static void pin_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    for (unsigned i = 0; p && p->paramArray && i < p->count; i++)
        spw_pin_memop(&p->paramArray[i]);
}

static void pin_semaphores(const CUDA_EXT_SEM_WAIT_NODE_PARAMS *p)
{
    (void)p; /* whatever it waits for */
    spw_pin_order_is_unseen();
}

static void pin_node(const CUgraphNodeParams *p)
{
    CUDA_MEMSET_NODE_PARAMS set;
    switch (p ? p->type : CU_GRAPH_NODE_TYPE_EMPTY) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        spw_pin_launch(p->kernel.func ? p->kernel.func : (CUfunction)p->kernel.kern, p->kernel.kernelParams,
                       p->kernel.extra);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        pin_copy(&p->memcpy.copyParams);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        set = set_of(p);
        pin_set(&set);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        for (unsigned i = 0; p->memOp.paramArray && i < p->memOp.count; i++)
            spw_pin_memop(&p->memOp.paramArray[i]);
        break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        spw_pin_order_is_unseen();
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        spw_graphs_wait_for_the_program();
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH: /* no addresses, or memory of the graph's own */
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        break;
    default: /* newer than this library, such as batches of copies (13.4) */
        spw_pin_everything(why_unknown);
        break;
    }
}

/* ---- capture ---- */

/* The lock is held until the driver has answered. Another thread with the lock may find that this stream does not capture,
 * and then make it wait for something; that would invalidate a capture which began in between. */
static void before_capture(void)
{
    spw_pointer_tables_pin(why_graph, &spw_pinning);
    spw_lock();
    spw_streams_capture_begins_locked();
    atomic_fetch_add_explicit(&spw_captures_active, 1, memory_order_relaxed);
}

static CUresult begun(CUresult result)
{
    if (result != CUDA_SUCCESS)
        atomic_fetch_sub_explicit(&spw_captures_active, 1, memory_order_relaxed);
    spw_unlock();
    return result;
}

CUresult spw_on_cuStreamBeginCapture(CUstream hStream)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCapture, (hStream)));
}

CUresult spw_on_cuStreamBeginCapture_ptsz(CUstream hStream)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCapture_ptsz, (hStream)));
}

CUresult spw_on_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCapture_v2, (hStream, mode)));
}

CUresult spw_on_cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCapture_v2_ptsz, (hStream, mode)));
}

CUresult spw_on_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                                            const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                            CUstreamCaptureMode mode)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCaptureToGraph,
                              (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)));
}

CUresult spw_on_cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
                                                 const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                                 CUstreamCaptureMode mode)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCaptureToGraph_ptsz,
                              (hStream, hGraph, dependencies, dependencyData, numDependencies, mode)));
}

/* What is captured becomes work of the graphics queue, which no call of ours precedes: the same as with graphs. */
CUresult spw_on_cuStreamBeginCaptureToCig(CUstream hStream, CUstreamCigCaptureParams *streamCigCaptureParams)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCaptureToCig, (hStream, streamCigCaptureParams)));
}

CUresult spw_on_cuStreamBeginCaptureToCig_ptsz(CUstream hStream, CUstreamCigCaptureParams *streamCigCaptureParams)
{
    return begun(SPW_PIN_THEN(before_capture(), cuStreamBeginCaptureToCig_ptsz, (hStream, streamCigCaptureParams)));
}

CUresult spw_on_cuStreamBeginRecaptureToGraph(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
                                              CUgraphRecaptureCallback callbackFunc, void *userData)
{
    return begun(
        SPW_PIN_THEN(before_capture(), cuStreamBeginRecaptureToGraph, (hStream, mode, hGraph, callbackFunc, userData)));
}

CUresult spw_on_cuStreamBeginRecaptureToGraph_ptsz(CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
                                                   CUgraphRecaptureCallback callbackFunc, void *userData)
{
    return begun(
        SPW_PIN_THEN(before_capture(), cuStreamBeginRecaptureToGraph_ptsz, (hStream, mode, hGraph, callbackFunc, userData)));
}

/* A stream that waits for an event of a capture becomes part of that capture: the same as when a capture begins. */
static void before_join(CUstream stream)
{
    spw_lock();
    struct spw_stream *s = spw_is_capturing(stream) ? NULL : spw_stream_of_locked(stream);
    if (s)
        (void)spw_stream_may_be_captured_locked(s); /* without a mark, what waits for the stream fails */
}

static CUresult joined(CUresult result)
{
    spw_unlock();
    return result;
}

CUresult spw_on_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    if (!spw_anything_captures())
        return SPW_DRIVER(cuStreamWaitEvent, (hStream, hEvent, Flags));
    before_join(hStream);
    return joined(SPW_DRIVER(cuStreamWaitEvent, (hStream, hEvent, Flags)));
}

CUresult spw_on_cuStreamWaitEvent_ptsz(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
    if (!spw_anything_captures())
        return SPW_DRIVER(cuStreamWaitEvent_ptsz, (hStream, hEvent, Flags));
    before_join(spw_per_thread(hStream));
    return joined(SPW_DRIVER(cuStreamWaitEvent_ptsz, (hStream, hEvent, Flags)));
}

/* An error may mean that the capture has ended (invalidated, unjoined) or that it goes on (wrong thread, another stream's):
 * the stream itself tells. A stream that is destroyed while it captures is never counted down, which costs one question
 * more for each operation. */
static void count_end(CUstream stream, bool was_capturing)
{
    if (was_capturing && !spw_is_capturing_now(stream))
        atomic_fetch_sub_explicit(&spw_captures_active, 1, memory_order_relaxed);
}

/* A failed capture loses the graph that it captured into. */
static void graph_is_lost(CUstream stream, CUgraph graph)
{
    if (!graph || spw_is_capturing_now(stream))
        return;
    spw_graph_memory_forget(graph);
    spw_graph_memory_settle();
}

CUresult spw_on_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
    bool was_capturing = spw_is_capturing(hStream);
    CUgraph graph = was_capturing ? spw_graph_memory_captured_into(hStream) : NULL;
    CUresult result = SPW_DRIVER(cuStreamEndCapture, (hStream, phGraph));
    if (result != CUDA_SUCCESS)
        graph_is_lost(hStream, graph);
    count_end(hStream, was_capturing);
    return result;
}

CUresult spw_on_cuStreamEndCapture_ptsz(CUstream hStream, CUgraph *phGraph)
{
    CUstream stream = spw_per_thread(hStream);
    bool was_capturing = spw_is_capturing(stream);
    CUgraph graph = was_capturing ? spw_graph_memory_captured_into(stream) : NULL;
    CUresult result = SPW_DRIVER(cuStreamEndCapture_ptsz, (hStream, phGraph));
    if (result != CUDA_SUCCESS)
        graph_is_lost(stream, graph);
    count_end(stream, was_capturing);
    return result;
}

CUresult spw_on_cuStreamEndCaptureToCig(CUstream hStream)
{
    bool was_capturing = spw_is_capturing(hStream);
    CUresult result = SPW_DRIVER(cuStreamEndCaptureToCig, (hStream));
    count_end(hStream, was_capturing);
    return result;
}

CUresult spw_on_cuStreamEndCaptureToCig_ptsz(CUstream hStream)
{
    CUstream stream = spw_per_thread(hStream);
    bool was_capturing = spw_is_capturing(stream);
    CUresult result = SPW_DRIVER(cuStreamEndCaptureToCig_ptsz, (hStream));
    count_end(stream, was_capturing);
    return result;
}

/* ---- memory of the graph's own ---- */

static int promise_node(struct spw_graph_promise *p, const CUgraphNodeParams *params)
{
    if (!params || params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return spw_graph_memory_promise_node(p, NULL);
    const CUDA_MEM_ALLOC_NODE_PARAMS old = {.poolProps = params->alloc.poolProps, .bytesize = params->alloc.bytesize};
    return spw_graph_memory_promise_node(p, &old);
}

static CUresult node_answered(const struct spw_graph_promise *p, CUgraph graph, const CUgraphNodeParams *params,
                              CUresult result)
{
    spw_graph_memory_answered(p, graph, result == CUDA_SUCCESS);
    if (result == CUDA_SUCCESS && params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        spw_outside_lies_at(params->alloc.dptr, params->alloc.bytesize);
    return result;
}

/* ---- nodes of any kind ---- */

CUresult spw_on_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                               size_t numDependencies, CUgraphNodeParams *nodeParams)
{
    struct spw_graph_promise promise;
    if (promise_node(&promise, nodeParams) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result =
        SPW_PIN_THEN(pin_node(nodeParams), cuGraphAddNode, (phGraphNode, hGraph, dependencies, numDependencies, nodeParams));
    return node_answered(&promise, hGraph, nodeParams, result);
}

CUresult spw_on_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                  const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                  CUgraphNodeParams *nodeParams)
{
    struct spw_graph_promise promise;
    if (promise_node(&promise, nodeParams) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = SPW_PIN_THEN(pin_node(nodeParams), cuGraphAddNode_v2,
                                   (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams));
    return node_answered(&promise, hGraph, nodeParams, result);
}

CUresult spw_on_cuGraphAddNode_v3(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                  const CUgraphEdgeData *dependencyData, size_t numDependencies,
                                  CUgraphNodeParams *nodeParams)
{
    struct spw_graph_promise promise;
    if (promise_node(&promise, nodeParams) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = SPW_PIN_THEN(pin_node(nodeParams), cuGraphAddNode_v3,
                                   (phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams));
    return node_answered(&promise, hGraph, nodeParams, result);
}

CUresult spw_on_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return SPW_PIN_THEN(pin_node(nodeParams), cuGraphNodeSetParams, (hNode, nodeParams));
}

CUresult spw_on_cuGraphNodeSetParams_v2(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    return SPW_PIN_THEN(pin_node(nodeParams), cuGraphNodeSetParams_v2, (hNode, nodeParams));
}

/* Notes what the node of the executable graph copies or sets from now on. */
static CUresult changed(CUgraphExec exec, CUgraphNode node, struct spw_box box, CUresult result)
{
    if (result == CUDA_SUCCESS)
        spw_graph_writes_change(exec, node, &box);
    return result;
}

static CUresult exchanged(CUgraphExec exec, CUgraph child, CUresult result)
{
    if (result == CUDA_SUCCESS)
        spw_graph_writes_exchange(exec, child);
    return result;
}

CUresult spw_on_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
    const CUgraph child = nodeParams && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH ? nodeParams->graph.graph : NULL;
    struct spw_lasting held;
    if (spw_graph_pins_begin(&held, child) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult r =
        SPW_PIN_THEN(OF_EXEC(pin_node(nodeParams)), cuGraphExecNodeSetParams, (hGraphExec, hNode, nodeParams));
    (void)spw_graph_pins_told(hGraphExec, hNode, r);
    if (child)
        spw_graph_pins_end_node(&held, r == CUDA_SUCCESS ? hGraphExec : NULL, hNode);
    CUDA_MEMSET_NODE_PARAMS set;
    switch (nodeParams ? nodeParams->type : CU_GRAPH_NODE_TYPE_EMPTY) {
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return changed(hGraphExec, hNode, spw_box_3d(&nodeParams->memcpy.copyParams), r);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        set = set_of(nodeParams);
        return changed(hGraphExec, hNode, spw_graph_writes_set_box(&set), r);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return exchanged(hGraphExec, nodeParams->graph.graph, r);
    default:
        return r;
    }
}

CUresult spw_on_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
    struct spw_lasting held;
    if (spw_graph_pins_begin(&held, childGraph) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    const CUresult r = SPW_DRIVER(cuGraphExecChildGraphNodeSetParams, (hGraphExec, hNode, childGraph));
    spw_graph_pins_end_node(&held, r == CUDA_SUCCESS ? hGraphExec : NULL, hNode);
    return exchanged(hGraphExec, childGraph, r);
}

CUresult spw_on_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
    const CUresult r = SPW_DRIVER(cuGraphNodeSetEnabled, (hGraphExec, hNode, isEnabled));
    if (r == CUDA_SUCCESS)
        spw_graph_writes_enable(hGraphExec, hNode, isEnabled);
    return r;
}

/* The executable graph has the addresses of this graph now; if the update was refused, perhaps some of them. */
static CUresult updated(CUgraphExec exec, CUgraph graph, struct spw_lasting *held, CUresult result)
{
    spw_graph_pins_end(held, exec, result == CUDA_SUCCESS);
    if (result == CUDA_SUCCESS)
        spw_graph_writes_updated(exec, graph);
    return result;
}

CUresult spw_on_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
                                  CUgraphExecUpdateResult *updateResult_out)
{
    struct spw_lasting held;
    if (spw_graph_pins_begin(&held, hGraph) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return updated(hGraphExec, hGraph, &held,
                   SPW_DRIVER(cuGraphExecUpdate, (hGraphExec, hGraph, hErrorNode_out, updateResult_out)));
}

CUresult spw_on_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
    struct spw_lasting held;
    if (spw_graph_pins_begin(&held, hGraph) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return updated(hGraphExec, hGraph, &held, SPW_DRIVER(cuGraphExecUpdate_v2, (hGraphExec, hGraph, resultInfo)));
}

/* ---- nodes of one kind: adding, changing in the graph, changing in the instantiated graph ---- */

#define ADD_NODE(symbol, type, look) \
    CUresult spw_on_##symbol(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, \
                             size_t numDependencies, const type *nodeParams) \
    { \
        return SPW_PIN_THEN(look(nodeParams), symbol, (phGraphNode, hGraph, dependencies, numDependencies, nodeParams)); \
    }

#define ADD_NODE_IN_CONTEXT(symbol, type, look) \
    CUresult spw_on_##symbol(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, \
                             size_t numDependencies, const type *nodeParams, CUcontext ctx) \
    { \
        return SPW_PIN_THEN(look(nodeParams), symbol, \
                            (phGraphNode, hGraph, dependencies, numDependencies, nodeParams, ctx)); \
    }

#define SET_NODE(symbol, type, look) \
    CUresult spw_on_##symbol(CUgraphNode hNode, const type *nodeParams) \
    { \
        return SPW_PIN_THEN(look(nodeParams), symbol, (hNode, nodeParams)); \
    }

#define SET_EXEC_NODE(symbol, type, look) \
    CUresult spw_on_##symbol(CUgraphExec hGraphExec, CUgraphNode hNode, const type *nodeParams) \
    { \
        return spw_graph_pins_told(hGraphExec, hNode, \
                                   SPW_PIN_THEN(OF_EXEC(look(nodeParams)), symbol, (hGraphExec, hNode, nodeParams))); \
    }

#define SET_EXEC_WRITE(symbol, type, look, box_of) \
    CUresult spw_on_##symbol(CUgraphExec hGraphExec, CUgraphNode hNode, const type *nodeParams, CUcontext ctx) \
    { \
        const CUresult r = SPW_PIN_THEN(OF_EXEC(look(nodeParams)), symbol, (hGraphExec, hNode, nodeParams, ctx)); \
        return changed(hGraphExec, hNode, nodeParams ? box_of(nodeParams) : (struct spw_box){0}, \
                       spw_graph_pins_told(hGraphExec, hNode, r)); \
    }

ADD_NODE(cuGraphAddKernelNode, CUDA_KERNEL_NODE_PARAMS_v1, pin_kernel_v1)
ADD_NODE(cuGraphAddKernelNode_v2, CUDA_KERNEL_NODE_PARAMS, pin_kernel)
SET_NODE(cuGraphKernelNodeSetParams, CUDA_KERNEL_NODE_PARAMS_v1, pin_kernel_v1)
SET_NODE(cuGraphKernelNodeSetParams_v2, CUDA_KERNEL_NODE_PARAMS, pin_kernel)
SET_EXEC_NODE(cuGraphExecKernelNodeSetParams, CUDA_KERNEL_NODE_PARAMS_v1, pin_kernel_v1)
SET_EXEC_NODE(cuGraphExecKernelNodeSetParams_v2, CUDA_KERNEL_NODE_PARAMS, pin_kernel)

CUresult spw_on_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    return SPW_PIN_THEN(spw_pin_launch_attribute(attr, value), cuGraphKernelNodeSetAttribute, (hNode, attr, value));
}

ADD_NODE_IN_CONTEXT(cuGraphAddMemcpyNode, CUDA_MEMCPY3D, pin_copy)
SET_NODE(cuGraphMemcpyNodeSetParams, CUDA_MEMCPY3D, pin_copy)
SET_EXEC_WRITE(cuGraphExecMemcpyNodeSetParams, CUDA_MEMCPY3D, pin_copy, spw_box_3d)

ADD_NODE_IN_CONTEXT(cuGraphAddMemsetNode, CUDA_MEMSET_NODE_PARAMS, pin_set)
SET_NODE(cuGraphMemsetNodeSetParams, CUDA_MEMSET_NODE_PARAMS, pin_set)
SET_EXEC_WRITE(cuGraphExecMemsetNodeSetParams, CUDA_MEMSET_NODE_PARAMS, pin_set, spw_graph_writes_set_box)

ADD_NODE(cuGraphAddBatchMemOpNode, CUDA_BATCH_MEM_OP_NODE_PARAMS, pin_memops)
ADD_NODE(cuGraphAddExternalSemaphoresWaitNode, CUDA_EXT_SEM_WAIT_NODE_PARAMS, pin_semaphores)
SET_NODE(cuGraphBatchMemOpNodeSetParams, CUDA_BATCH_MEM_OP_NODE_PARAMS, pin_memops)
SET_EXEC_NODE(cuGraphExecBatchMemOpNodeSetParams, CUDA_BATCH_MEM_OP_NODE_PARAMS, pin_memops)
