/* runtime.h - what every call of the runtime shares: preparing the thread, and remembering its last error.
 *
 * A call is written as
 *     cudaError_t cudaX(...)
 *     {
 *         cudaError_t error = rt_enter();
 *         if (!error)
 *             error = rt_error(DRIVER->cuX(...));
 *         return rt_leave(error);
 *     }
 * and if that is all, as one line: RT_FORWARD(cudaX, (parameters), cuX(arguments)). */
#ifndef SIMGPU_RUNTIME_RUNTIME_H
#define SIMGPU_RUNTIME_RUNTIME_H
#include "driver.h"
#include <cuda_runtime_api.h>

#define RT_MAX_DEVICES 64

/* Prepares the calling thread for driver calls: the driver is open and initialised, and a context is current, which is
 * the program's own if it has set one, else the primary context of the thread's device. */
cudaError_t rt_enter(void);

/* Does the same without a context, for calls that must not create one. */
cudaError_t rt_enter_without_context(void);

/* Stores an error as the thread's last one, and returns it. */
cudaError_t rt_leave(cudaError_t error);

/* Converts a result: the codes of driver and runtime are the same numbers; a code that the runtime does not have becomes
 * cudaErrorUnknown. */
cudaError_t rt_error(CUresult result);

/* Gets the device of the current context, else the one chosen by cudaSetDevice(). */
cudaError_t rt_current_device(int *ret_device);

/* Gets the primary context of a device, retained. */
cudaError_t rt_primary_context(int device, CUcontext *ret_context);

/* Gets the handle that a launch passes for the kernel whose host function (or cudaKernel_t) is `function`; loads its
 * image at the first use. It is a CUkernel if SIMGPU_LAUNCH_HANDLE is "kernel" or not set, and the current context's
 * CUfunction if it is "function". */
cudaError_t rt_launch_handle(const void *function, CUfunction *ret_handle);

/* Gets the kernel itself. */
cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel);

/* Gets address and size, in the current context, of the variable whose host shadow is `symbol`. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

/* Returns the host function of a kernel, or the kernel itself if the program has no function for it. */
const void *rt_host_function(CUkernel kernel);

/* Gets the address of `bytes` bytes at `offset` in a symbol; cudaErrorInvalidValue if they are not all in it. */
cudaError_t rt_symbol_part(const void *symbol, size_t offset, size_t bytes, void **ret_address);

/* Returns true if launches pass CUfunction handles (SIMGPU_LAUNCH_HANDLE=function). */
int rt_launches_functions(void);

/* Makes a cudaKernel_t from cudaLibraryGetKernel() valid wherever a host function is. */
cudaError_t rt_know_kernel(CUkernel kernel);

/* Converts a copy description of the runtime to the driver's form; its kind determines which side is where. */
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
