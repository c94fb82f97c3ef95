/* api_misc.c - tensor maps, older versions of calls with the same meaning, and small things. */
#include <cudaProfiler.h>
#include <string.h>

#include "capture.h"
#include "driver.h"
#include "memory.h"

static CUresult encode(CUtensorMap *map, void *address, cuuint32_t rank, const cuuint64_t *dimensions,
                       CUtensorMapDataType type)
{
    if (!map || (uintptr_t)map % 64 || !address || (uintptr_t)address % 16 || rank < 1 || rank > 5 || !dimensions)
        return CUDA_ERROR_INVALID_VALUE;
    memset(map, 0, sizeof *map);
    map->opaque[0] = (uint64_t)(uintptr_t)address;
    map->opaque[1] = (uint64_t)rank << 32 | (uint64_t)type;
    for (cuuint32_t i = 0; i < rank; i++)
        map->opaque[2 + i] = dimensions[i];
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                              const cuuint64_t *dimensions, const cuuint64_t *strides, const cuuint32_t *box,
                                              const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                              CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                              CUtensorMapFloatOOBfill fill)
{
    return encode(map, address, rank, dimensions, type);
}

SIMGPU_EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                                               const cuuint64_t *dimensions, const cuuint64_t *strides, const int *lower,
                                               const int *upper, cuuint32_t channels, cuuint32_t pixels,
                                               const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                               CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                               CUtensorMapFloatOOBfill fill)
{
    return encode(map, address, rank, dimensions, type);
}

SIMGPU_EXPORT CUresult cuTensorMapEncodeIm2colWide(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank,
                                                   void *address, const cuuint64_t *dimensions, const cuuint64_t *strides,
                                                   int lower, int upper, cuuint32_t channels, cuuint32_t pixels,
                                                   const cuuint32_t *element_strides, CUtensorMapInterleave interleave,
                                                   CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle,
                                                   CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    return encode(map, address, rank, dimensions, type);
}

SIMGPU_EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    if (!map || !address || (uintptr_t)address % 16)
        return CUDA_ERROR_INVALID_VALUE;
    map->opaque[0] = (uint64_t)(uintptr_t)address;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuProfilerStart(void)
{
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuProfilerStop(void)
{
    return CUDA_SUCCESS;
}

/* IPC: the documented answer for memory that can't be shared this way. */
SIMGPU_EXPORT CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuIpcGetMemHandle", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = !handle || !memory_find(address) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = capture_exchange_mode(*mode);
    return CUDA_SUCCESS;
}

/* ---- older versions that mean the same ---- */

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return cuDevicePrimaryCtxRelease_v2(device);
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return cuDevicePrimaryCtxReset_v2(device);
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}

SIMGPU_EXPORT CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
    return cuCtxCreate_v2(context, flags, device);
}

SIMGPU_EXPORT CUresult cuCtxDestroy(CUcontext context)
{
    return cuCtxDestroy_v2(context);
}

SIMGPU_EXPORT CUresult cuCtxPushCurrent(CUcontext context)
{
    return cuCtxPushCurrent_v2(context);
}

SIMGPU_EXPORT CUresult cuCtxPopCurrent(CUcontext *context)
{
    return cuCtxPopCurrent_v2(context);
}

SIMGPU_EXPORT CUresult cuStreamDestroy(CUstream stream)
{
    return cuStreamDestroy_v2(stream);
}

SIMGPU_EXPORT CUresult cuEventDestroy(CUevent event)
{
    return cuEventDestroy_v2(event);
}

SIMGPU_EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

SIMGPU_EXPORT CUresult cuMemHostRegister(void *address, size_t bytes, unsigned int flags)
{
    return cuMemHostRegister_v2(address, bytes, flags);
}

/* ---- messages of the driver: it has none, so whoever wants to hear of them is never called ---- */

static char nobody; /* what a handle is the address of */

SIMGPU_EXPORT CUresult cuLogsRegisterCallback(CUlogsCallback function, void *data, CUlogsCallbackHandle *callback)
{
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    if (callback)
        *callback = (CUlogsCallbackHandle)(void *)&nobody;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    return (void *)callback == &nobody ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
