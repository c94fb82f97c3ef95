/* runtime.h - what every call of the runtime shares: getting the thread ready, and remembering its last error.
 *
 * A call is written as
 *     cudaError_t cudaX(...) { cudaError_t error = rt_enter(); if (!error) error = rt_error(DRIVER->cuX(...)); return
 * rt_leave(error); } and where that is all, as one line: RT_FORWARD(cudaX, (parameters), cuX(arguments)). */
#ifndef SIMGPU_RUNTIME_RUNTIME_H
#define SIMGPU_RUNTIME_RUNTIME_H
#include "driver.h"
#include <cuda_runtime_api.h>

#define RT_MAX_DEVICES 64

/* Makes the calling thread ready for driver calls: the driver is open and initialised, and a context is current - the
 * program's own if it has set one, else the primary context of the thread's device. */
cudaError_t rt_enter(void);

/* The same without a context, for calls that must not create one. */
cudaError_t rt_enter_without_context(void);

/* Remembers an error as the thread's last one; returns it. */
cudaError_t rt_leave(cudaError_t error);

/* The driver's codes and the runtime's are the same numbers; what the runtime doesn't know is cudaErrorUnknown. */
cudaError_t rt_error(CUresult result);

/* The device of the current context, else the one that cudaSetDevice() chose. */
cudaError_t rt_current_device(int *ret_device);

/* The primary context of a device, retained. */
cudaError_t rt_primary_context(int device, CUcontext *ret_context);

/* What a launch passes for the kernel whose host function (or cudaKernel_t) is `function`; loads its image at first use.
 * CUkernel when SIMGPU_LAUNCH_HANDLE is "kernel" or not set, the current context's CUfunction when it is "function". */
cudaError_t rt_launch_handle(const void *function, CUfunction *ret_handle);

/* The kernel itself. */
cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel);

/* Address and size in the current context of the variable whose host shadow is `symbol`. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

/* The host function that stands for a kernel, or the kernel itself when the program knows no function for it. */
const void *rt_host_function(CUkernel kernel);

/* Address of `bytes` bytes at `offset` in a symbol; cudaErrorInvalidValue when they are not all in it. */
cudaError_t rt_symbol_part(const void *symbol, size_t offset, size_t bytes, void **ret_address);

/* Whether launches pass CUfunction handles (SIMGPU_LAUNCH_HANDLE=function). */
int rt_launches_functions(void);

/* cudaKernel_t from cudaLibraryGetKernel() may be given wherever a host function may. */
cudaError_t rt_know_kernel(CUkernel kernel);

/* A runtime copy description in the driver's form; kind decides which side is where. */
cudaError_t rt_memcpy3d(const struct cudaMemcpy3DParms *parameters, CUDA_MEMCPY3D *ret_copy);

#define RT_FORWARD(name, parameters, call) \
    cudaError_t CUDARTAPI name parameters \
    { \
        cudaError_t error = rt_enter(); \
        if (error == cudaSuccess) \
            error = rt_error(DRIVER->call); \
        return rt_leave(error); \
    }
#endif
