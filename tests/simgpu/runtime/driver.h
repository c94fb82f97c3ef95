/* driver.h - the driver's functions as the runtime calls them: found through cuGetProcAddress() alone, as by the real
 * runtime.
 *
 * There are two tables. In rt_per_thread, functions that take a stream or use the default stream are the variants for which
 * stream 0 is the calling thread's own. Files that are compiled twice, with and without CUDA_API_PER_THREAD_DEFAULT_STREAM,
 * use the right table as DRIVER. The macros of cuda.h rename members in those files; the order is the same. */
#ifndef SIMGPU_RUNTIME_DRIVER_H
#define SIMGPU_RUNTIME_DRIVER_H
#include <cuda.h>
#include <cudaProfiler.h>
#include <cudaTypedefs.h>

/* To add a call, add its name. */
/* clang-format off */
#define RT_DRIVER_CALLS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetProcAddress) \
    /* devices and contexts */ \
    X(cuDeviceGet) X(cuDeviceGetCount) X(cuDeviceGetName) X(cuDeviceGetUuid) X(cuDeviceTotalMem) \
    X(cuDeviceGetAttribute) X(cuDeviceGetByPCIBusId) X(cuDeviceGetPCIBusId) X(cuDeviceGetP2PAttribute) \
    X(cuDeviceCanAccessPeer) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuDevicePrimaryCtxReset) \
    X(cuDevicePrimaryCtxSetFlags) X(cuDevicePrimaryCtxGetState) X(cuDeviceGetDefaultMemPool) X(cuDeviceGetMemPool) \
    X(cuDeviceSetMemPool) X(cuDeviceGetGraphMemAttribute) X(cuDeviceSetGraphMemAttribute) X(cuDeviceGraphMemTrim) \
    X(cuCtxGetCurrent) X(cuCtxSetCurrent) X(cuCtxGetFlags) X(cuCtxSetLimit) X(cuCtxGetLimit) \
    X(cuCtxGetCacheConfig) X(cuCtxSetCacheConfig) X(cuCtxGetStreamPriorityRange) \
    X(cuCtxResetPersistingL2Cache) X(cuCtxEnablePeerAccess) X(cuCtxDisablePeerAccess) \
    /* libraries and kernels */ \
    X(cuLibraryLoadData) X(cuLibraryLoadFromFile) X(cuLibraryUnload) X(cuLibraryGetKernel) X(cuLibraryGetGlobal) \
    X(cuLibraryGetManaged) X(cuLibraryGetKernelCount) X(cuLibraryEnumerateKernels) X(cuLibraryGetUnifiedFunction) \
    X(cuKernelGetFunction) X(cuKernelGetName) X(cuKernelGetAttribute) X(cuKernelSetAttribute) \
    X(cuKernelGetParamInfo) X(cuKernelSetCacheConfig) X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags) X(cuOccupancyAvailableDynamicSMemPerBlock) \
    X(cuOccupancyMaxPotentialClusterSize) X(cuOccupancyMaxActiveClusters) X(cuLaunchKernel) X(cuLaunchKernelEx) \
    X(cuLaunchCooperativeKernel) X(cuLaunchHostFunc) \
    /* memory */ \
    X(cuMemGetInfo) X(cuMemAlloc) X(cuMemAllocPitch) X(cuMemAllocManaged) X(cuMemFree) X(cuMemAllocAsync) \
    X(cuMemFreeAsync) X(cuMemAllocFromPoolAsync) X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemHostRegister) \
    X(cuMemHostUnregister) X(cuMemHostGetDevicePointer) X(cuMemHostGetFlags) X(cuPointerGetAttributes) \
    X(cuPointerGetAttribute) X(cuMemPoolCreate) X(cuMemPoolDestroy) X(cuMemPoolTrimTo) X(cuMemPoolGetAttribute) \
    X(cuMemPoolSetAttribute) X(cuMemPoolGetAccess) X(cuMemPoolSetAccess) X(cuMemPoolExportToShareableHandle) \
    X(cuMemPoolImportFromShareableHandle) X(cuMemPoolExportPointer) X(cuMemPoolImportPointer) \
    X(cuMemGetDefaultMemPool) X(cuMemGetMemPool) X(cuMemSetMemPool) X(cuMemPrefetchAsync) X(cuMemAdvise) \
    X(cuMemRangeGetAttribute) X(cuMemRangeGetAttributes) X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) \
    X(cuIpcCloseMemHandle) X(cuIpcGetEventHandle) X(cuIpcOpenEventHandle) X(cuArrayCreate) X(cuArray3DCreate) \
    X(cuArrayDestroy) X(cuArray3DGetDescriptor) \
    /* copies and sets */ \
    X(cuMemcpy) X(cuMemcpyAsync) X(cuMemcpyHtoD) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoH) X(cuMemcpyDtoHAsync) \
    X(cuMemcpyDtoD) X(cuMemcpyDtoDAsync) X(cuMemcpyPeer) X(cuMemcpyPeerAsync) X(cuMemcpy2DUnaligned) \
    X(cuMemcpy2DAsync) X(cuMemcpy3D) X(cuMemcpy3DAsync) X(cuMemcpy3DPeer) X(cuMemcpy3DPeerAsync) \
    X(cuMemcpyBatchAsync) X(cuMemcpy3DBatchAsync) X(cuMemsetD8) X(cuMemsetD8Async) X(cuMemsetD2D8) \
    X(cuMemsetD2D8Async) \
    /* streams and events */ \
    X(cuStreamCreate) X(cuStreamCreateWithPriority) X(cuStreamDestroy) X(cuStreamGetPriority) X(cuStreamGetFlags) \
    X(cuStreamGetId) X(cuStreamGetDevice) X(cuStreamWaitEvent) X(cuStreamAddCallback) X(cuStreamSynchronize) \
    X(cuStreamQuery) X(cuStreamAttachMemAsync) X(cuStreamCopyAttributes) X(cuStreamGetAttribute) \
    X(cuStreamSetAttribute) X(cuStreamBeginCapture) X(cuStreamBeginCaptureToGraph) X(cuStreamEndCapture) \
    X(cuStreamIsCapturing) X(cuStreamGetCaptureInfo) X(cuStreamUpdateCaptureDependencies) \
    X(cuThreadExchangeStreamCaptureMode) X(cuEventCreate) X(cuEventRecord) X(cuEventRecordWithFlags) X(cuEventQuery) \
    X(cuEventSynchronize) X(cuEventDestroy) X(cuEventElapsedTime) \
    /* graphs */ \
    X(cuGraphCreate) X(cuGraphDestroy) X(cuGraphClone) X(cuGraphInstantiateWithFlags) \
    X(cuGraphInstantiateWithParams) X(cuGraphExecDestroy) X(cuGraphExecGetFlags) X(cuGraphUpload) X(cuGraphLaunch) \
    X(cuGraphExecUpdate) X(cuGraphDebugDotPrint) X(cuGraphGetNodes) X(cuGraphGetRootNodes) X(cuGraphGetEdges) \
    X(cuGraphNodeGetDependencies) X(cuGraphNodeGetDependentNodes) X(cuGraphNodeGetType) X(cuGraphNodeFindInClone) \
    X(cuGraphAddDependencies) X(cuGraphRemoveDependencies) X(cuGraphDestroyNode) X(cuGraphAddKernelNode) \
    X(cuGraphAddMemcpyNode) X(cuGraphAddMemsetNode) X(cuGraphAddHostNode) X(cuGraphAddChildGraphNode) \
    X(cuGraphAddEmptyNode) X(cuGraphAddEventRecordNode) X(cuGraphAddEventWaitNode) X(cuGraphAddMemAllocNode) \
    X(cuGraphAddMemFreeNode) X(cuGraphKernelNodeGetParams) X(cuGraphKernelNodeSetParams) \
    X(cuGraphMemsetNodeGetParams) X(cuGraphMemsetNodeSetParams) X(cuGraphHostNodeGetParams) \
    X(cuGraphHostNodeSetParams) X(cuGraphChildGraphNodeGetGraph) X(cuGraphMemcpyNodeSetParams) \
    X(cuGraphExecKernelNodeSetParams) X(cuGraphExecMemcpyNodeSetParams) X(cuGraphExecMemsetNodeSetParams) \
    X(cuGraphExecHostNodeSetParams) X(cuGraphNodeSetEnabled) X(cuGraphConditionalHandleCreate) X(cuGraphNodeGetEnabled) X(cuUserObjectCreate) \
    X(cuUserObjectRetain) X(cuUserObjectRelease) X(cuGraphRetainUserObject) X(cuGraphReleaseUserObject) \
    X(cuGraphAddNode) X(cuGraphNodeSetParams) X(cuGraphExecNodeSetParams) X(cuGraphMemcpyNodeGetParams) \
    X(cuGraphMemAllocNodeGetParams) X(cuGraphMemFreeNodeGetParams) X(cuGraphKernelNodeGetAttribute) \
    X(cuGraphKernelNodeSetAttribute) X(cuGraphKernelNodeCopyAttributes) X(cuGraphEventRecordNodeGetEvent) \
    X(cuGraphEventRecordNodeSetEvent) X(cuGraphEventWaitNodeGetEvent) X(cuGraphEventWaitNodeSetEvent) \
    X(cuGraphExecEventRecordNodeSetEvent) X(cuGraphExecEventWaitNodeSetEvent) X(cuGraphExecChildGraphNodeSetParams) \
    X(cuMemPrefetchBatchAsync) X(cuMemDiscardBatchAsync) X(cuMemDiscardAndPrefetchBatchAsync) X(cuProfilerStart) \
    X(cuProfilerStop)

/* Calls that are looked up in a form with one parameter more than cuda.h declares under that name: the context. An older
 * driver ignores it. */
#define RT_DRIVER_CALLS_OF_CONTEXTS(X) X(cuCtxGetDevice) X(cuCtxSynchronize)
/* clang-format on */

struct rt_driver {
#define X(name) __typeof__(name) *name;
    RT_DRIVER_CALLS(X)
#undef X
#define X(name) PFN_##name##_v13000 name;
    RT_DRIVER_CALLS_OF_CONTEXTS(X)
#undef X
};

extern struct rt_driver rt_legacy, rt_per_thread;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define DRIVER (&rt_per_thread)
#else
#define DRIVER (&rt_legacy)
#endif

/* Opens libcuda.so.1 and fills both tables. The first call does so; others wait for it and return the same result. A
 * function that the driver lacks is replaced by one that returns cudaErrorCallRequiresNewerDriver. Returns 0, or -ENOENT
 * if there is no driver or it has no cuGetProcAddress(). */
int rt_driver_open(void);

/* Returns the result of cuInit(), which is called once. Valid after rt_driver_open() has returned 0. */
CUresult rt_driver_init(void);
#endif
