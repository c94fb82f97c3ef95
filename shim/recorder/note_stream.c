/* note_stream.c - waits, the order between streams, captures, and the end of handles, for a trace. */
#include "capture.h"
#include "ask.h"
#include "live.h"
#include "layout.h"
#include "note.h"

/* ---- the host waits ---- */

void spw_noted_cuCtxSynchronize(void)
{
    spw_recorder_wait(SPW_WAIT_CONTEXT, NULL);
}

void spw_noted_cuCtxSynchronize_v2(CUcontext context)
{
    spw_recorder_wait(SPW_WAIT_CONTEXT, NULL);
}

void spw_noted_cuStreamSynchronize(CUstream stream)
{
    spw_recorder_wait(SPW_WAIT_STREAM, NULL);
}

void spw_noted_cuStreamSynchronize_ptsz(CUstream stream)
{
    spw_recorder_wait(SPW_WAIT_STREAM, NULL);
}

void spw_noted_cuEventSynchronize(CUevent event)
{
    spw_recorder_wait(SPW_WAIT_EVENT, event);
}

/* ---- a stream waits ---- */

#define RECORD(symbol, ...) \
    void spw_noted_##symbol(CUevent event, CUstream stream __VA_OPT__(, ) __VA_ARGS__) \
    { \
        spw_recorder_event(event, false); \
    }
RECORD(cuEventRecord)
RECORD(cuEventRecord_ptsz)
RECORD(cuEventRecordWithFlags, unsigned flags)
RECORD(cuEventRecordWithFlags_ptsz, unsigned flags)

void spw_noted_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    spw_recorder_event(event, true);
}

void spw_noted_cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags)
{
    spw_recorder_event(event, true);
}

/* ---- captures: counted here where no hook does ---- */

static void capture_began(void)
{
    if (!(spw_live & SPW_HOOKS))
        atomic_fetch_add_explicit(&spw_captures_active, 1, memory_order_relaxed);
}

static void capture_ended(const CUgraph *graph)
{
    if (!(spw_live & SPW_HOOKS) && spw_anything_captures())
        atomic_fetch_sub_explicit(&spw_captures_active, 1, memory_order_relaxed);
    spw_record_captured(graph ? *graph : NULL);
}

#define BEGIN(symbol, ...) \
    void spw_noted_##symbol(CUstream stream __VA_OPT__(, ) __VA_ARGS__) \
    { \
        capture_began(); \
    }
#define INTO_GRAPH \
    CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode
#define ONTO_GRAPH CUstreamCaptureMode mode, CUgraph graph, CUgraphRecaptureCallback callback, void *data
BEGIN(cuStreamBeginCapture)
BEGIN(cuStreamBeginCapture_ptsz)
BEGIN(cuStreamBeginCapture_v2, CUstreamCaptureMode mode)
BEGIN(cuStreamBeginCapture_v2_ptsz, CUstreamCaptureMode mode)
BEGIN(cuStreamBeginCaptureToGraph, INTO_GRAPH)
BEGIN(cuStreamBeginCaptureToGraph_ptsz, INTO_GRAPH)
BEGIN(cuStreamBeginCaptureToCig, CUstreamCigCaptureParams *params)
BEGIN(cuStreamBeginCaptureToCig_ptsz, CUstreamCigCaptureParams *params)
BEGIN(cuStreamBeginRecaptureToGraph, ONTO_GRAPH)
BEGIN(cuStreamBeginRecaptureToGraph_ptsz, ONTO_GRAPH)

void spw_noted_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    capture_ended(graph);
}

void spw_noted_cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
    capture_ended(graph);
}

void spw_noted_cuStreamEndCaptureToCig(CUstream stream)
{
    capture_ended(NULL);
}

void spw_noted_cuStreamEndCaptureToCig_ptsz(CUstream stream)
{
    capture_ended(NULL);
}

/* ---- graphs become executable, change, and go ---- */

#define INSTANTIATE(symbol, ...) \
    void spw_noted_##symbol(CUgraphExec *exec, CUgraph graph, __VA_ARGS__) \
    { \
        spw_record_instantiated(graph, *exec); \
    }
INSTANTIATE(cuGraphInstantiate, CUgraphNode *node, char *text, size_t size)
INSTANTIATE(cuGraphInstantiate_v2, CUgraphNode *node, char *text, size_t size)
INSTANTIATE(cuGraphInstantiateWithFlags, unsigned long long flags)
INSTANTIATE(cuGraphInstantiateWithParams, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, CUDA_GRAPH_INSTANTIATE_PARAMS *params)

void spw_noted_cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result)
{
    spw_record_instantiated(graph, exec);
}

void spw_noted_cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *result)
{
    spw_record_instantiated(graph, exec);
}

/* It is not known any more what the graph touches. */
#define CHANGED(symbol, what, ...) \
    void spw_noted_##symbol(__VA_ARGS__) \
    { \
        spw_record_graph_gone(what); \
    }
CHANGED(cuGraphDestroy, graph, CUgraph graph)
CHANGED(cuGraphExecDestroy, exec, CUgraphExec exec)
CHANGED(cuGraphExecKernelNodeSetParams, exec, CUgraphExec exec, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
CHANGED(cuGraphExecKernelNodeSetParams_v2, exec, CUgraphExec exec, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS *p)
CHANGED(cuGraphExecMemcpyNodeSetParams, exec, CUgraphExec exec, CUgraphNode n, const CUDA_MEMCPY3D *p, CUcontext c)
CHANGED(cuGraphExecMemsetNodeSetParams, exec, CUgraphExec exec, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext c)
CHANGED(cuGraphExecNodeSetParams, exec, CUgraphExec exec, CUgraphNode n, CUgraphNodeParams *p)

/* ---- handles that mean nothing any more ---- */

void spw_noted_cuStreamDestroy(CUstream stream)
{
    spw_record_stream_gone(stream);
}

void spw_noted_cuStreamDestroy_v2(CUstream stream)
{
    spw_record_stream_gone(stream);
}

void spw_noted_cuEventDestroy(CUevent event)
{
    spw_record_event_gone(event);
}

void spw_noted_cuEventDestroy_v2(CUevent event)
{
    spw_record_event_gone(event);
}

/* If spillway is live, its hooks forget layouts themselves. */
static void functions_gone(const void *owner)
{
    if (!(spw_live & SPW_HOOKS))
        spw_layout_forget(owner);
    spw_record_functions_gone();
}

void spw_noted_cuModuleUnload(CUmodule module)
{
    functions_gone(module);
}

void spw_noted_cuLibraryUnload(CUlibrary library)
{
    functions_gone(library);
}

static void context_gone(CUcontext context)
{
    if (!(spw_live & SPW_HOOKS))
        spw_layout_forget_all();
    spw_record_context_gone(context);
}

void spw_noted_cuCtxDestroy(CUcontext context)
{
    context_gone(context);
}

void spw_noted_cuCtxDestroy_v2(CUcontext context)
{
    context_gone(context);
}

/* The primary context goes: its last holder releases it, or it is reset. Only the driver knows which context that is; it is
 * asked in a way that does not create one. */
void spw_noted_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUcontext context = NULL;
    unsigned flags;
    int active = 0;
    if (SPW_ASK_QUIETLY(cuDevicePrimaryCtxGetState, device, &flags, &active) != CUDA_SUCCESS || !active)
        return;
    if (SPW_ASK_QUIETLY(cuDevicePrimaryCtxRetain, &context, device) != CUDA_SUCCESS)
        return;
    (void)SPW_ASK_QUIETLY(cuDevicePrimaryCtxRelease_v2, device);
    context_gone(context);
}

void spw_noted_cuDevicePrimaryCtxReset(CUdevice device)
{
    spw_noted_cuDevicePrimaryCtxReset_v2(device);
}

/* ---- another context is current ---- */

#define CONTEXT_CHANGED(symbol, ...) \
    void spw_noted_##symbol(__VA_ARGS__) \
    { \
        spw_record_context_changed(); \
    }
CONTEXT_CHANGED(cuCtxSetCurrent, CUcontext context)
CONTEXT_CHANGED(cuCtxPushCurrent, CUcontext context)
CONTEXT_CHANGED(cuCtxPushCurrent_v2, CUcontext context)
CONTEXT_CHANGED(cuCtxPopCurrent, CUcontext *context)
CONTEXT_CHANGED(cuCtxPopCurrent_v2, CUcontext *context)
CONTEXT_CHANGED(cuCtxCreate, CUcontext *context, unsigned flags, CUdevice device)
CONTEXT_CHANGED(cuCtxCreate_v2, CUcontext *context, unsigned flags, CUdevice device)
CONTEXT_CHANGED(cuCtxCreate_v3, CUcontext *context, CUexecAffinityParam *list, int count, unsigned flags, CUdevice device)
CONTEXT_CHANGED(cuCtxCreate_v4, CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice device)
