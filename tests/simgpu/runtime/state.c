/* state.c - what the runtime knows of each thread and each device: chosen device, current context, last error. */
#include "runtime.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct thread {
    int device;                /* what cudaSetDevice() chose */
    unsigned ready_generation; /* the generation in which this thread got its context; 0: never */
    cudaError_t last_error;
};

static _Thread_local struct thread self;

/* Raised by cudaDeviceReset(), so that every thread looks for its context again. */
static atomic_uint generation = 1;
static atomic_int ended;

/* Guards the table of retained primary contexts. */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[RT_MAX_DEVICES];

static void end(void)
{
    atomic_store(&ended, 1);
}

static void end_after_driver(void)
{
    /* Registered after the driver's own handlers, if it has any, and therefore called before them. */
    atexit(end);
}

cudaError_t rt_enter_without_context(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (atomic_load_explicit(&ended, memory_order_relaxed))
        return cudaErrorCudartUnloading;
    if (rt_driver_open() < 0)
        return cudaErrorInsufficientDriver;
    const CUresult result = rt_driver_init();
    if (result != CUDA_SUCCESS)
        return rt_error(result);
    pthread_once(&once, end_after_driver);
    return cudaSuccess;
}

cudaError_t rt_primary_context(int device, CUcontext *ret_context)
{
    CUresult result = CUDA_SUCCESS;

    if (device < 0 || device >= RT_MAX_DEVICES)
        return cudaErrorInvalidDevice;
    pthread_mutex_lock(&primary_lock);
    if (!primary[device])
        result = rt_legacy.cuDevicePrimaryCtxRetain(&primary[device], device);
    if (result == CUDA_SUCCESS)
        *ret_context = primary[device];
    else
        primary[device] = NULL;
    pthread_mutex_unlock(&primary_lock);
    return rt_error(result);
}

/* Makes the primary context of the thread's device current. */
static cudaError_t use_primary(void)
{
    CUcontext context;
    cudaError_t error = rt_primary_context(self.device, &context);

    if (error == cudaSuccess)
        error = rt_error(rt_legacy.cuCtxSetCurrent(context));
    return error;
}

cudaError_t rt_enter(void)
{
    const unsigned now = atomic_load_explicit(&generation, memory_order_acquire);
    CUcontext context = NULL;
    cudaError_t error;

    if (self.ready_generation == now && !atomic_load_explicit(&ended, memory_order_relaxed))
        return cudaSuccess;
    error = rt_enter_without_context();
    if (error != cudaSuccess)
        return error;
    error = rt_error(rt_legacy.cuCtxGetCurrent(&context));
    if (error == cudaSuccess && !context)
        error = use_primary();
    if (error == cudaSuccess)
        self.ready_generation = now;
    return error;
}

cudaError_t rt_current_device(int *ret_device)
{
    CUcontext context = NULL;
    CUdevice device;
    cudaError_t error = rt_enter_without_context();

    if (error != cudaSuccess)
        return error;
    if (rt_legacy.cuCtxGetCurrent(&context) == CUDA_SUCCESS && context &&
        rt_legacy.cuCtxGetDevice(&device, NULL) == CUDA_SUCCESS)
        *ret_device = device;
    else
        *ret_device = self.device;
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGetDevice(int *device)
{
    return rt_leave(device ? rt_current_device(device) : cudaErrorInvalidValue);
}

cudaError_t CUDARTAPI cudaSetDevice(int device)
{
    int count = 0;
    cudaError_t error = rt_enter_without_context();

    if (error == cudaSuccess)
        error = rt_error(rt_legacy.cuDeviceGetCount(&count));
    if (error == cudaSuccess && (device < 0 || device >= count))
        error = cudaErrorInvalidDevice;
    if (error == cudaSuccess) {
        self.device = device;
        error = use_primary();
    }
    if (error == cudaSuccess)
        self.ready_generation = atomic_load(&generation);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    CUcontext context;
    cudaError_t error = rt_enter_without_context();

    if (error == cudaSuccess && (flags & cudaInitDeviceFlagsAreValid))
        error = rt_error(rt_legacy.cuDevicePrimaryCtxSetFlags(device, device_flags));
    if (error == cudaSuccess)
        error = rt_primary_context(device, &context);
    return rt_leave(error);
}

/* Destroys what the device's primary context holds; the next call on any thread makes a new one. */
cudaError_t CUDARTAPI cudaDeviceReset(void)
{
    int device = 0;
    cudaError_t error = rt_current_device(&device);

    if (error != cudaSuccess)
        return rt_leave(error);
    pthread_mutex_lock(&primary_lock);
    if (primary[device]) {
        error = rt_error(rt_legacy.cuDevicePrimaryCtxReset(device));
        (void)rt_legacy.cuDevicePrimaryCtxRelease(device);
        primary[device] = NULL;
    }
    pthread_mutex_unlock(&primary_lock);
    (void)rt_legacy.cuCtxSetCurrent(NULL);
    atomic_fetch_add(&generation, 1);
    self.last_error = cudaSuccess;
    return rt_leave(error);
}

cudaError_t rt_leave(cudaError_t error)
{
    if (error != cudaSuccess)
        self.last_error = error;
    return error;
}

/* After one of these the context is lost: the error stays until the device is reset. */
static int is_sticky(cudaError_t error)
{
    switch (error) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
        return 1;
    default:
        return 0;
    }
}

cudaError_t CUDARTAPI cudaGetLastError(void)
{
    const cudaError_t error = self.last_error;

    if (!is_sticky(error))
        self.last_error = cudaSuccess;
    return error;
}

cudaError_t CUDARTAPI cudaPeekAtLastError(void)
{
    return self.last_error;
}
