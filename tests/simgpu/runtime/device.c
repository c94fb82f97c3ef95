/* device.c - devices, their properties and limits, streams and events as objects, versions. */
#include "runtime.h"
#include <cuda_profiler_api.h>
#include <string.h>

RT_FORWARD(cudaDeviceSynchronize, (void), cuCtxSynchronize(NULL))
RT_FORWARD(cudaDeviceSetLimit, (enum cudaLimit limit, size_t value), cuCtxSetLimit((CUlimit)limit, value))
RT_FORWARD(cudaDeviceGetLimit, (size_t * value, enum cudaLimit limit), cuCtxGetLimit(value, (CUlimit)limit))
RT_FORWARD(cudaDeviceGetCacheConfig, (enum cudaFuncCache * config), cuCtxGetCacheConfig((CUfunc_cache *)config))
RT_FORWARD(cudaDeviceSetCacheConfig, (enum cudaFuncCache config), cuCtxSetCacheConfig((CUfunc_cache)config))
RT_FORWARD(cudaDeviceGetStreamPriorityRange, (int *least, int *greatest), cuCtxGetStreamPriorityRange(least, greatest))
RT_FORWARD(cudaCtxResetPersistingL2Cache, (void), cuCtxResetPersistingL2Cache())
RT_FORWARD(cudaDeviceGetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
           cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))
RT_FORWARD(cudaDeviceSetGraphMemAttribute, (int device, enum cudaGraphMemAttributeType attribute, void *value),
           cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attribute, value))
RT_FORWARD(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim(device))
RT_FORWARD(cudaProfilerStart, (void), cuProfilerStart())
RT_FORWARD(cudaProfilerStop, (void), cuProfilerStop())

RT_FORWARD(cudaStreamCreate, (cudaStream_t * stream), cuStreamCreate(stream, CU_STREAM_DEFAULT))
RT_FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), cuStreamCreate(stream, flags))
RT_FORWARD(cudaStreamCreateWithPriority, (cudaStream_t * stream, unsigned int flags, int priority),
           cuStreamCreateWithPriority(stream, flags, priority))
RT_FORWARD(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy(stream))
RT_FORWARD(cudaThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
           cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode))
RT_FORWARD(cudaEventCreate, (cudaEvent_t * event), cuEventCreate(event, CU_EVENT_DEFAULT))
RT_FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), cuEventCreate(event, flags))
RT_FORWARD(cudaEventQuery, (cudaEvent_t event), cuEventQuery(event))
RT_FORWARD(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize(event))
RT_FORWARD(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy(event))
RT_FORWARD(cudaEventElapsedTime, (float *milliseconds, cudaEvent_t start, cudaEvent_t end),
           cuEventElapsedTime(milliseconds, start, end))

/* Calls that ask about devices create no context. */
#define QUERY(name, parameters, call) \
    cudaError_t CUDARTAPI name parameters \
    { \
        cudaError_t error = rt_enter_without_context(); \
        if (error == cudaSuccess) \
            error = rt_error(DRIVER->call); \
        return rt_leave(error); \
    }

QUERY(cudaDeviceGetAttribute, (int *value, enum cudaDeviceAttr attribute, int device),
      cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device))
QUERY(cudaDeviceGetByPCIBusId, (int *device, const char *id), cuDeviceGetByPCIBusId(device, id))
QUERY(cudaDeviceGetPCIBusId, (char *id, int length, int device), cuDeviceGetPCIBusId(id, length, device))
QUERY(cudaDeviceGetP2PAttribute, (int *value, enum cudaDeviceP2PAttr attribute, int from, int to),
      cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)attribute, from, to))
QUERY(cudaDeviceCanAccessPeer, (int *can, int device, int peer), cuDeviceCanAccessPeer(can, device, peer))

/* No driver, or one without a device: none, and an error that says which. */
cudaError_t CUDARTAPI cudaGetDeviceCount(int *count)
{
    cudaError_t error = count ? rt_enter_without_context() : cudaErrorInvalidValue;

    if (count)
        *count = 0;
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuDeviceGetCount(count));
    if (error == cudaSuccess && *count == 0)
        error = cudaErrorNoDevice;
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaDriverGetVersion(int *version)
{
    if (!version)
        return rt_leave(cudaErrorInvalidValue);
    *version = 0;
    if (rt_driver_open() < 0)
        return cudaSuccess; /* version 0 is how the absence of a driver is told */
    return rt_leave(rt_error(DRIVER->cuDriverGetVersion(version)));
}

cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return rt_leave(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* Which devices may be chosen from is only told by the environment; the order that was wished for is accepted when it is
 * possible. */
cudaError_t CUDARTAPI cudaSetValidDevices(int *devices, int count)
{
    int there = 0;
    cudaError_t error = devices || count == 0 ? rt_enter_without_context() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuDeviceGetCount(&there));
    for (int i = 0; i < count && error == cudaSuccess; i++)
        error = devices[i] < 0 || devices[i] >= there ? cudaErrorInvalidDevice : cudaSuccess;
    return rt_leave(error);
}

/* --- peers --- */

cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    CUcontext context;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_primary_context(peer, &context);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuCtxEnablePeerAccess(context, flags));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer)
{
    CUcontext context;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_primary_context(peer, &context);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuCtxDisablePeerAccess(context));
    return rt_leave(error);
}

/* --- flags --- */

cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags)
{
    int device = 0;
    cudaError_t error = rt_current_device(&device);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuDevicePrimaryCtxSetFlags(device, flags));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int *flags)
{
    int device = 0, active;
    cudaError_t error = flags ? rt_current_device(&device) : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuDevicePrimaryCtxGetState(device, flags, &active));
    return rt_leave(error);
}

/* --- properties: one line for each that is an attribute of the same meaning --- */

#define PROPERTIES(X) \
    X(regsPerBlock, MAX_REGISTERS_PER_BLOCK) \
    X(warpSize, WARP_SIZE) \
    X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK) \
    X(memPitch, MAX_PITCH) \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK) \
    X(maxThreadsDim[0], MAX_BLOCK_DIM_X) \
    X(maxThreadsDim[1], MAX_BLOCK_DIM_Y) \
    X(maxThreadsDim[2], MAX_BLOCK_DIM_Z) \
    X(maxGridSize[0], MAX_GRID_DIM_X) \
    X(maxGridSize[1], MAX_GRID_DIM_Y) \
    X(maxGridSize[2], MAX_GRID_DIM_Z) \
    X(totalConstMem, TOTAL_CONSTANT_MEMORY) \
    X(major, COMPUTE_CAPABILITY_MAJOR) \
    X(minor, COMPUTE_CAPABILITY_MINOR) \
    X(textureAlignment, TEXTURE_ALIGNMENT) \
    X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT) \
    X(multiProcessorCount, MULTIPROCESSOR_COUNT) \
    X(integrated, INTEGRATED) \
    X(canMapHostMemory, CAN_MAP_HOST_MEMORY) \
    X(surfaceAlignment, SURFACE_ALIGNMENT) \
    X(concurrentKernels, CONCURRENT_KERNELS) \
    X(ECCEnabled, ECC_ENABLED) \
    X(pciBusID, PCI_BUS_ID) \
    X(pciDeviceID, PCI_DEVICE_ID) \
    X(pciDomainID, PCI_DOMAIN_ID) \
    X(tccDriver, TCC_DRIVER) \
    X(asyncEngineCount, ASYNC_ENGINE_COUNT) \
    X(unifiedAddressing, UNIFIED_ADDRESSING) \
    X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH) \
    X(l2CacheSize, L2_CACHE_SIZE) \
    X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE) \
    X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR) \
    X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED) \
    X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED) \
    X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED) \
    X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) \
    X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR) \
    X(managedMemory, MANAGED_MEMORY) \
    X(isMultiGpuBoard, MULTI_GPU_BOARD) \
    X(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID) \
    X(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED) \
    X(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS) \
    X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS) \
    X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED) \
    X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
    X(cooperativeLaunch, COOPERATIVE_LAUNCH) \
    X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) \
    X(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) \
    X(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST) \
    X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR) \
    X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE) \
    X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK) \
    X(hostRegisterSupported, HOST_REGISTER_SUPPORTED) \
    X(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED) \
    X(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED) \
    X(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED) \
    X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED) \
    X(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED) \
    X(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS) \
    X(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING) \
    X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES) \
    X(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED) \
    X(ipcEventSupported, IPC_EVENT_SUPPORTED) \
    X(clusterLaunch, CLUSTER_LAUNCH) \
    X(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS) \
    X(deviceNumaConfig, NUMA_CONFIG) \
    X(deviceNumaId, NUMA_ID) \
    X(mpsEnabled, MPS_ENABLED) \
    X(hostNumaId, HOST_NUMA_ID) \
    X(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED)

cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    cudaError_t error = properties ? rt_enter_without_context() : cudaErrorInvalidValue;

    if (error != cudaSuccess)
        return rt_leave(error);
    memset(properties, 0, sizeof *properties);
    error = rt_error(DRIVER->cuDeviceGetName(properties->name, sizeof properties->name, device));
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuDeviceTotalMem(&properties->totalGlobalMem, device));
    if (error == cudaSuccess)
        (void)DRIVER->cuDeviceGetUuid((CUuuid *)&properties->uuid, device);
    if (error != cudaSuccess)
        return rt_leave(error);
        /* What a driver does not know is not there: 0. */
#define X(field, attribute) \
    { \
        int value = 0; \
        if (DRIVER->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device) == CUDA_SUCCESS) \
            properties->field = (__typeof__(properties->field))value; \
    }
    PROPERTIES(X)
#undef X
    return cudaSuccess;
}

/* The device with most of what was asked for; the first where there is a tie. */
cudaError_t CUDARTAPI cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
    int count = 0, best = -1;
    cudaError_t error = device && wanted ? cudaGetDeviceCount(&count) : cudaErrorInvalidValue;

    for (int i = 0; i < count && error == cudaSuccess; i++) {
        struct cudaDeviceProp has;
        error = cudaGetDeviceProperties(&has, i);
        const int score = (has.major >= wanted->major) + (has.totalGlobalMem >= wanted->totalGlobalMem) +
                          (has.multiProcessorCount >= wanted->multiProcessorCount);
        if (score > best) {
            best = score;
            *device = i;
        }
    }
    return rt_leave(error);
}
