/* copies.c - copies and sets, with and without a stream. Compiled twice: for legacy and per-thread default streams. */
#include "runtime.h"
#include "program.h"

/* --- one dimension --- */

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    rt_tensor_written(to, bytes, from);
    switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return rt_error(DRIVER->cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, bytes));
    case cudaMemcpyHostToDevice:
        return rt_error(DRIVER->cuMemcpyHtoD((CUdeviceptr)to, from, bytes));
    case cudaMemcpyDeviceToHost:
        return rt_error(DRIVER->cuMemcpyDtoH(to, (CUdeviceptr)from, bytes));
    case cudaMemcpyDeviceToDevice:
        return rt_error(DRIVER->cuMemcpyDtoD((CUdeviceptr)to, (CUdeviceptr)from, bytes));
    default:
        return cudaErrorInvalidMemcpyDirection;
    }
}

static cudaError_t copy_async(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    rt_tensor_written(to, bytes, from);
    switch (kind) {
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return rt_error(DRIVER->cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream));
    case cudaMemcpyHostToDevice:
        return rt_error(DRIVER->cuMemcpyHtoDAsync((CUdeviceptr)to, from, bytes, stream));
    case cudaMemcpyDeviceToHost:
        return rt_error(DRIVER->cuMemcpyDtoHAsync(to, (CUdeviceptr)from, bytes, stream));
    case cudaMemcpyDeviceToDevice:
        return rt_error(DRIVER->cuMemcpyDtoDAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream));
    default:
        return cudaErrorInvalidMemcpyDirection;
    }
}

cudaError_t CUDARTAPI cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess && bytes > 0)
        error = copy(to, from, bytes, kind);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                      cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess && bytes > 0)
        error = copy_async(to, from, bytes, kind, stream);
    return rt_leave(error);
}

/* --- symbols --- */

cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                                         enum cudaMemcpyKind kind)
{
    void *to;
    cudaError_t error =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost ? cudaErrorInvalidMemcpyDirection : rt_enter();

    if (error == cudaSuccess)
        error = rt_symbol_part(symbol, offset, bytes, &to);
    if (error == cudaSuccess && bytes > 0)
        error = copy(to, from, bytes, kind);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                           enum cudaMemcpyKind kind)
{
    void *from;
    cudaError_t error =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost ? cudaErrorInvalidMemcpyDirection : rt_enter();

    if (error == cudaSuccess)
        error = rt_symbol_part(symbol, offset, bytes, &from);
    if (error == cudaSuccess && bytes > 0)
        error = copy(to, from, bytes, kind);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *to;
    cudaError_t error =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost ? cudaErrorInvalidMemcpyDirection : rt_enter();

    if (error == cudaSuccess)
        error = rt_symbol_part(symbol, offset, bytes, &to);
    if (error == cudaSuccess && bytes > 0)
        error = copy_async(to, from, bytes, kind, stream);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset,
                                                enum cudaMemcpyKind kind, cudaStream_t stream)
{
    void *from;
    cudaError_t error =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost ? cudaErrorInvalidMemcpyDirection : rt_enter();

    if (error == cudaSuccess)
        error = rt_symbol_part(symbol, offset, bytes, &from);
    if (error == cudaSuccess && bytes > 0)
        error = copy_async(to, from, bytes, kind, stream);
    return rt_leave(error);
}

/* --- two dimensions --- */

/* What each side of a copy of this kind is; returns 0 for a kind that does not exist. */
static int sides(enum cudaMemcpyKind kind, CUmemorytype *ret_from, CUmemorytype *ret_to)
{
    static const CUmemorytype from[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
                                        CU_MEMORYTYPE_UNIFIED};
    static const CUmemorytype to[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                      CU_MEMORYTYPE_UNIFIED};

    if ((unsigned)kind > cudaMemcpyDefault)
        return 0;
    *ret_from = from[kind];
    *ret_to = to[kind];
    return 1;
}

static cudaError_t describe_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                               enum cudaMemcpyKind kind, CUDA_MEMCPY2D *ret_copy)
{
    CUmemorytype from_type, to_type;

    if (!sides(kind, &from_type, &to_type))
        return cudaErrorInvalidMemcpyDirection;
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidPitchValue;
    rt_rows_written(to, to_pitch, from, from_pitch, width, height);
    *ret_copy = (CUDA_MEMCPY2D){.srcMemoryType = from_type,
                                .srcHost = from,
                                .srcDevice = (CUdeviceptr)from,
                                .srcPitch = from_pitch,
                                .dstMemoryType = to_type,
                                .dstHost = to,
                                .dstDevice = (CUdeviceptr)to,
                                .dstPitch = to_pitch,
                                .WidthInBytes = width,
                                .Height = height};
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                   size_t height, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D copy2d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = describe_2d(to, to_pitch, from, from_pitch, width, height, kind, &copy2d);
    if (error == cudaSuccess && width > 0 && height > 0)
        error = rt_error(DRIVER->cuMemcpy2DUnaligned(&copy2d));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                                        size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D copy2d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = describe_2d(to, to_pitch, from, from_pitch, width, height, kind, &copy2d);
    if (error == cudaSuccess && width > 0 && height > 0)
        error = rt_error(DRIVER->cuMemcpy2DAsync(&copy2d, stream));
    return rt_leave(error);
}

/* --- three dimensions --- */

static int is_empty(struct cudaExtent extent)
{
    return extent.width == 0 || extent.height == 0 || extent.depth == 0;
}

cudaError_t CUDARTAPI cudaMemcpy3D(const struct cudaMemcpy3DParms *parameters)
{
    CUDA_MEMCPY3D copy3d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_memcpy3d(parameters, &copy3d);
    if (error == cudaSuccess && !is_empty(parameters->extent))
        error = rt_error(DRIVER->cuMemcpy3D(&copy3d));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *parameters, cudaStream_t stream)
{
    CUDA_MEMCPY3D copy3d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_memcpy3d(parameters, &copy3d);
    if (error == cudaSuccess && !is_empty(parameters->extent))
        error = rt_error(DRIVER->cuMemcpy3DAsync(&copy3d, stream));
    return rt_leave(error);
}

/* Like the others, but each side is on the device that the caller names. */
static cudaError_t describe_3d_peer(const struct cudaMemcpy3DPeerParms *p, CUDA_MEMCPY3D_PEER *ret_copy)
{
    struct cudaMemcpy3DParms plain;
    CUDA_MEMCPY3D copy3d;
    CUcontext from = NULL, to = NULL;
    cudaError_t error;

    if (!p)
        return cudaErrorInvalidValue;
    plain = (struct cudaMemcpy3DParms){.srcArray = p->srcArray,
                                       .srcPos = p->srcPos,
                                       .srcPtr = p->srcPtr,
                                       .dstArray = p->dstArray,
                                       .dstPos = p->dstPos,
                                       .dstPtr = p->dstPtr,
                                       .extent = p->extent,
                                       .kind = cudaMemcpyDeviceToDevice};
    error = rt_memcpy3d(&plain, &copy3d);
    if (error == cudaSuccess)
        error = rt_primary_context(p->srcDevice, &from);
    if (error == cudaSuccess)
        error = rt_primary_context(p->dstDevice, &to);
    if (error != cudaSuccess)
        return error;
    *ret_copy = (CUDA_MEMCPY3D_PEER){.srcXInBytes = copy3d.srcXInBytes,
                                     .srcY = copy3d.srcY,
                                     .srcZ = copy3d.srcZ,
                                     .srcMemoryType = copy3d.srcMemoryType,
                                     .srcDevice = copy3d.srcDevice,
                                     .srcArray = copy3d.srcArray,
                                     .srcContext = from,
                                     .srcPitch = copy3d.srcPitch,
                                     .srcHeight = copy3d.srcHeight,
                                     .dstXInBytes = copy3d.dstXInBytes,
                                     .dstY = copy3d.dstY,
                                     .dstZ = copy3d.dstZ,
                                     .dstMemoryType = copy3d.dstMemoryType,
                                     .dstDevice = copy3d.dstDevice,
                                     .dstArray = copy3d.dstArray,
                                     .dstContext = to,
                                     .dstPitch = copy3d.dstPitch,
                                     .dstHeight = copy3d.dstHeight,
                                     .WidthInBytes = copy3d.WidthInBytes,
                                     .Height = copy3d.Height,
                                     .Depth = copy3d.Depth};
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *parameters)
{
    CUDA_MEMCPY3D_PEER copy3d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = describe_3d_peer(parameters, &copy3d);
    if (error == cudaSuccess && !is_empty(parameters->extent))
        error = rt_error(DRIVER->cuMemcpy3DPeer(&copy3d));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *parameters, cudaStream_t stream)
{
    CUDA_MEMCPY3D_PEER copy3d;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = describe_3d_peer(parameters, &copy3d);
    if (error == cudaSuccess && !is_empty(parameters->extent))
        error = rt_error(DRIVER->cuMemcpy3DPeerAsync(&copy3d, stream));
    return rt_leave(error);
}

/* --- many at once: the structures are the same in both interfaces --- */

cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                                           struct cudaMemcpyAttributes *attributes, size_t *attribute_starts,
                                           size_t attribute_count, cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    for (size_t i = 0; to && from && bytes && i < count; i++)
        rt_tensor_written(to[i], bytes[i], from[i]);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemcpyBatchAsync((CUdeviceptr *)to, (CUdeviceptr *)from, (size_t *)bytes, count,
                                                    (CUmemcpyAttributes *)attributes, attribute_starts, attribute_count,
                                                    stream));
    return rt_leave(error);
}

/* Rows and planes lie behind one another where the program says nothing of their distance. */
static void one_of_batch_written(const struct cudaMemcpy3DBatchOp *o)
{
    const struct cudaMemcpy3DOperand *to = &o->dst, *from = &o->src;
    const size_t to_row = to->op.ptr.rowLength ? to->op.ptr.rowLength : o->extent.width,
                 from_row = from->op.ptr.rowLength ? from->op.ptr.rowLength : o->extent.width,
                 to_rows = to->op.ptr.layerHeight ? to->op.ptr.layerHeight : o->extent.height,
                 from_rows = from->op.ptr.layerHeight ? from->op.ptr.layerHeight : o->extent.height;

    if (to->type != cudaMemcpyOperandTypePointer || from->type != cudaMemcpyOperandTypePointer)
        return;
    for (size_t z = 0; z < o->extent.depth; z++)
        rt_rows_written((const char *)to->op.ptr.ptr + z * to_rows * to_row, to_row,
                        (const char *)from->op.ptr.ptr + z * from_rows * from_row, from_row, o->extent.width,
                        o->extent.height);
}

cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync(size_t count, struct cudaMemcpy3DBatchOp *operations, unsigned long long flags,
                                             cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    _Static_assert(sizeof *operations == sizeof(CUDA_MEMCPY3D_BATCH_OP), "one structure in both interfaces");
    for (size_t i = 0; operations && i < count; i++)
        one_of_batch_written(&operations[i]);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemcpy3DBatchAsync(count, (CUDA_MEMCPY3D_BATCH_OP *)operations, flags, stream));
    return rt_leave(error);
}

/* --- sets: the driver is only ever asked to set bytes --- */

#define RT_SET(name, parameters, pitch, width, rows, call) \
    cudaError_t CUDARTAPI name parameters \
    { \
        cudaError_t error = rt_enter(); \
        rt_rows_written(address, pitch, NULL, 0, width, rows); \
        if (error == cudaSuccess) \
            error = rt_error(DRIVER->call); \
        return rt_leave(error); \
    }

RT_SET(cudaMemset, (void *address, int value, size_t bytes), 0, bytes, 1,
       cuMemsetD8((CUdeviceptr)address, (unsigned char)value, bytes))
RT_SET(cudaMemsetAsync, (void *address, int value, size_t bytes, cudaStream_t stream), 0, bytes, 1,
       cuMemsetD8Async((CUdeviceptr)address, (unsigned char)value, bytes, stream))
RT_SET(cudaMemset2D, (void *address, size_t pitch, int value, size_t width, size_t height), pitch, width, height,
       cuMemsetD2D8((CUdeviceptr)address, pitch, (unsigned char)value, width, height))
RT_SET(cudaMemset2DAsync, (void *address, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream), pitch,
       width, height, cuMemsetD2D8Async((CUdeviceptr)address, pitch, (unsigned char)value, width, height, stream))

/* A box is a stack of planes, each pitch * ysize bytes after the one before. */
static void box_written(struct cudaPitchedPtr to, struct cudaExtent extent)
{
    for (size_t z = 0; z < extent.depth; z++)
        rt_rows_written((const char *)to.ptr + z * to.pitch * to.ysize, to.pitch, NULL, 0, extent.width, extent.height);
}

cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream)
{
    cudaError_t error = rt_enter();

    box_written(to, extent);
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = rt_error(DRIVER->cuMemsetD2D8Async((CUdeviceptr)to.ptr + z * to.pitch * to.ysize, to.pitch,
                                                   (unsigned char)value, extent.width, extent.height, stream));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    cudaError_t error = rt_enter();

    box_written(to, extent);
    for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++)
        error = rt_error(DRIVER->cuMemsetD2D8((CUdeviceptr)to.ptr + z * to.pitch * to.ysize, to.pitch, (unsigned char)value,
                                              extent.width, extent.height));
    return rt_leave(error);
}
