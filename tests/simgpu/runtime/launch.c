/* launch.c - kernel launches and host functions. Compiled twice: for legacy and for per-thread default streams. */
#include "runtime.h"
#include "compiler.h"
#include "program.h"

/* The driver says "invalid value" where the runtime says "invalid configuration". */
static cudaError_t launch_error(CUresult result, dim3 grid, dim3 block)
{
    const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
    const int odd = !grid.x || !grid.y || !grid.z || !threads || threads > 1024 || block.z > 64 || grid.x > 2147483647u ||
                    grid.y > 65535 || grid.z > 65535;

    return result == CUDA_ERROR_INVALID_VALUE && odd ? cudaErrorInvalidConfiguration : rt_error(result);
}

cudaError_t CUDARTAPI cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                       cudaStream_t stream)
{
    CUfunction handle;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_launch_handle(function, &handle);
    if (error == cudaSuccess)
        error = rt_launch_coming(handle, grid, block, args);
    if (error == cudaSuccess)
        error = launch_error(DRIVER->cuLaunchKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                    (unsigned int)shared_bytes, stream, args, NULL),
                             grid, block);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args,
                                                  size_t shared_bytes, cudaStream_t stream)
{
    CUfunction handle;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_launch_handle(function, &handle);
    if (error == cudaSuccess)
        error = rt_launch_coming(handle, grid, block, args);
    if (error == cudaSuccess)
        error = launch_error(DRIVER->cuLaunchCooperativeKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                               (unsigned int)shared_bytes, stream, args),
                             grid, block);
    return rt_leave(error);
}

/* The attributes of a launch are the same in both interfaces, number by number and byte by byte. */
cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    CUfunction handle;
    cudaError_t error = config ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_launch_handle(function, &handle);
    if (error == cudaSuccess) {
        const dim3 grid = config->gridDim, block = config->blockDim;
        const CUlaunchConfig launch = {.gridDimX = grid.x,
                                       .gridDimY = grid.y,
                                       .gridDimZ = grid.z,
                                       .blockDimX = block.x,
                                       .blockDimY = block.y,
                                       .blockDimZ = block.z,
                                       .sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
                                       .hStream = config->stream,
                                       .attrs = (CUlaunchAttribute *)config->attrs,
                                       .numAttrs = config->numAttrs};
        error = rt_launch_coming(handle, grid, block, args);
        if (error == cudaSuccess)
            error = launch_error(DRIVER->cuLaunchKernelEx(&launch, handle, args, NULL), grid, block);
    }
    return rt_leave(error);
}

/* What nvcc's code calls with a handle that it has from __cudaGetKernel(). */
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                                         cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess && !kernel)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess)
        error = rt_launch_coming((CUfunction)kernel, grid, block, args);
    if (error == cudaSuccess)
        error = launch_error(DRIVER->cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                    (unsigned int)shared_bytes, stream, args, NULL),
                             grid, block);
    return rt_leave(error);
}

RT_FORWARD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *data),
           cuLaunchHostFunc(stream, function, data))
