/* api_vmm.c - virtual memory management: reserve, create, map, give access, unmap, release. */
#include "driver.h"
#include "memory.h"
#include "pool.h"
#include "sim.h"
#include "stats.h"

SIMGPU_EXPORT CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr wanted,
                                           unsigned long long flags)
{
    struct call call;
    uint64_t start = 0;
    CUresult r = driver_enter(&call, "cuMemAddressReserve", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!address || flags))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.reserve_ns);
        r = address_reserve(bytes, alignment, wanted, &start);
    }
    if (r == CUDA_SUCCESS)
        *address = start;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemAddressFree", NEEDS_INIT);
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.reserve_ns);
        r = address_free(address, bytes);
    }
    return driver_leave(&call, r);
}

/* The device of a location; NULL with success: host memory. */
static CUresult location_of(const CUmemAllocationProp *prop, struct device **ret_device)
{
    *ret_device = NULL;
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    switch (prop->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *ret_device = device_find(prop->location.id);
        return *ret_device ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        if (prop->location.id != 0)
            return CUDA_ERROR_INVALID_VALUE;
        return settings.host_numa ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    case CU_MEM_LOCATION_TYPE_HOST:
        return settings.host_numa ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_EXPORT CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                                     CUmemAllocationGranularity_flags option)
{
    struct call call;
    struct device *device;
    CUresult r = driver_enter(&call, "cuMemGetAllocationGranularity", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !bytes)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = location_of(prop, &device);
    if (r == CUDA_SUCCESS)
        *bytes = settings.granularity_bytes;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                                   unsigned long long flags)
{
    struct call call;
    struct device *device;
    struct physical *p = NULL;
    CUresult r = driver_enter(&call, "cuMemCreate", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!handle || flags || bytes == 0 || bytes % settings.granularity_bytes))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = location_of(prop, &device);
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.create_ns +
                  sim_bytes_ns((double)bytes, device ? settings.profile.create_gbps : settings.profile.pin_gbps));
        r = physical_create(device, prop, bytes, &p);
        if (r == CUDA_ERROR_OUT_OF_MEMORY && device) {
            pool_release_unused(device);
            r = physical_create(device, prop, bytes, &p);
        }
    }
    if (r == CUDA_SUCCESS) {
        stats.create++;
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
    }
    return driver_leave(&call, r);
}

static struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
    void *p = (void *)(uintptr_t)handle;
    return handle_is(HANDLE_PHYSICAL, p) ? p : NULL;
}

SIMGPU_EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemRelease", NEEDS_INIT);
    struct physical *p = physical_of(handle);
    if (r == CUDA_SUCCESS && !p)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.release_ns + sim_bytes_ns((double)p->bytes, settings.profile.release_gbps));
        if (--p->refs == 0)
            stats.live_handles--;
        stats.release++;
        physical_drop_if_unused(p);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                                unsigned long long flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemMap", NEEDS_INIT);
    struct physical *p = physical_of(handle);
    if (r == CUDA_SUCCESS && (!p || offset || flags))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.map_ns);
        r = mapping_add(call.context, address, bytes, p);
    }
    return driver_leave(&call, r);
}

/* A context for an error that belongs to an address rather than to a call. */
static struct context *context_of(const struct call *call, CUdeviceptr address)
{
    const struct block *b = memory_find(address);
    if (call->context)
        return call->context;
    return b && b->context ? b->context : devices[b && b->device ? b->device->ordinal : 0].primary;
}

SIMGPU_EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
    struct call call;
    unsigned mappings = 0;
    CUresult r = driver_enter(&call, "cuMemUnmap", NEEDS_INIT);
    if (r == CUDA_SUCCESS) {
        r = mapping_remove(context_of(&call, address), address, bytes, &mappings);
        sim_spend(settings.profile.unmap_ns * mappings);
    }
    return driver_leave(&call, r);
}

/* As if the driver wrote page tables by the engine that copies to the host, which serves the two in turn. */
static void spend_for_access(const struct device *device, unsigned mappings)
{
    for (unsigned i = 0; i < mappings; i++) {
        sim_advance();
        if (device && device->lanes[LANE_D2H].running)
            sim_spend(settings.profile.access_wait_ns);
        sim_spend(settings.profile.set_access_ns);
    }
}

SIMGPU_EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *desc, size_t count)
{
    struct call call;
    unsigned mappings = 0;
    CUresult r = driver_enter(&call, "cuMemSetAccess", NEEDS_INIT);
    if (r == CUDA_SUCCESS) {
        r = mapping_set_access(address, bytes, desc, count, &mappings);
        spend_for_access(memory_find(address) ? memory_find(address)->device : NULL, mappings);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemGetAccess", NEEDS_INIT);
    const struct block *b = memory_find(address);
    if (r == CUDA_SUCCESS && (!flags || !location || !b || b->kind != BLOCK_MAPPING))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && location->type == CU_MEM_LOCATION_TYPE_DEVICE && !device_find(location->id))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS) {
        uint32_t bit = UINT32_C(1) << (location->id & 31);
        if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
            *flags = b->host_access ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        else
            *flags = b->writable & bit   ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                     : b->readable & bit ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                         : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemRetainAllocationHandle", NEEDS_INIT);
    struct block *b = memory_find((uint64_t)(uintptr_t)address);
    if (r == CUDA_SUCCESS && (!handle || !b || b->kind != BLOCK_MAPPING))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        struct physical *p = b->physical;
        if (p->refs++ == 0) { /* released while mapped: the handle is a good one again */
            r = handle_add(HANDLE_PHYSICAL, p) < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
            stats.live_handles++;
        }
        *handle = (CUmemGenericAllocationHandle)(uintptr_t)p;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemGetAllocationPropertiesFromHandle", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!prop || !physical_of(handle)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *prop = physical_of(handle)->prop;
    return driver_leave(&call, r);
}
