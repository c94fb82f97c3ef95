/* per_thread.c - the variants of calls whose default stream is the calling thread's own. */
#include "driver.h"

#define VARIANT(name, params, call) \
    SIMGPU_EXPORT CUresult name params \
    { \
        per_thread_begin(); \
        CUresult r = call; \
        per_thread_end(); \
        return r; \
    }

VARIANT(cuStreamBeginCapture_v2_ptsz, (CUstream hStream, CUstreamCaptureMode mode), cuStreamBeginCapture_v2(hStream, mode))
VARIANT(cuStreamBeginCapture_ptsz, (CUstream hStream), cuStreamBeginCapture(hStream))
VARIANT(cuStreamBeginCaptureToGraph_ptsz,
        (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData,
         size_t numDependencies, CUstreamCaptureMode mode),
        cuStreamBeginCaptureToGraph(hStream, hGraph, dependencies, dependencyData, numDependencies, mode))
VARIANT(cuStreamEndCapture_ptsz, (CUstream hStream, CUgraph *phGraph), cuStreamEndCapture(hStream, phGraph))
VARIANT(cuStreamIsCapturing_ptsz, (CUstream hStream, CUstreamCaptureStatus *captureStatus),
        cuStreamIsCapturing(hStream, captureStatus))
VARIANT(cuStreamGetCaptureInfo_v3_ptsz,
        (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
         const CUgraphNode **dependencies_out, const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out),
        cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out,
                                  numDependencies_out))
VARIANT(cuStreamGetCaptureInfo_v2_ptsz,
        (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out, CUgraph *graph_out,
         const CUgraphNode **dependencies_out, size_t *numDependencies_out),
        cuStreamGetCaptureInfo_v2(hStream, captureStatus_out, id_out, graph_out, dependencies_out, numDependencies_out))
VARIANT(cuStreamGetCaptureInfo_ptsz, (CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out),
        cuStreamGetCaptureInfo(hStream, captureStatus_out, id_out))
VARIANT(cuStreamUpdateCaptureDependencies_ptsz,
        (CUstream hStream, CUgraphNode *dependencies, size_t numDependencies, unsigned int flags),
        cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags))
VARIANT(cuStreamUpdateCaptureDependencies_v2_ptsz,
        (CUstream hStream, CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies,
         unsigned int flags),
        cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, dependencyData, numDependencies, flags))
VARIANT(cuMemcpy_ptds, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount), cuMemcpy(dst, src, ByteCount))
VARIANT(cuMemcpyAsync_ptsz, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream),
        cuMemcpyAsync(dst, src, ByteCount, hStream))
VARIANT(cuMemcpyHtoD_v2_ptds, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
        cuMemcpyHtoD_v2(dstDevice, srcHost, ByteCount))
VARIANT(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
        cuMemcpyHtoDAsync_v2(dstDevice, srcHost, ByteCount, hStream))
VARIANT(cuMemcpyDtoH_v2_ptds, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
        cuMemcpyDtoH_v2(dstHost, srcDevice, ByteCount))
VARIANT(cuMemcpyDtoHAsync_v2_ptsz, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
        cuMemcpyDtoHAsync_v2(dstHost, srcDevice, ByteCount, hStream))
VARIANT(cuMemcpyDtoD_v2_ptds, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
        cuMemcpyDtoD_v2(dstDevice, srcDevice, ByteCount))
VARIANT(cuMemcpyDtoDAsync_v2_ptsz, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
        cuMemcpyDtoDAsync_v2(dstDevice, srcDevice, ByteCount, hStream))
VARIANT(cuMemcpyPeer_ptds,
        (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount),
        cuMemcpyPeer(dstDevice, dstContext, srcDevice, srcContext, ByteCount))
VARIANT(cuMemcpyPeerAsync_ptsz,
        (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
         CUstream hStream),
        cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream))
VARIANT(cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D *pCopy), cuMemcpy2D_v2(pCopy))
VARIANT(cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D *pCopy), cuMemcpy2DUnaligned_v2(pCopy))
VARIANT(cuMemcpy2DAsync_v2_ptsz, (const CUDA_MEMCPY2D *pCopy, CUstream hStream), cuMemcpy2DAsync_v2(pCopy, hStream))
VARIANT(cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D *pCopy), cuMemcpy3D_v2(pCopy))
VARIANT(cuMemcpy3DAsync_v2_ptsz, (const CUDA_MEMCPY3D *pCopy, CUstream hStream), cuMemcpy3DAsync_v2(pCopy, hStream))
VARIANT(cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER *pCopy), cuMemcpy3DPeer(pCopy))
VARIANT(cuMemcpy3DPeerAsync_ptsz, (const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream), cuMemcpy3DPeerAsync(pCopy, hStream))
VARIANT(cuMemcpyBatchAsync_ptsz,
        (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
         size_t numAttrs, size_t *failIdx, CUstream hStream),
        cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, hStream))
VARIANT(cuMemcpyBatchAsync_v2_ptsz,
        (CUdeviceptr * dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *attrsIdxs,
         size_t numAttrs, CUstream hStream),
        cuMemcpyBatchAsync_v2(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, hStream))
VARIANT(cuMemcpy3DBatchAsync_ptsz,
        (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, size_t *failIdx, unsigned long long flags, CUstream hStream),
        cuMemcpy3DBatchAsync(numOps, opList, failIdx, flags, hStream))
VARIANT(cuMemcpy3DBatchAsync_v2_ptsz,
        (size_t numOps, CUDA_MEMCPY3D_BATCH_OP *opList, unsigned long long flags, CUstream hStream),
        cuMemcpy3DBatchAsync_v2(numOps, opList, flags, hStream))
VARIANT(cuEventRecordWithFlags_ptsz, (CUevent hEvent, CUstream hStream, unsigned int flags),
        cuEventRecordWithFlags(hEvent, hStream, flags))
VARIANT(cuEventRecord_ptsz, (CUevent hEvent, CUstream hStream), cuEventRecord(hEvent, hStream))
VARIANT(cuStreamWaitEvent_ptsz, (CUstream hStream, CUevent hEvent, unsigned int Flags),
        cuStreamWaitEvent(hStream, hEvent, Flags))
VARIANT(cuGraphInstantiateWithParams_ptsz,
        (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
        cuGraphInstantiateWithParams(phGraphExec, hGraph, instantiateParams))
VARIANT(cuGraphUpload_ptsz, (CUgraphExec hGraph, CUstream hStream), cuGraphUpload(hGraph, hStream))
VARIANT(cuGraphLaunch_ptsz, (CUgraphExec hGraph, CUstream hStream), cuGraphLaunch(hGraph, hStream))
VARIANT(cuLaunchKernel_ptsz,
        (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
         unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams,
         void **extra),
        cuLaunchKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                       kernelParams, extra))
VARIANT(cuLaunchKernelEx_ptsz, (const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra),
        cuLaunchKernelEx(config, f, kernelParams, extra))
VARIANT(cuLaunchCooperativeKernel_ptsz,
        (CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ, unsigned int blockDimX,
         unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream, void **kernelParams),
        cuLaunchCooperativeKernel(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
                                  kernelParams))
VARIANT(cuLaunchHostFunc_ptsz, (CUstream hStream, CUhostFn fn, void *userData), cuLaunchHostFunc(hStream, fn, userData))
VARIANT(cuStreamAddCallback_ptsz, (CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags),
        cuStreamAddCallback(hStream, callback, userData, flags))
VARIANT(cuMemPrefetchAsync_ptsz, (CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream),
        cuMemPrefetchAsync(devPtr, count, dstDevice, hStream))
VARIANT(cuMemPrefetchAsync_v2_ptsz,
        (CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags, CUstream hStream),
        cuMemPrefetchAsync_v2(devPtr, count, location, flags, hStream))
VARIANT(cuMemAllocAsync_ptsz, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
        cuMemAllocAsync(dptr, bytesize, hStream))
VARIANT(cuMemAllocFromPoolAsync_ptsz, (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
        cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream))
VARIANT(cuMemFreeAsync_ptsz, (CUdeviceptr dptr, CUstream hStream), cuMemFreeAsync(dptr, hStream))
VARIANT(cuMemsetD8_v2_ptds, (CUdeviceptr dstDevice, unsigned char uc, size_t N), cuMemsetD8_v2(dstDevice, uc, N))
VARIANT(cuMemsetD8Async_ptsz, (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream),
        cuMemsetD8Async(dstDevice, uc, N, hStream))
VARIANT(cuMemsetD2D8_v2_ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
        cuMemsetD2D8_v2(dstDevice, dstPitch, uc, Width, Height))
VARIANT(cuMemsetD2D8Async_ptsz,
        (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream),
        cuMemsetD2D8Async(dstDevice, dstPitch, uc, Width, Height, hStream))
VARIANT(cuMemsetD16_v2_ptds, (CUdeviceptr dstDevice, unsigned short us, size_t N), cuMemsetD16_v2(dstDevice, us, N))
VARIANT(cuMemsetD16Async_ptsz, (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream),
        cuMemsetD16Async(dstDevice, us, N, hStream))
VARIANT(cuMemsetD2D16_v2_ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
        cuMemsetD2D16_v2(dstDevice, dstPitch, us, Width, Height))
VARIANT(cuMemsetD2D16Async_ptsz,
        (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream),
        cuMemsetD2D16Async(dstDevice, dstPitch, us, Width, Height, hStream))
VARIANT(cuMemsetD32_v2_ptds, (CUdeviceptr dstDevice, unsigned int ui, size_t N), cuMemsetD32_v2(dstDevice, ui, N))
VARIANT(cuMemsetD32Async_ptsz, (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream),
        cuMemsetD32Async(dstDevice, ui, N, hStream))
VARIANT(cuMemsetD2D32_v2_ptds, (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
        cuMemsetD2D32_v2(dstDevice, dstPitch, ui, Width, Height))
VARIANT(cuMemsetD2D32Async_ptsz,
        (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream),
        cuMemsetD2D32Async(dstDevice, dstPitch, ui, Width, Height, hStream))
VARIANT(cuStreamSynchronize_ptsz, (CUstream hStream), cuStreamSynchronize(hStream))
VARIANT(cuStreamQuery_ptsz, (CUstream hStream), cuStreamQuery(hStream))
VARIANT(cuStreamGetFlags_ptsz, (CUstream hStream, unsigned int *flags), cuStreamGetFlags(hStream, flags))
VARIANT(cuStreamGetPriority_ptsz, (CUstream hStream, int *priority), cuStreamGetPriority(hStream, priority))
VARIANT(cuStreamGetId_ptsz, (CUstream hStream, unsigned long long *streamId), cuStreamGetId(hStream, streamId))
VARIANT(cuStreamGetCtx_ptsz, (CUstream hStream, CUcontext *pctx), cuStreamGetCtx(hStream, pctx))
VARIANT(cuStreamGetCtx_v2_ptsz, (CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx),
        cuStreamGetCtx_v2(hStream, pCtx, pGreenCtx))
VARIANT(cuStreamGetDevice_ptsz, (CUstream hStream, CUdevice *device), cuStreamGetDevice(hStream, device))
VARIANT(cuStreamWaitValue32_v2_ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
        cuStreamWaitValue32_v2(stream, addr, value, flags))
VARIANT(cuStreamWaitValue64_v2_ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
        cuStreamWaitValue64_v2(stream, addr, value, flags))
VARIANT(cuStreamWriteValue32_v2_ptsz, (CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags),
        cuStreamWriteValue32_v2(stream, addr, value, flags))
VARIANT(cuStreamWriteValue64_v2_ptsz, (CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags),
        cuStreamWriteValue64_v2(stream, addr, value, flags))
VARIANT(cuStreamBatchMemOp_v2_ptsz,
        (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *paramArray, unsigned int flags),
        cuStreamBatchMemOp_v2(stream, count, paramArray, flags))
