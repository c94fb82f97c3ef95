/* hooks_query.c - questions about addresses: answers them from the ledger, so that an evicted tensor looks like any
 * other. */
#include <string.h>

#include "alloc.h"
#include "hooks.h"
#include "lock.h"
#include "arena.h"
#include "pin.h"
#include "result.h"

/* For an address of ours that nobody owns, the driver is asked about nothing instead: what lies there is spare room or
 * waits for its next owner, and the driver knows that it is mapped. */
static CUdeviceptr unknown(CUdeviceptr a)
{
    return spw_in_arena(a) ? 0 : a;
}

/* Ids that the driver, which also counts, never gives. */
static const unsigned long long OURS = 1ULL << 62;

static bool ours(CUdeviceptr a, struct spw_allocation *ret_allocation)
{
    if (!spw_in_arena(a))
        return false;
    spw_lock();
    bool found = spw_allocation_at_locked(a, ret_allocation);
    spw_unlock();
    return found;
}

CUresult spw_on_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct spw_allocation a;
    if (!spw_in_arena(dptr))
        return spw_driver.cuMemGetAddressRange_v2(pbase, psize, dptr);
    if (!ours(dptr, &a))
        return CUDA_ERROR_NOT_FOUND;
    if (pbase)
        *pbase = a.address;
    if (psize)
        *psize = a.size_bytes;
    return CUDA_SUCCESS;
}

/* Answers as the driver would for an allocation of its own. CUDA_ERROR_NOT_SUPPORTED: only the driver can tell. */
static CUresult attribute(void *data, CUpointer_attribute attribute, CUdeviceptr p, const struct spw_allocation *a)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        memcpy(data, &a->context, sizeof(a->context));
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = CU_MEMORYTYPE_DEVICE;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = p;
        break;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = a->sync_memops;
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = OURS | a->serial;
        break;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = a->device;
        break;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(unsigned *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = a->address;
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = a->size_bytes;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)data = 1;
        break;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned *)data = 0;
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        memcpy(data, &a->pool, sizeof(a->pool));
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = a->size_bytes;
        break;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)data = a->address;
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = OURS | a->serial;
        break;
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned *)data = 0; /* that would have had to be asked for when the memory was made */
        break;
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

CUresult spw_on_cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr ptr)
{
    struct spw_allocation a;
    if (!data || !ours(ptr, &a))
        return spw_driver.cuPointerGetAttribute(data, which, unknown(ptr));
    CUresult r = attribute(data, which, ptr, &a);
    return r == CUDA_ERROR_NOT_SUPPORTED ? spw_driver.cuPointerGetAttribute(data, which, ptr) : r;
}

/* Unlike the single question, this answers what does not apply with zeroes. */
CUresult spw_on_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
                                       CUdeviceptr ptr)
{
    struct spw_allocation a;
    if (!numAttributes || !attributes || !data || !ours(ptr, &a))
        return spw_driver.cuPointerGetAttributes(numAttributes, attributes, data, unknown(ptr));
    for (unsigned i = 0; i < numAttributes; i++) {
        CUresult r = attribute(data[i], attributes[i], ptr, &a);
        if (r == CUDA_ERROR_NOT_SUPPORTED)
            r = spw_driver.cuPointerGetAttributes(1, &attributes[i], &data[i], ptr);
        if (r == CUDA_ERROR_INVALID_VALUE && attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
            *(void **)data[i] = NULL;
        else if (r != CUDA_SUCCESS)
            return r;
    }
    return CUDA_SUCCESS;
}

/* Pins memory before the driver is asked: whoever gets hold of its physical memory sees its bytes only while they stay
 * there. */
static CUresult pin_for(CUdeviceptr a, const char *why)
{
    if (!spw_in_arena(a))
        return CUDA_SUCCESS;
    spw_pin_failure = 0;
    spw_pin_address(a, why);
    return spw_cuda(spw_pin_failure);
}

CUresult spw_on_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct spw_allocation a;
    if (spw_in_arena(ptr) && !ours(ptr, &a))
        return spw_driver.cuPointerSetAttribute(value, attribute, unknown(ptr));
    CUresult r = pin_for(ptr, "the program set an attribute of its memory");
    if (r == CUDA_SUCCESS)
        r = spw_driver.cuPointerSetAttribute(value, attribute, ptr);
    if (r == CUDA_SUCCESS && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && spw_in_arena(ptr)) {
        spw_lock();
        spw_allocation_set_sync_memops_locked(ptr, *(const unsigned *)value != 0);
        spw_unlock();
    }
    return r;
}
