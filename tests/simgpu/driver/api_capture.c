/* api_capture.c - the calls of stream capture. */
#include "capture.h"
#include "driver.h"

static CUresult enter_stream(struct call *call, const char *name, CUstream handle, struct stream **ret_stream)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS ? stream_resolve(call->context, handle, ret_stream) : r;
}

SIMGPU_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamBeginCapture", stream, &s);
    if (r == CUDA_SUCCESS)
        r = mode <= CU_STREAM_CAPTURE_MODE_RELAXED ? capture_begin(s, NULL, NULL, 0, mode) : CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SIMGPU_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamBeginCaptureToGraph", stream, &s);
    if (r == CUDA_SUCCESS &&
        (!handle_is(HANDLE_GRAPH, graph) || (count && !dependencies) || mode > CU_STREAM_CAPTURE_MODE_RELAXED))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = capture_begin(s, (struct graph *)graph, dependencies, count, mode);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    struct call call;
    struct stream *s;
    struct graph *g = NULL;
    CUresult r = enter_stream(&call, "cuStreamEndCapture", stream, &s);
    if (r == CUDA_SUCCESS)
        r = capture_end(s, &g);
    if (graph)
        *graph = (CUgraph)g;
    return driver_leave(&call, r);
}

static CUstreamCaptureStatus status_of(const struct stream *s)
{
    if (!s->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return s->capture->invalidated ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

SIMGPU_EXPORT CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamIsCapturing", stream, &s);
    if (r == CUDA_SUCCESS && !status)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && s == s->context->legacy && capture_blocks_legacy(s->context))
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (r == CUDA_SUCCESS)
        *status = status_of(s);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                                 CUgraph *graph, const CUgraphNode **dependencies,
                                                 const CUgraphEdgeData **edges, size_t *count)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetCaptureInfo", stream, &s);
    if (r == CUDA_SUCCESS && (!status || (edges && !dependencies)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && s == s->context->legacy && capture_blocks_legacy(s->context))
        r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (r == CUDA_SUCCESS) {
        *status = status_of(s);
        if (id)
            *id = s->capture ? s->capture->id : 0;
        if (graph)
            *graph = s->capture ? (CUgraph)s->capture->graph : NULL;
        if (dependencies)
            *dependencies = (const CUgraphNode *)s->frontier;
        if (edges)
            *edges = NULL;
        if (count)
            *count = s->frontier_count;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                                                 CUgraph *graph, const CUgraphNode **dependencies, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

SIMGPU_EXPORT CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

SIMGPU_EXPORT CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t count,
                                                         unsigned int flags)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamUpdateCaptureDependencies", stream, &s);
    if (r == CUDA_SUCCESS && !s->capture)
        r = CUDA_ERROR_ILLEGAL_STATE;
    if (r == CUDA_SUCCESS && (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !dependencies)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && s->capture->invalidated)
        r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (r == CUDA_SUCCESS)
        r = capture_set_frontier(s, dependencies, count, flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
                                                            const CUgraphEdgeData *edges, size_t count, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}
