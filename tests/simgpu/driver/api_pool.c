/* api_pool.c - stream-ordered allocation and memory pools. */
#include "capture.h"
#include "driver.h"
#include "graph_memory.h"
#include "pool.h"
#include "sim.h"
#include "stats.h"

static CUresult allocate_async(struct context *context, struct pool *pool, CUstream handle, size_t bytes,
                               CUdeviceptr *address)
{
    struct stream *s;
    struct block *b = NULL;
    CUresult r = !address ? CUDA_ERROR_INVALID_VALUE : stream_to_use(context, handle, &s);
    if (r != CUDA_SUCCESS)
        return r;
    sim_spend(settings.profile.pool_ns);
    if (!pool)
        pool = s->context->device->current_pool;
    if (s->capture)
        return pool->device ? capture_alloc(s, pool->device, bytes, address) : CUDA_ERROR_NOT_SUPPORTED;
    r = pool_allocate(pool, s, bytes, &b);
    if (r != CUDA_SUCCESS)
        return r;
    stats.allocations++;
    stats.live_allocations++;
    *address = b->span.start;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemAllocAsync", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = allocate_async(call.context, NULL, stream, bytes, address);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemAllocFromPoolAsync", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !handle_is(HANDLE_POOL, pool))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = allocate_async(call.context, (struct pool *)pool, stream, bytes, address);
    return driver_leave(&call, r);
}

static CUresult free_async(struct context *context, CUdeviceptr address, CUstream handle)
{
    struct stream *s;
    struct block *b = memory_find(address);
    CUresult r = stream_to_use(context, handle, &s);
    if (r != CUDA_SUCCESS)
        return r;
    if (s->capture)
        return capture_free(s, address);
    if (b && b->in_graph && b->span.start == address)
        return graph_memory_free(b, s, NULL);
    if (!b || b->span.start != address || b->free_op || (b->kind != BLOCK_POOL && b->kind != BLOCK_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    sim_spend(settings.profile.pool_ns);
    if (b->kind == BLOCK_DEVICE) { /* allowed by the documentation; the memory goes at the stream's turn */
        sim_wait(s->tail);
        memory_free(b);
    } else if ((r = pool_free(b, s)) != CUDA_SUCCESS) {
        return r;
    }
    stats.frees++;
    stats.live_allocations--;
    return CUDA_SUCCESS;
}

/* A stream that was made brings its context along: JAX frees so from threads that have none. */
SIMGPU_EXPORT CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuMemFreeAsync", handle_is(HANDLE_STREAM, stream) ? NEEDS_INIT : NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && !call.context)
        call.context = ((struct stream *)stream)->context;
    if (r == CUDA_SUCCESS)
        r = free_async(call.context, address, stream);
    return driver_leave(&call, r);
}

static bool is_host(CUmemLocationType type)
{
    return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

SIMGPU_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    struct call call;
    struct pool *p = NULL;
    CUresult r = driver_enter(&call, "cuMemPoolCreate", NEEDS_INIT);
    if (r == CUDA_SUCCESS && (!pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED))
        r = CUDA_ERROR_INVALID_VALUE;
    const bool on_host = r == CUDA_SUCCESS && is_host(props->location.type);
    if (r == CUDA_SUCCESS && !on_host && props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        r = CUDA_ERROR_NOT_SUPPORTED;
    if (r == CUDA_SUCCESS && !on_host && !device_find(props->location.id))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        r = pool_create(on_host ? NULL : device_find(props->location.id), props, false, &p);
    if (r == CUDA_SUCCESS)
        *pool = (CUmemoryPool)p;
    return driver_leave(&call, r);
}

static CUresult enter_pool(struct call *call, const char *name, CUmemoryPool pool, const void *argument)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    return r == CUDA_SUCCESS && (!handle_is(HANDLE_POOL, pool) || !argument) ? CUDA_ERROR_INVALID_VALUE : r;
}

SIMGPU_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolDestroy", pool, pool);
    if (r == CUDA_SUCCESS && ((struct pool *)pool)->built_in)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        pool_destroy((struct pool *)pool);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolTrimTo", pool, pool);
    if (r == CUDA_SUCCESS)
        pool_trim((struct pool *)pool, keep);
    return driver_leave(&call, r);
}

static CUresult attribute_get(const struct pool *p, CUmemPool_attribute attribute, void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        *(int *)value = p->follow_events;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        *(int *)value = p->opportunistic;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *(int *)value = p->internal_dependencies;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *(cuuint64_t *)value = p->release_threshold;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(cuuint64_t *)value = p->reserved;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(cuuint64_t *)value = p->reserved_high;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(cuuint64_t *)value = p->used;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = p->used_high;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult attribute_set(struct pool *p, CUmemPool_attribute attribute, const void *value)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        p->follow_events = *(const int *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        p->opportunistic = *(const int *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        p->internal_dependencies = *(const int *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        p->release_threshold = *(const cuuint64_t *)value;
        return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: /* the high marks may only be reset */
        p->reserved_high = p->reserved;
        return *(const cuuint64_t *)value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        p->used_high = p->used;
        return *(const cuuint64_t *)value ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolGetAttribute", pool, value);
    if (r == CUDA_SUCCESS)
        r = attribute_get((struct pool *)pool, attribute, value);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolSetAttribute", pool, value);
    if (r == CUDA_SUCCESS)
        r = attribute_set((struct pool *)pool, attribute, value);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolSetAccess", pool, map);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
        uint32_t bit = UINT32_C(1) << (map[i].location.id & 31);
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_find(map[i].location.id))
            r = CUDA_ERROR_INVALID_VALUE;
        else if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            ((struct pool *)pool)->access |= bit;
        else
            ((struct pool *)pool)->access &= ~bit;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
    struct call call;
    CUresult r = enter_pool(&call, "cuMemPoolGetAccess", pool, flags);
    if (r == CUDA_SUCCESS && (!location || location->type != CU_MEM_LOCATION_TYPE_DEVICE || !device_find(location->id)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *flags = ((struct pool *)pool)->access >> location->id & 1 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                   : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return driver_leave(&call, r);
}
