/* streams.c - the calls on streams that exist in a legacy and a per-thread form. Compiled twice. */
#include "runtime.h"
#include "program.h"
#include <stdlib.h>

RT_FORWARD(cudaStreamGetPriority, (cudaStream_t stream, int *priority), cuStreamGetPriority(stream, priority))
RT_FORWARD(cudaStreamGetFlags, (cudaStream_t stream, unsigned int *flags), cuStreamGetFlags(stream, flags))
RT_FORWARD(cudaStreamGetId, (cudaStream_t stream, unsigned long long *id), cuStreamGetId(stream, id))
RT_FORWARD(cudaStreamGetDevice, (cudaStream_t stream, int *device), cuStreamGetDevice(stream, device))
RT_FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
           cuStreamWaitEvent(stream, event, flags))
RT_FORWARD(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize(stream))
RT_FORWARD(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery(stream))
RT_FORWARD(cudaStreamAttachMemAsync, (cudaStream_t stream, void *address, size_t bytes, unsigned int flags),
           cuStreamAttachMemAsync(stream, (CUdeviceptr)address, bytes, flags))
RT_FORWARD(cudaStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), cuStreamCopyAttributes(to, from))
RT_FORWARD(cudaStreamGetAttribute, (cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue *value),
           cuStreamGetAttribute(stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value))
RT_FORWARD(cudaStreamSetAttribute, (cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue *value),
           cuStreamSetAttribute(stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value))

RT_FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord(event, stream))
RT_FORWARD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
           cuEventRecordWithFlags(event, stream, flags))

RT_FORWARD(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
           cuStreamBeginCapture(stream, (CUstreamCaptureMode)mode))
RT_FORWARD(cudaStreamBeginCaptureToGraph,
           (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges,
            size_t count, enum cudaStreamCaptureMode mode),
           cuStreamBeginCaptureToGraph(stream, graph, dependencies, (const CUgraphEdgeData *)edges, count,
                                       (CUstreamCaptureMode)mode))
RT_FORWARD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), cuStreamEndCapture(stream, graph))
RT_FORWARD(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
           cuStreamIsCapturing(stream, (CUstreamCaptureStatus *)status))
RT_FORWARD(cudaStreamGetCaptureInfo,
           (cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph,
            const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count),
           cuStreamGetCaptureInfo(stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph, dependencies,
                                  (const CUgraphEdgeData **)edges, count))
RT_FORWARD(cudaStreamUpdateCaptureDependencies,
           (cudaStream_t stream, cudaGraphNode_t *dependencies, const cudaGraphEdgeData *edges, size_t count,
            unsigned int flags),
           cuStreamUpdateCaptureDependencies(stream, dependencies, (const CUgraphEdgeData *)edges, count, flags))

RT_FORWARD(cudaGraphInstantiateWithParams,
           (cudaGraphExec_t * executable, cudaGraph_t graph, cudaGraphInstantiateParams *parameters),
           cuGraphInstantiateWithParams(executable, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)parameters))
RT_FORWARD(cudaGraphUpload, (cudaGraphExec_t executable, cudaStream_t stream), cuGraphUpload(executable, stream))
RT_FORWARD(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream), cuGraphLaunch(executable, stream))

cudaError_t CUDARTAPI cudaFreeAsync(void *address, cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess) {
        rt_tensor_gone(address);
        error = rt_error(DRIVER->cuMemFreeAsync((CUdeviceptr)address, stream));
    }
    return rt_leave(error);
}

/* cudaMalloc() and its kin answer a request for no bytes with no memory, and that is no error. */
cudaError_t CUDARTAPI cudaMallocAsync(void **address, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = address ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess && bytes == 0)
        *address = NULL;
    else if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemAllocAsync((CUdeviceptr *)address, bytes, stream));
    if (error == cudaSuccess)
        rt_tensor_made(*address, bytes);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
{
    cudaError_t error = address ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess && bytes == 0)
        *address = NULL;
    else if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemAllocFromPoolAsync((CUdeviceptr *)address, bytes, pool, stream));
    if (error == cudaSuccess)
        rt_tensor_made(*address, bytes);
    return rt_leave(error);
}

RT_FORWARD(cudaMemPrefetchAsync,
           (const void *address, size_t bytes, struct cudaMemLocation location, unsigned int flags, cudaStream_t stream),
           cuMemPrefetchAsync((CUdeviceptr)address, bytes, (CUmemLocation){(CUmemLocationType)location.type, location.id},
                              flags, stream))

RT_FORWARD(cudaMemPrefetchBatchAsync,
           (void **addresses, size_t *bytes, size_t count, struct cudaMemLocation *locations, size_t *starts,
            size_t location_count, unsigned long long flags, cudaStream_t stream),
           cuMemPrefetchBatchAsync((CUdeviceptr *)addresses, bytes, count, (CUmemLocation *)locations, starts,
                                   location_count, flags, stream))
RT_FORWARD(cudaMemDiscardBatchAsync,
           (void **addresses, size_t *bytes, size_t count, unsigned long long flags, cudaStream_t stream),
           cuMemDiscardBatchAsync((CUdeviceptr *)addresses, bytes, count, flags, stream))
RT_FORWARD(cudaMemDiscardAndPrefetchBatchAsync,
           (void **addresses, size_t *bytes, size_t count, struct cudaMemLocation *locations, size_t *starts,
            size_t location_count, unsigned long long flags, cudaStream_t stream),
           cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)addresses, bytes, count, (CUmemLocation *)locations, starts,
                                             location_count, flags, stream))

/* A callback of the runtime's form, and what it was given. */
struct callback {
    cudaStreamCallback_t function;
    void *data;
};

static void CUDA_CB call_back(CUstream stream, CUresult result, void *data)
{
    const struct callback callback = *(struct callback *)data;

    free(data);
    callback.function(stream, rt_error(result), callback.data);
}

cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                            unsigned int flags)
{
    cudaError_t error = function ? rt_enter() : cudaErrorInvalidValue;
    struct callback *callback;

    if (error != cudaSuccess)
        return rt_leave(error);
    callback = malloc(sizeof *callback);
    if (!callback)
        return rt_leave(cudaErrorMemoryAllocation);
    *callback = (struct callback){function, data};
    error = rt_error(DRIVER->cuStreamAddCallback(stream, call_back, callback, flags));
    if (error != cudaSuccess)
        free(callback);
    return rt_leave(error);
}

/* The default means: as this file was compiled. */
static cuuint64_t lookup_flags(unsigned long long flags)
{
    if (flags != cudaEnableDefault)
        return flags;
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    return CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
#else
    return CU_GET_PROC_ADDRESS_DEFAULT;
#endif
}

cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    cudaError_t error = symbol && function ? rt_enter_without_context() : cudaErrorInvalidValue;

    if (error != cudaSuccess)
        return rt_leave(error);
    error = rt_error(DRIVER->cuGetProcAddress(symbol, function, (int)version, lookup_flags(flags), &found));
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    else if (error == cudaSuccess && found != CU_GET_PROC_ADDRESS_SUCCESS)
        error = cudaErrorSymbolNotFound; /* whoever asks for the status learns it from that */
    if (found != CU_GET_PROC_ADDRESS_SUCCESS)
        *function = NULL;
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                              enum cudaDriverEntryPointQueryResult *status)
{
    return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
