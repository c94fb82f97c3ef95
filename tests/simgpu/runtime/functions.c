/* functions.c - kernels as objects: attributes, parameters, names, occupancy, libraries. */
#include "runtime.h"
#include "compiler.h"
#include <string.h>

/* The kernel behind a host function and the device that the question is about. */
static cudaError_t enter_kernel(const void *function, CUkernel *ret_kernel, CUdevice *ret_device)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_kernel(function, ret_kernel);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuCtxGetDevice(ret_device, NULL));
    return error;
}

/* The kernel's function in the current context. */
static cudaError_t enter_function(const void *function, CUfunction *ret_function)
{
    CUkernel kernel;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuKernelGetFunction(ret_function, kernel));
    return error;
}

#define ATTRIBUTES(X) \
    X(sharedSizeBytes, SHARED_SIZE_BYTES) \
    X(constSizeBytes, CONST_SIZE_BYTES) \
    X(localSizeBytes, LOCAL_SIZE_BYTES) \
    X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK) \
    X(numRegs, NUM_REGS) \
    X(ptxVersion, PTX_VERSION) \
    X(binaryVersion, BINARY_VERSION) \
    X(cacheModeCA, CACHE_MODE_CA) \
    X(maxDynamicSharedSizeBytes, MAX_DYNAMIC_SHARED_SIZE_BYTES) \
    X(preferredShmemCarveout, PREFERRED_SHARED_MEMORY_CARVEOUT) \
    X(clusterDimMustBeSet, CLUSTER_SIZE_MUST_BE_SET) \
    X(requiredClusterWidth, REQUIRED_CLUSTER_WIDTH) \
    X(requiredClusterHeight, REQUIRED_CLUSTER_HEIGHT) \
    X(requiredClusterDepth, REQUIRED_CLUSTER_DEPTH) \
    X(clusterSchedulingPolicyPreference, CLUSTER_SCHEDULING_POLICY_PREFERENCE) \
    X(nonPortableClusterSizeAllowed, NON_PORTABLE_CLUSTER_SIZE_ALLOWED)

cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    CUkernel kernel;
    CUdevice device;
    cudaError_t error = attributes ? enter_kernel(function, &kernel, &device) : cudaErrorInvalidValue;

    if (error != cudaSuccess)
        return rt_leave(error);
    memset(attributes, 0, sizeof *attributes);
    /* What a driver does not know is not there: 0. */
#define X(field, attribute) \
    { \
        int value = 0; \
        if (DRIVER->cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_##attribute, kernel, device) == CUDA_SUCCESS) \
            attributes->field = (__typeof__(attributes->field))value; \
    }
    ATTRIBUTES(X)
#undef X
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    CUkernel kernel;
    CUdevice device;
    cudaError_t error = enter_kernel(function, &kernel, &device);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    CUkernel kernel;
    CUdevice device;
    cudaError_t error = enter_kernel(function, &kernel, &device);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuKernelSetCacheConfig(kernel, (CUfunc_cache)config, device));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaFuncGetName(const char **name, const void *function)
{
    CUkernel kernel;
    CUdevice device;
    cudaError_t error = name ? enter_kernel(function, &kernel, &device) : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuKernelGetName(name, kernel));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size)
{
    CUkernel kernel;
    CUdevice device;
    cudaError_t error = enter_kernel(function, &kernel, &device);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuKernelGetParamInfo(kernel, index, offset, size));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *symbol)
{
    return rt_leave(ret_function ? enter_function(symbol, ret_function) : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t *ret_kernel, const void *function)
{
    CUkernel kernel;
    cudaError_t error = ret_kernel ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = rt_know_kernel(kernel);
    if (error == cudaSuccess)
        *ret_kernel = kernel;
    return rt_leave(error);
}

/* What nvcc's code calls while the program's static variables are initialised. */
cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *ret_kernel, const void *function)
{
    return cudaGetKernel(ret_kernel, function);
}

/* --- occupancy --- */

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function,
                                                                             int block_size, size_t shared_bytes,
                                                                             unsigned int flags)
{
    CUfunction handle;
    cudaError_t error = enter_function(function, &handle);

    if (error == cudaSuccess)
        error = rt_error(
            DRIVER->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, block_size, shared_bytes, flags));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block_size,
                                                                    size_t shared_bytes)
{
    CUfunction handle;
    cudaError_t error = enter_function(function, &handle);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, handle, block_size, shared_bytes));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function, int blocks,
                                                                int block_size)
{
    CUfunction handle;
    cudaError_t error = enter_function(function, &handle);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuOccupancyAvailableDynamicSMemPerBlock(bytes, handle, blocks, block_size));
    return rt_leave(error);
}

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){.gridDimX = config->gridDim.x,
                            .gridDimY = config->gridDim.y,
                            .gridDimZ = config->gridDim.z,
                            .blockDimX = config->blockDim.x,
                            .blockDimY = config->blockDim.y,
                            .blockDimZ = config->blockDim.z,
                            .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
                            .hStream = config->stream,
                            .attrs = (CUlaunchAttribute *)config->attrs,
                            .numAttrs = config->numAttrs};
}

cudaError_t CUDARTAPI cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction handle;
    cudaError_t error = config ? enter_function(function, &handle) : cudaErrorInvalidValue;

    if (error == cudaSuccess) {
        const CUlaunchConfig launch = driver_config(config);
        error = rt_error(DRIVER->cuOccupancyMaxPotentialClusterSize(size, handle, &launch));
    }
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaOccupancyMaxActiveClusters(int *clusters, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction handle;
    cudaError_t error = config ? enter_function(function, &handle) : cudaErrorInvalidValue;

    if (error == cudaSuccess) {
        const CUlaunchConfig launch = driver_config(config);
        error = rt_error(DRIVER->cuOccupancyMaxActiveClusters(clusters, handle, &launch));
    }
    return rt_leave(error);
}

/* --- libraries: images that the program loads by itself. Options are the same in both interfaces. --- */

RT_FORWARD(cudaLibraryLoadData,
           (cudaLibrary_t * library, const void *code, enum cudaJitOption *jit_options, void **jit_values,
            unsigned int jit_count, enum cudaLibraryOption *options, void **values, unsigned int count),
           cuLibraryLoadData(library, code, (CUjit_option *)jit_options, jit_values, jit_count, (CUlibraryOption *)options,
                             values, count))
RT_FORWARD(cudaLibraryLoadFromFile,
           (cudaLibrary_t * library, const char *path, enum cudaJitOption *jit_options, void **jit_values,
            unsigned int jit_count, enum cudaLibraryOption *options, void **values, unsigned int count),
           cuLibraryLoadFromFile(library, path, (CUjit_option *)jit_options, jit_values, jit_count,
                                 (CUlibraryOption *)options, values, count))
RT_FORWARD(cudaLibraryUnload, (cudaLibrary_t library), cuLibraryUnload(library))
RT_FORWARD(cudaLibraryGetGlobal, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
           cuLibraryGetGlobal((CUdeviceptr *)address, bytes, library, name))
RT_FORWARD(cudaLibraryGetManaged, (void **address, size_t *bytes, cudaLibrary_t library, const char *name),
           cuLibraryGetManaged((CUdeviceptr *)address, bytes, library, name))
RT_FORWARD(cudaLibraryGetUnifiedFunction, (void **function, cudaLibrary_t library, const char *name),
           cuLibraryGetUnifiedFunction(function, library, name))
RT_FORWARD(cudaLibraryGetKernelCount, (unsigned int *count, cudaLibrary_t library), cuLibraryGetKernelCount(count, library))
RT_FORWARD(cudaKernelSetAttributeForDevice, (cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device),
           cuKernelSetAttribute((CUfunction_attribute)attribute, value, kernel, device))

cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    cudaError_t error = kernel ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuLibraryGetKernel(kernel, library, name));
    if (error == cudaSuccess)
        error = rt_know_kernel(*kernel);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int count, cudaLibrary_t library)
{
    unsigned int there = 0;
    cudaError_t error = kernels ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuLibraryGetKernelCount(&there, library));
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuLibraryEnumerateKernels(kernels, count, library));
    for (unsigned int i = 0; i < count && i < there && error == cudaSuccess; i++)
        error = rt_know_kernel(kernels[i]);
    return rt_leave(error);
}
