/* api_pointer.c - what can be asked about an address. */
#include <string.h>

#include "driver.h"
#include "memory.h"
#include "physical.h"
#include "pool.h"

static CUresult put(void *data, const void *value, size_t bytes)
{
    memcpy(data, value, bytes);
    return CUDA_SUCCESS;
}

static CUresult put_int(void *data, int value)
{
    return put(data, &value, sizeof value);
}

static CUresult put_address(void *data, uint64_t value)
{
    return put(data, &value, sizeof value);
}

/* A context for memory that the program mapped itself: the primary one of its device. */
static void *context_for(const struct block *b)
{
    if (b->kind != BLOCK_MAPPING)
        return b->context;
    return b->device ? b->device->primary : NULL;
}

static int access_of(const struct context *c, const struct block *b)
{
    uint32_t bit = c ? UINT32_C(1) << c->device->ordinal : 1;
    return b->writable & bit ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : b->readable & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ : 0;
}

static CUresult known(const struct context *c, const struct block *b, CUpointer_attribute attribute, CUdeviceptr address,
                      void *data)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return put_address(data, (uint64_t)(uintptr_t)context_for(b));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return put(data, &(unsigned){b->device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST}, sizeof(unsigned));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        if (b->kind == BLOCK_MAPPING && !access_of(c, b))
            return CUDA_ERROR_INVALID_VALUE;
        return put_address(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return b->host_access ? put_address(data, address) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return put_int(data, b->sync_memops);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return put_address(data, b->id);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return put_int(data, b->kind == BLOCK_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return put_int(data, b->device ? b->device->ordinal : b->context ? b->context->device->ordinal : 0);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return put_int(data, 0); /* the simulated device has no IPC */
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        return put_address(data, b->span.start);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        return put_address(data, b->span.end - b->span.start);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return put_int(data, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        return put_address(data, b->kind == BLOCK_MAPPING ? (uint64_t)b->physical->prop.requestedHandleTypes : 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        return put_int(data, b->kind == BLOCK_MAPPING && b->physical->prop.allocFlags.gpuDirectRDMACapable);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        return put_int(data, access_of(c, b));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        return put_address(data, (uint64_t)(uintptr_t)(b->kind == BLOCK_POOL ? b->pool : NULL));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        return put_address(data, b->key);
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return put_int(data, 0);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult ask(const struct context *c, CUpointer_attribute attribute, CUdeviceptr address, void *data)
{
    const struct block *b = memory_find(address);
    if (!data || attribute < 1 || attribute > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
        return CUDA_ERROR_INVALID_VALUE;
    if (b && !b->free_op)
        return known(c, b, attribute, address, data);
    if (attribute == CU_POINTER_ATTRIBUTE_MAPPED && address_is_reserved(address))
        return put_int(data, 0);
    return CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuPointerGetAttribute", NEEDS_INIT);
    if (r == CUDA_SUCCESS)
        r = ask(call.context, attribute, address, data);
    return driver_leave(&call, r);
}

/* Unlike the single question, several of them answer zeros for an address that nobody knows. */
static void ask_leniently(const struct context *c, CUpointer_attribute attribute, CUdeviceptr address, void *data)
{
    CUresult r = ask(c, attribute, address, data);
    if (r == CUDA_SUCCESS)
        return;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        (void)put_int(data, -2);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        (void)put_int(data, 0);
        break;
    default:
        (void)put_address(data, 0);
    }
}

SIMGPU_EXPORT CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                              CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuPointerGetAttributes", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (count == 0 || !attributes || !data))
        r = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        ask_leniently(call.context, attributes[i], address, data[i]);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuPointerSetAttribute", NEEDS_INIT);
    struct block *b = memory_find(address);
    if (r == CUDA_SUCCESS && (!value || !b || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        b->sync_memops = *(const unsigned *)value != 0;
    return driver_leave(&call, r);
}
