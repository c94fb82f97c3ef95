/* api_memory.c - plain allocation, managed memory, host memory, and how much is left. */
#include "driver.h"
#include "graph_memory.h"
#include "memory.h"
#include "physical.h"
#include "sim.h"
#include "stats.h"

static CUresult allocate(struct context *context, enum block_kind kind, size_t bytes, struct block **ret_block)
{
    CUresult r = memory_allocate(context, context->device, kind, bytes, ret_block);
    if (r == CUDA_ERROR_OUT_OF_MEMORY && bytes <= settings.memory_bytes) {
        sim_wait_context(context); /* pools may hold what is missing */
        pool_release_unused(context->device);
        r = memory_allocate(context, context->device, kind, bytes, ret_block);
    }
    if (r == CUDA_SUCCESS) {
        stats.allocations++;
        stats.live_allocations++;
    }
    return r;
}

SIMGPU_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    struct call call;
    struct block *b = NULL;
    CUresult r = driver_enter(&call, "cuMemAlloc", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !address)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.alloc_ns);
        r = allocate(call.context, BLOCK_DEVICE, bytes, &b);
    }
    if (r == CUDA_SUCCESS)
        *address = b->span.start;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t height,
                                          unsigned int element)
{
    struct call call;
    struct block *b = NULL;
    size_t wide = (width + 511) & ~(size_t)511;
    CUresult r = driver_enter(&call, "cuMemAllocPitch", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!address || !pitch || !width || !height || (element != 4 && element != 8 && element != 16)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.alloc_ns);
        r = allocate(call.context, BLOCK_DEVICE, wide * height, &b);
    }
    if (r == CUDA_SUCCESS) {
        *address = b->span.start;
        *pitch = wide;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    struct call call;
    struct block *b = NULL;
    CUresult r = driver_enter(&call, "cuMemAllocManaged", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!address || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.alloc_ns);
        r = allocate(call.context, BLOCK_MANAGED, bytes, &b);
    }
    if (r == CUDA_SUCCESS) {
        b->flags = flags;
        *address = b->span.start;
    }
    return driver_leave(&call, r);
}

/* Freeing waits for the device, as the real call does; so nothing can still be using the bytes. */
SIMGPU_EXPORT CUresult cuMemFree_v2(CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemFree", NEEDS_CONTEXT);
    struct block *b = memory_find(address);
    if (r == CUDA_SUCCESS && address == 0)
        return driver_leave(&call, r);
    if (r == CUDA_SUCCESS && (!b || b->span.start != address || b->kind > BLOCK_MANAGED || b->free_op))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && b->in_graph) {
        r = graph_memory_free_now(b);
    } else if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.free_ns);
        sim_wait_context(b->context);
        stats.frees++;
        stats.live_allocations--;
        if (b->kind == BLOCK_POOL)
            r = pool_free(b, b->context->legacy);
        else
            memory_free(b);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemGetInfo_v2(size_t *ret_free, size_t *ret_total)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemGetInfo", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS) {
        if (ret_free)
            *ret_free = settings.memory_bytes - call.context->device->physical_bytes;
        if (ret_total)
            *ret_total = settings.memory_bytes;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemGetAddressRange", NEEDS_CONTEXT);
    const struct block *b = memory_find(address);
    if (r == CUDA_SUCCESS && (!b || b->free_op))
        r = CUDA_ERROR_NOT_FOUND;
    if (r == CUDA_SUCCESS) {
        if (base)
            *base = b->span.start;
        if (bytes)
            *bytes = b->span.end - b->span.start;
    }
    return driver_leave(&call, r);
}

/* ---- host memory ---- */

SIMGPU_EXPORT CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
    struct call call;
    struct block *b = NULL;
    CUresult r = driver_enter(&call, "cuMemHostAlloc", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!address || flags & ~7u))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.alloc_ns + sim_bytes_ns((double)bytes, settings.profile.pin_gbps));
        r = memory_allocate(call.context, NULL, BLOCK_HOST, bytes, &b);
    }
    if (r == CUDA_SUCCESS) {
        b->flags = flags;
        *address = (void *)(uintptr_t)b->span.start;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAllocHost_v2(void **address, size_t bytes)
{
    return cuMemHostAlloc(address, bytes, 0);
}

SIMGPU_EXPORT CUresult cuMemFreeHost(void *address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemFreeHost", NEEDS_CONTEXT);
    struct block *b = memory_find((uint64_t)(uintptr_t)address);
    if (r == CUDA_SUCCESS && (!b || b->kind != BLOCK_HOST || b->span.start != (uint64_t)(uintptr_t)address))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_wait_context(b->context);
        memory_free(b);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemHostRegister", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.alloc_ns + sim_bytes_ns((double)bytes, settings.profile.pin_gbps));
        r = memory_register(call.context, address, bytes, flags);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemHostUnregister(void *address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemHostUnregister", NEEDS_CONTEXT);
    struct block *b = memory_find((uint64_t)(uintptr_t)address);
    if (r == CUDA_SUCCESS && !address)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (!b || b->kind != BLOCK_REGISTERED || b->span.start != (uint64_t)(uintptr_t)address))
        r = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (r == CUDA_SUCCESS) {
        sim_wait_context(b->context);
        memory_unregister(b);
    }
    return driver_leave(&call, r);
}

static const struct block *host_block(const void *address)
{
    const struct block *b = memory_find((uint64_t)(uintptr_t)address);
    return b && (b->kind == BLOCK_HOST || b->kind == BLOCK_REGISTERED) ? b : NULL;
}

SIMGPU_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device_address, void *address, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemHostGetDevicePointer", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!device_address || flags || !host_block(address)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *device_address = (CUdeviceptr)(uintptr_t)address;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemHostGetFlags(unsigned int *flags, void *address)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemHostGetFlags", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!flags || !host_block(address)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *flags = host_block(address)->flags;
    return driver_leave(&call, r);
}

/* ---- advice on managed memory: all of it is where everybody can reach it, so there is nothing to do ---- */

static CUresult managed_call(const char *name, CUdeviceptr address, size_t bytes)
{
    struct call call;
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    const struct block *b = memory_find(address);
    if (r == CUDA_SUCCESS && (!b || b->kind != BLOCK_MANAGED || bytes == 0 || address + bytes > b->span.end))
        r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return managed_call("cuMemAdvise", address, bytes);
}

SIMGPU_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUmemLocation location)
{
    return managed_call("cuMemAdvise", address, bytes);
}

SIMGPU_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    return managed_call("cuMemPrefetchAsync", address, bytes);
}

SIMGPU_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location, unsigned int flags,
                                             CUstream stream)
{
    return managed_call("cuMemPrefetchAsync", address, bytes);
}
