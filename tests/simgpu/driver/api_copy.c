/* api_copy.c - every form of copy. */
#include "copy.h"
#include "driver.h"

static CUresult plain(const char *name, uint64_t target, enum side target_side, uint64_t source, enum side source_side,
                      size_t bytes, CUstream stream, bool waits)
{
    struct call call;
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = copy_submit(call.context, stream, name, copy_plain(target, source, bytes), source_side, target_side, waits);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemcpy(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
    return plain("cuMemcpy", target, SIDE_UNKNOWN, source, SIDE_UNKNOWN, bytes, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream)
{
    return plain("cuMemcpyAsync", target, SIDE_UNKNOWN, source, SIDE_UNKNOWN, bytes, stream, false);
}

SIMGPU_EXPORT CUresult cuMemcpyHtoD_v2(CUdeviceptr target, const void *source, size_t bytes)
{
    return plain("cuMemcpyHtoD", target, SIDE_DEVICE, (uintptr_t)source, SIDE_HOST, bytes, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void *source, size_t bytes, CUstream stream)
{
    return plain("cuMemcpyHtoDAsync", target, SIDE_DEVICE, (uintptr_t)source, SIDE_HOST, bytes, stream, false);
}

SIMGPU_EXPORT CUresult cuMemcpyDtoH_v2(void *target, CUdeviceptr source, size_t bytes)
{
    return plain("cuMemcpyDtoH", (uintptr_t)target, SIDE_HOST, source, SIDE_DEVICE, bytes, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *target, CUdeviceptr source, size_t bytes, CUstream stream)
{
    return plain("cuMemcpyDtoHAsync", (uintptr_t)target, SIDE_HOST, source, SIDE_DEVICE, bytes, stream, false);
}

SIMGPU_EXPORT CUresult cuMemcpyDtoD_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes)
{
    return plain("cuMemcpyDtoD", target, SIDE_DEVICE, source, SIDE_DEVICE, bytes, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream)
{
    return plain("cuMemcpyDtoDAsync", target, SIDE_DEVICE, source, SIDE_DEVICE, bytes, stream, false);
}

SIMGPU_EXPORT CUresult cuMemcpyPeer(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes)
{
    return plain("cuMemcpyPeer", target, SIDE_DEVICE, source, SIDE_DEVICE, bytes, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes,
                                         CUstream stream)
{
    return plain("cuMemcpyPeerAsync", target, SIDE_DEVICE, source, SIDE_DEVICE, bytes, stream, false);
}

/* ---- rows and slices ---- */

/* One side of a 2D or 3D copy: its address and whose it is. False: an array, which the device doesn't have. */
static bool side_of(CUmemorytype type, const void *host, CUdeviceptr device, uint64_t offset, uint64_t *ret_address,
                    enum side *ret_side)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        *ret_address = (uint64_t)(uintptr_t)host + offset;
        *ret_side = SIDE_HOST;
        return true;
    case CU_MEMORYTYPE_DEVICE:
        *ret_address = device + offset;
        *ret_side = SIDE_DEVICE;
        return true;
    case CU_MEMORYTYPE_UNIFIED:
        *ret_address = device + offset;
        *ret_side = SIDE_UNKNOWN;
        return true;
    default:
        return false;
    }
}

struct request { /* a copy with what the caller says about its sides */
    struct copy copy;
    enum side source, target;
};

static CUresult request_2d(const CUDA_MEMCPY2D *p, struct request *ret)
{
    size_t source_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
           target_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    struct copy c = {.width = p->WidthInBytes,
                     .height = p->Height,
                     .depth = 1,
                     .source_pitch = source_pitch,
                     .target_pitch = target_pitch};
    if (p->Height > 1 &&
        (source_pitch < p->srcXInBytes + p->WidthInBytes || target_pitch < p->dstXInBytes + p->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!side_of(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcY * source_pitch + p->srcXInBytes, &c.source,
                 &ret->source) ||
        !side_of(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstY * target_pitch + p->dstXInBytes, &c.target,
                 &ret->target))
        return CUDA_ERROR_NOT_SUPPORTED;
    ret->copy = c;
    return CUDA_SUCCESS;
}

CUresult copy_request_3d(const CUDA_MEMCPY3D *p, struct copy *ret_copy, enum side *ret_source, enum side *ret_target)
{
    size_t source_pitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
           target_pitch = p->dstPitch ? p->dstPitch : p->WidthInBytes;
    size_t source_height = p->srcHeight ? p->srcHeight : p->Height, target_height = p->dstHeight ? p->dstHeight : p->Height;
    struct copy c = {.width = p->WidthInBytes,
                     .height = p->Height,
                     .depth = p->Depth,
                     .source_pitch = source_pitch,
                     .target_pitch = target_pitch,
                     .source_slice = source_pitch * source_height,
                     .target_slice = target_pitch * target_height};
    uint64_t source_offset = (p->srcZ * source_height + p->srcY) * source_pitch + p->srcXInBytes;
    uint64_t target_offset = (p->dstZ * target_height + p->dstY) * target_pitch + p->dstXInBytes;
    if (p->Height > 1 &&
        (source_pitch < p->srcXInBytes + p->WidthInBytes || target_pitch < p->dstXInBytes + p->WidthInBytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!side_of(p->srcMemoryType, p->srcHost, p->srcDevice, source_offset, &c.source, ret_source) ||
        !side_of(p->dstMemoryType, p->dstHost, p->dstDevice, target_offset, &c.target, ret_target))
        return CUDA_ERROR_NOT_SUPPORTED;
    *ret_copy = c;
    return CUDA_SUCCESS;
}

static CUresult copy_2d(const char *name, const CUDA_MEMCPY2D *p, CUstream stream, bool waits)
{
    struct call call;
    struct request q;
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = p ? request_2d(p, &q) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = copy_submit(call.context, stream, name, q.copy, q.source, q.target, waits);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d("cuMemcpy2D", p, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
    return copy_2d("cuMemcpy2DUnaligned", p, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return copy_2d("cuMemcpy2DAsync", p, stream, false);
}

static CUresult copy_3d(const char *name, const CUDA_MEMCPY3D *p, CUstream stream, bool waits)
{
    struct call call;
    struct request q;
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = p ? copy_request_3d(p, &q.copy, &q.source, &q.target) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = copy_submit(call.context, stream, name, q.copy, q.source, q.target, waits);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
    return copy_3d("cuMemcpy3D", p, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
    return copy_3d("cuMemcpy3DAsync", p, stream, false);
}

/* The contexts of the peer form only say what the addresses already tell. */
static CUDA_MEMCPY3D without_peers(const CUDA_MEMCPY3D_PEER *p)
{
    return (CUDA_MEMCPY3D){.srcXInBytes = p->srcXInBytes,
                           .srcY = p->srcY,
                           .srcZ = p->srcZ,
                           .srcMemoryType = p->srcMemoryType,
                           .srcHost = p->srcHost,
                           .srcDevice = p->srcDevice,
                           .srcPitch = p->srcPitch,
                           .srcHeight = p->srcHeight,
                           .dstXInBytes = p->dstXInBytes,
                           .dstY = p->dstY,
                           .dstZ = p->dstZ,
                           .dstMemoryType = p->dstMemoryType,
                           .dstHost = p->dstHost,
                           .dstDevice = p->dstDevice,
                           .dstPitch = p->dstPitch,
                           .dstHeight = p->dstHeight,
                           .WidthInBytes = p->WidthInBytes,
                           .Height = p->Height,
                           .Depth = p->Depth};
}

SIMGPU_EXPORT CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
    CUDA_MEMCPY3D plain_form;
    if (p)
        plain_form = without_peers(p);
    return copy_3d("cuMemcpy3DPeer", p ? &plain_form : NULL, NULL, true);
}

SIMGPU_EXPORT CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
    CUDA_MEMCPY3D plain_form;
    if (p)
        plain_form = without_peers(p);
    return copy_3d("cuMemcpy3DPeerAsync", p ? &plain_form : NULL, stream, false);
}

/* ---- batches ---- */

/* Neither kind of batch takes the legacy default stream. */
static CUresult batch_stream(CUstream stream)
{
    return stream == CU_STREAM_LEGACY || (!stream && !per_thread_default()) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult batch(CUdeviceptr *targets, CUdeviceptr *sources, size_t *sizes, size_t count,
                      CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count, size_t *fail_index,
                      CUstream stream)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemcpyBatchAsync", NEEDS_CONTEXT);
    if (fail_index)
        *fail_index = SIZE_MAX;
    if (r == CUDA_SUCCESS)
        r = batch_stream(stream);
    if (r == CUDA_SUCCESS && (!targets || !sources || !sizes || !count || !attributes || !indices || !attribute_count ||
                              attribute_count > count || indices[0] != 0))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_SUCCESS && i < attribute_count; i++)
        if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
            r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, kind = 0; r == CUDA_SUCCESS && i < count; i++) {
        struct copy c = copy_plain(targets[i], sources[i], sizes[i]);
        while (kind + 1 < attribute_count && indices[kind + 1] <= i)
            kind++;
        c.reads_now = attributes[kind].srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
        r = copy_submit(call.context, stream, "cuMemcpyBatchAsync", c, SIDE_UNKNOWN, SIDE_UNKNOWN, false);
        if (r != CUDA_SUCCESS && fail_index)
            *fail_index = i;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemcpyBatchAsync(CUdeviceptr *targets, CUdeviceptr *sources, size_t *sizes, size_t count,
                                          CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                                          size_t *fail_index, CUstream stream)
{
    return batch(targets, sources, sizes, count, attributes, indices, attribute_count, fail_index, stream);
}

SIMGPU_EXPORT CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *targets, CUdeviceptr *sources, size_t *sizes, size_t count,
                                             CUmemcpyAttributes *attributes, size_t *indices, size_t attribute_count,
                                             CUstream stream)
{
    return batch(targets, sources, sizes, count, attributes, indices, attribute_count, NULL, stream);
}

/* Elements of one byte: the operands carry addresses only. */
static CUresult copy_of_batch_op(const CUDA_MEMCPY3D_BATCH_OP *o, struct copy *ret_copy)
{
    if (o->src.type != CU_MEMCPY_OPERAND_TYPE_POINTER || o->dst.type != CU_MEMCPY_OPERAND_TYPE_POINTER)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!o->extent.width || !o->extent.height || !o->extent.depth)
        return CUDA_ERROR_INVALID_VALUE;
    if (o->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || o->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
        return CUDA_ERROR_INVALID_VALUE;
    struct copy c = {.source = o->src.op.ptr.ptr,
                     .reads_now = o->srcAccessOrder != CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
                     .target = o->dst.op.ptr.ptr,
                     .width = o->extent.width,
                     .height = o->extent.height,
                     .depth = o->extent.depth};
    c.source_pitch = o->src.op.ptr.rowLength ? o->src.op.ptr.rowLength : c.width;
    c.target_pitch = o->dst.op.ptr.rowLength ? o->dst.op.ptr.rowLength : c.width;
    c.source_slice = c.source_pitch * (o->src.op.ptr.layerHeight ? o->src.op.ptr.layerHeight : c.height);
    c.target_slice = c.target_pitch * (o->dst.op.ptr.layerHeight ? o->dst.op.ptr.layerHeight : c.height);
    *ret_copy = c;
    return CUDA_SUCCESS;
}

static CUresult batch_3d(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *fail_index, unsigned long long flags,
                         CUstream stream)
{
    struct call call;
    struct copy c;
    CUresult r = driver_enter(&call, "cuMemcpy3DBatchAsync", NEEDS_CONTEXT);
    if (fail_index)
        *fail_index = SIZE_MAX;
    if (r == CUDA_SUCCESS)
        r = !list || !count || flags ? CUDA_ERROR_INVALID_VALUE : batch_stream(stream);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
        r = copy_of_batch_op(&list[i], &c);
        if (r == CUDA_SUCCESS)
            r = copy_submit(call.context, stream, "cuMemcpy3DBatchAsync", c, SIDE_UNKNOWN, SIDE_UNKNOWN, false);
        if (r != CUDA_SUCCESS && fail_index)
            *fail_index = i;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, size_t *fail_index,
                                            unsigned long long flags, CUstream stream)
{
    return batch_3d(count, list, fail_index, flags, stream);
}

SIMGPU_EXPORT CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP *list, unsigned long long flags,
                                               CUstream stream)
{
    return batch_3d(count, list, NULL, flags, stream);
}
