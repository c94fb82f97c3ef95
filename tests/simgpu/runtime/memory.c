/* memory.c - allocating, freeing and asking about memory: the calls that have one form only. */
#include "runtime.h"
#include "program.h"
#include <string.h>

/* --- device memory --- */

cudaError_t CUDARTAPI cudaMalloc(void **address, size_t bytes)
{
    cudaError_t error = address ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess && bytes == 0)
        *address = NULL;
    else if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemAlloc((CUdeviceptr *)address, bytes));
    if (error == cudaSuccess)
        rt_tensor_made(*address, bytes);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaFree(void *address)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess && address) {
        rt_tensor_gone(address);
        error = rt_error(DRIVER->cuMemFree((CUdeviceptr)address));
    }
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height)
{
    cudaError_t error = address && pitch ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess && (width == 0 || height == 0)) {
        *address = NULL;
        *pitch = 0;
    } else if (error == cudaSuccess) {
        error = rt_error(DRIVER->cuMemAllocPitch((CUdeviceptr *)address, pitch, width, height, 4));
    }
    if (error == cudaSuccess)
        rt_tensor_made(*address, *pitch * height);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr *memory, struct cudaExtent extent)
{
    void *address;
    size_t pitch;
    const cudaError_t error = memory ? cudaMallocPitch(&address, &pitch, extent.width, extent.height * extent.depth)
                                     : rt_leave(cudaErrorInvalidValue);

    if (error == cudaSuccess)
        *memory = (struct cudaPitchedPtr){address, pitch, extent.width, extent.height};
    return error;
}

cudaError_t CUDARTAPI cudaMallocManaged(void **address, size_t bytes, unsigned int flags)
{
    cudaError_t error = address && bytes ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemAllocManaged((CUdeviceptr *)address, bytes, flags));
    if (error == cudaSuccess)
        rt_tensor_made(*address, bytes);
    return rt_leave(error);
}

RT_FORWARD(cudaMemGetInfo, (size_t * free_bytes, size_t *total_bytes), cuMemGetInfo(free_bytes, total_bytes))

/* --- host memory --- */

cudaError_t CUDARTAPI cudaHostAlloc(void **address, size_t bytes, unsigned int flags)
{
    cudaError_t error = address ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess && bytes == 0)
        *address = NULL;
    else if (error == cudaSuccess)
        error = rt_error(DRIVER->cuMemHostAlloc(address, bytes, flags));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMallocHost(void **address, size_t bytes)
{
    return cudaHostAlloc(address, bytes, cudaHostAllocDefault);
}

cudaError_t CUDARTAPI cudaFreeHost(void *address)
{
    cudaError_t error = rt_enter();

    if (error == cudaSuccess && address)
        error = rt_error(DRIVER->cuMemFreeHost(address));
    return rt_leave(error);
}

RT_FORWARD(cudaHostRegister, (void *address, size_t bytes, unsigned int flags), cuMemHostRegister(address, bytes, flags))
RT_FORWARD(cudaHostUnregister, (void *address), cuMemHostUnregister(address))
RT_FORWARD(cudaHostGetDevicePointer, (void **device_address, void *address, unsigned int flags),
           cuMemHostGetDevicePointer((CUdeviceptr *)device_address, address, flags))
RT_FORWARD(cudaHostGetFlags, (unsigned int *flags, void *address), cuMemHostGetFlags(flags, address))

/* --- pools: the structures are the same in both interfaces --- */

RT_FORWARD(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *properties),
           cuMemPoolCreate(pool, (const CUmemPoolProps *)properties))
RT_FORWARD(cudaMemPoolDestroy, (cudaMemPool_t pool), cuMemPoolDestroy(pool))
RT_FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep_bytes), cuMemPoolTrimTo(pool, keep_bytes))
RT_FORWARD(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
           cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, value))
RT_FORWARD(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value),
           cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, value))
RT_FORWARD(cudaMemPoolSetAccess, (cudaMemPool_t pool, const struct cudaMemAccessDesc *accesses, size_t count),
           cuMemPoolSetAccess(pool, (const CUmemAccessDesc *)accesses, count))
RT_FORWARD(cudaMemPoolGetAccess, (enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *location),
           cuMemPoolGetAccess((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location))
RT_FORWARD(cudaMemPoolExportToShareableHandle,
           (void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags),
           cuMemPoolExportToShareableHandle(handle, pool, (CUmemAllocationHandleType)type, flags))
RT_FORWARD(cudaMemPoolImportFromShareableHandle,
           (cudaMemPool_t * pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags),
           cuMemPoolImportFromShareableHandle(pool, handle, (CUmemAllocationHandleType)type, flags))
RT_FORWARD(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * data, void *address),
           cuMemPoolExportPointer((CUmemPoolPtrExportData *)data, (CUdeviceptr)address))
RT_FORWARD(cudaMemPoolImportPointer, (void **address, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data),
           cuMemPoolImportPointer((CUdeviceptr *)address, pool, (CUmemPoolPtrExportData *)data))
RT_FORWARD(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetDefaultMemPool(pool, device))
RT_FORWARD(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetMemPool(pool, device))
RT_FORWARD(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), cuDeviceSetMemPool(device, pool))

RT_FORWARD(cudaMemGetDefaultMemPool,
           (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
           cuMemGetDefaultMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type))
RT_FORWARD(cudaMemGetMemPool, (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
           cuMemGetMemPool(pool, (CUmemLocation *)location, (CUmemAllocationType)type))
RT_FORWARD(cudaMemSetMemPool, (struct cudaMemLocation * location, enum cudaMemAllocationType type, cudaMemPool_t pool),
           cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, pool))

/* --- queries and advice --- */

/* A pointer that the driver does not know is unregistered host memory, and that is an answer. */
cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    CUmemorytype type = 0;
    CUdeviceptr device_address = 0;
    void *host_address = NULL;
    int device = cudaInvalidDeviceId;
    unsigned int managed = 0;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *values[] = {&type, &device_address, &host_address, &device, &managed};
    cudaError_t error = attributes ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuPointerGetAttributes(5, names, values, (CUdeviceptr)address));
    if (error != cudaSuccess)
        return rt_leave(error);
    memset(attributes, 0, sizeof *attributes);
    attributes->type = managed                        ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                      : cudaMemoryTypeUnregistered;
    attributes->device = attributes->type == cudaMemoryTypeUnregistered ? cudaInvalidDeviceId : device;
    attributes->devicePointer = (void *)device_address;
    attributes->hostPointer = attributes->type == cudaMemoryTypeUnregistered ? (void *)address : host_address;
    return cudaSuccess;
}

RT_FORWARD(cudaMemAdvise, (const void *address, size_t bytes, enum cudaMemoryAdvise advice, struct cudaMemLocation location),
           cuMemAdvise((CUdeviceptr)address, bytes, (CUmem_advise)advice,
                       (CUmemLocation){(CUmemLocationType)location.type, location.id}))
RT_FORWARD(cudaMemRangeGetAttribute,
           (void *data, size_t data_bytes, enum cudaMemRangeAttribute attribute, const void *address, size_t bytes),
           cuMemRangeGetAttribute(data, data_bytes, (CUmem_range_attribute)attribute, (CUdeviceptr)address, bytes))

RT_FORWARD(cudaMemRangeGetAttributes,
           (void **data, size_t *data_bytes, enum cudaMemRangeAttribute *attributes, size_t count, const void *address,
            size_t bytes),
           cuMemRangeGetAttributes(data, data_bytes, (CUmem_range_attribute *)attributes, count, (CUdeviceptr)address,
                                   bytes))

/* --- other processes --- */

RT_FORWARD(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *address),
           cuIpcGetMemHandle((CUipcMemHandle *)handle, (CUdeviceptr)address))
cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void **address, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle driver_handle;
    cudaError_t error = rt_enter();

    memcpy(&driver_handle, &handle, sizeof driver_handle);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuIpcOpenMemHandle((CUdeviceptr *)address, driver_handle, flags));
    return rt_leave(error);
}
RT_FORWARD(cudaIpcCloseMemHandle, (void *address), cuIpcCloseMemHandle((CUdeviceptr)address))
RT_FORWARD(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
           cuIpcGetEventHandle((CUipcEventHandle *)handle, event))
cudaError_t CUDARTAPI cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle driver_handle;
    cudaError_t error = rt_enter();

    memcpy(&driver_handle, &handle, sizeof driver_handle);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuIpcOpenEventHandle(event, driver_handle));
    return rt_leave(error);
}

/* --- symbols --- */

cudaError_t CUDARTAPI cudaGetSymbolAddress(void **address, const void *symbol)
{
    CUdeviceptr device_address;
    size_t bytes;
    cudaError_t error = address ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_symbol(symbol, &device_address, &bytes);
    if (error == cudaSuccess)
        *address = (void *)device_address;
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr device_address;
    size_t bytes;
    cudaError_t error = size ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_symbol(symbol, &device_address, &bytes);
    if (error == cudaSuccess)
        *size = bytes;
    return rt_leave(error);
}

/* --- copies between two devices, which name their devices instead of a kind; and the shape of three-dimensional ones --- */

static cudaError_t two_contexts(int to_device, int from_device, CUcontext *ret_to, CUcontext *ret_from)
{
    const cudaError_t error = rt_primary_context(to_device, ret_to);

    return error == cudaSuccess ? rt_primary_context(from_device, ret_from) : error;
}

cudaError_t CUDARTAPI cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
    CUcontext to_context, from_context;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = two_contexts(to_device, from_device, &to_context, &from_context);
    if (error == cudaSuccess && bytes > 0)
        rt_tensor_written(to, bytes, from);
    if (error == cudaSuccess && bytes > 0)
        error = rt_error(DRIVER->cuMemcpyPeer((CUdeviceptr)to, to_context, (CUdeviceptr)from, from_context, bytes));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                                          cudaStream_t stream)
{
    CUcontext to_context, from_context;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = two_contexts(to_device, from_device, &to_context, &from_context);
    if (error == cudaSuccess && bytes > 0)
        rt_tensor_written(to, bytes, from);
    if (error == cudaSuccess && bytes > 0)
        error =
            rt_error(DRIVER->cuMemcpyPeerAsync((CUdeviceptr)to, to_context, (CUdeviceptr)from, from_context, bytes, stream));
    return rt_leave(error);
}

static const char *corner(const struct cudaPitchedPtr *box, const struct cudaPos *at, size_t z)
{
    return (const char *)box->ptr + (at->z + z) * box->pitch * box->ysize + at->y * box->pitch + at->x;
}

static void box_written(const struct cudaMemcpy3DParms *p)
{
    for (size_t z = 0; z < p->extent.depth; z++)
        rt_rows_written(corner(&p->dstPtr, &p->dstPos, z), p->dstPtr.pitch, corner(&p->srcPtr, &p->srcPos, z),
                        p->srcPtr.pitch, p->extent.width, p->extent.height);
}

cudaError_t rt_memcpy3d(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *ret_copy)
{
    static const CUmemorytype from[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE,
                                        CU_MEMORYTYPE_UNIFIED};
    static const CUmemorytype to[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                      CU_MEMORYTYPE_UNIFIED};

    if (!p)
        return cudaErrorInvalidValue;
    if ((unsigned)p->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (p->srcArray || p->dstArray)
        return cudaErrorNotSupported; /* arrays have elements of other sizes: not on this device */
    box_written(p);
    *ret_copy = (CUDA_MEMCPY3D){.srcXInBytes = p->srcPos.x,
                                .srcY = p->srcPos.y,
                                .srcZ = p->srcPos.z,
                                .srcMemoryType = from[p->kind],
                                .srcHost = p->srcPtr.ptr,
                                .srcDevice = (CUdeviceptr)p->srcPtr.ptr,
                                .srcPitch = p->srcPtr.pitch,
                                .srcHeight = p->srcPtr.ysize,
                                .dstXInBytes = p->dstPos.x,
                                .dstY = p->dstPos.y,
                                .dstZ = p->dstPos.z,
                                .dstMemoryType = to[p->kind],
                                .dstHost = p->dstPtr.ptr,
                                .dstDevice = (CUdeviceptr)p->dstPtr.ptr,
                                .dstPitch = p->dstPtr.pitch,
                                .dstHeight = p->dstPtr.ysize,
                                .WidthInBytes = p->extent.width,
                                .Height = p->extent.height,
                                .Depth = p->extent.depth};
    return cudaSuccess;
}
