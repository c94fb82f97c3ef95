/* api_set.c - every form of set: three element sizes, one or two dimensions, blocking and asynchronous. */
#include "copy.h"
#include "driver.h"

static CUresult set_rows(const char *name, CUdeviceptr target, size_t pitch, uint32_t value, unsigned element_bytes,
                         size_t width, size_t height, CUstream stream, bool waits)
{
    struct call call;
    struct set set = {
        .target = target, .width = width, .height = height, .pitch = pitch, .element_bytes = element_bytes, .value = value};
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = set_submit(call.context, stream, name, set, waits);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemsetD8_v2(CUdeviceptr target, unsigned char value, size_t count)
{
    return set_rows("cuMemsetD8", target, 0, value, 1, count, 1, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD8Async(CUdeviceptr target, unsigned char value, size_t count, CUstream stream)
{
    return set_rows("cuMemsetD8Async", target, 0, value, 1, count, 1, stream, false);
}

SIMGPU_EXPORT CUresult cuMemsetD2D8_v2(CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height)
{
    return set_rows("cuMemsetD2D8", target, pitch, value, 1, width, height, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height,
                                         CUstream stream)
{
    return set_rows("cuMemsetD2D8Async", target, pitch, value, 1, width, height, stream, false);
}

SIMGPU_EXPORT CUresult cuMemsetD16_v2(CUdeviceptr target, unsigned short value, size_t count)
{
    return set_rows("cuMemsetD16", target, 0, value, 2, count, 1, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD16Async(CUdeviceptr target, unsigned short value, size_t count, CUstream stream)
{
    return set_rows("cuMemsetD16Async", target, 0, value, 2, count, 1, stream, false);
}

SIMGPU_EXPORT CUresult cuMemsetD2D16_v2(CUdeviceptr target, size_t pitch, unsigned short value, size_t width, size_t height)
{
    return set_rows("cuMemsetD2D16", target, pitch, value, 2, width, height, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD2D16Async(CUdeviceptr target, size_t pitch, unsigned short value, size_t width,
                                          size_t height, CUstream stream)
{
    return set_rows("cuMemsetD2D16Async", target, pitch, value, 2, width, height, stream, false);
}

SIMGPU_EXPORT CUresult cuMemsetD32_v2(CUdeviceptr target, unsigned int value, size_t count)
{
    return set_rows("cuMemsetD32", target, 0, value, 4, count, 1, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD32Async(CUdeviceptr target, unsigned int value, size_t count, CUstream stream)
{
    return set_rows("cuMemsetD32Async", target, 0, value, 4, count, 1, stream, false);
}

SIMGPU_EXPORT CUresult cuMemsetD2D32_v2(CUdeviceptr target, size_t pitch, unsigned int value, size_t width, size_t height)
{
    return set_rows("cuMemsetD2D32", target, pitch, value, 4, width, height, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemsetD2D32Async(CUdeviceptr target, size_t pitch, unsigned int value, size_t width, size_t height,
                                          CUstream stream)
{
    return set_rows("cuMemsetD2D32Async", target, pitch, value, 4, width, height, stream, false);
}
