/* hooks_memory.c - allocating, freeing and memory pools: spillway is the program's allocator. */
#include <string.h>

#include "alloc.h"
#include "ask.h"
#include "devices.h"
#include "engine.h"
#include "unmanaged.h"
#include "capture.h"
#include "graph_memory.h"
#include "hooks.h"
#include "lock.h"
#include "mover.h"
#include "outside.h"
#include "pin.h"
#include "pool_reserves.h"
#include "result.h"
#include "reclaim.h"
#include "settings.h"

enum { PITCH_BYTES = 512 };

/* ---- what the driver itself allocates: on the device's bill ---- */

struct passed {
    struct spw_device *device; /* NULL: nobody is charged */
    size_t bytes;
};

/* CUDA_SUCCESS: ask the driver, then pass_end(). */
static CUresult pass_begin(struct passed *p, size_t bytes, const char *call)
{
    p->device = spw_device_billed();
    p->bytes = bytes;
    return p->device && spw_unmanaged_take(p->device, bytes, call) < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult pass_end(const struct passed *p, CUresult result, const CUdeviceptr *dptr)
{
    if (result == CUDA_SUCCESS)
        spw_outside_lies_at(*dptr, p->bytes);
    if (p->device && result == CUDA_SUCCESS)
        spw_unmanaged_allocated(*dptr, p->device, p->bytes);
    else if (p->device)
        spw_unmanaged_give(p->device, p->bytes);
    return result;
}

/* Completes an allocation and stores its address. */
static inline CUresult give_out(int r, CUdeviceptr address, CUdeviceptr *dptr)
{
    if (r == 0)
        r = spw_allocated(address);
    if (r == 0)
        *dptr = address;
    return spw_cuda(r);
}

/* ---- plain ---- */

CUresult spw_on_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    CUcontext context;
    CUdeviceptr address = 0;
    struct spw_device *d = dptr ? spw_device_current(&context) : NULL;
    if (!dptr || (d && context == spw_failed_context))
        return spw_driver.cuMemAlloc_v2(dptr, bytesize);
    if (!d) {
        struct passed p;
        CUresult passed = pass_begin(&p, bytesize, "cuMemAlloc");
        return passed != CUDA_SUCCESS ? passed : pass_end(&p, spw_driver.cuMemAlloc_v2(dptr, bytesize), dptr);
    }
    spw_lock();
    int r = spw_allocate_unlocking(d, bytesize, NULL, context, spw_mempool_stats_of_locked(NULL), &address);
    spw_unlock();
    return give_out(r, address, dptr);
}

CUresult spw_on_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                                   unsigned int ElementSizeBytes)
{
    CUdeviceptr address = 0;
    size_t pitch = (WidthInBytes + PITCH_BYTES - 1) / PITCH_BYTES * PITCH_BYTES, bytes;
    bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    if (!dptr || !pPitch || !element || pitch < WidthInBytes || __builtin_mul_overflow(pitch, Height, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = spw_on_cuMemAlloc_v2(&address, bytes);
    if (r == CUDA_SUCCESS) {
        *dptr = address;
        *pPitch = pitch;
    }
    return r;
}

/* `last` is spw_billed_last from before the driver call (pool_reserves.h). */
static CUresult freed_by_driver(CUdeviceptr dptr, uint64_t last, CUresult result)
{
    if (result == CUDA_SUCCESS && dptr) {
        spw_unmanaged_freed(dptr, last);
        spw_lock();
        spw_pool_reserve_freed_locked(dptr, last, NULL);
        spw_unlock();
    }
    return result;
}

/* The same for a free in the order of the stream. */
static CUresult freed_behind(CUstream stream, CUdeviceptr dptr, uint64_t last, CUresult result)
{
    if (result == CUDA_SUCCESS && dptr) {
        spw_lock();
        spw_pool_reserve_freed_locked(dptr, last, spw_stream_of_locked(stream));
        spw_unlock();
    }
    return freed_by_driver(dptr, last, result);
}

CUresult spw_on_cuMemFree_v2(CUdeviceptr dptr)
{
    int r = spw_free(dptr, NULL);
    if (r != -ENOENT)
        return spw_cuda(r);
    const uint64_t last = spw_billed_last;
    return freed_by_driver(dptr, last, spw_driver.cuMemFree_v2(dptr));
}

CUresult spw_on_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
    struct passed p;
    if (!dptr)
        return spw_driver.cuMemAllocManaged(dptr, bytesize, flags);
    /* The driver moves these pages by itself, and may bring in all of them. */
    CUresult r = pass_begin(&p, bytesize, "cuMemAllocManaged");
    return r != CUDA_SUCCESS ? r : pass_end(&p, spw_driver.cuMemAllocManaged(dptr, bytesize, flags), dptr);
}

/* ---- in stream order ---- */

/* Returns the device that memory for work on `s` comes from; NULL: from the driver. */
static struct spw_device *source_locked(struct spw_stream *s, CUmemoryPool *pool)
{
    bool foreign = false;
    struct spw_device *d = NULL;
    if (*pool)
        d = spw_mempool_device_locked(*pool, &foreign);
    if (foreign)
        return NULL;
    if (!d)
        d = spw_device_of_stream_locked(s);
    if (!d || *pool)
        return d;
    *pool = spw_device_pool_locked(d);
    return d->pool_is_foreign ? NULL : d;
}

static inline __attribute__((always_inline)) CUresult allocate_on(CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool,
                                                                  CUstream stream, bool *ret_ours)
{
    CUdeviceptr address = 0;
    int r = 0;
    *ret_ours = false;
    if (!dptr || spw_is_capturing(stream))
        return CUDA_SUCCESS;
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    struct spw_device *d = s && s->context != spw_failed_context ? source_locked(s, &pool) : NULL;
    if (d) {
        spw_stream_take_turn_locked(s);
        s->allocated = s->begun + 1;
        struct spw_mempool_stats *book = spw_mempool_stats_of_locked(pool);
        r = spw_mempool_has_room(book, bytes) ? spw_allocate_unlocking(d, bytes, s, s->context, book, &address) : -ENOMEM;
    }
    spw_unlock();
    if (!d)
        return CUDA_SUCCESS;
    *ret_ours = true;
    return give_out(r, address, dptr);
}

/* What a capture allocates is a node of a graph. */
struct asked {
    struct spw_pool_ask pool;
    struct spw_graph_promise promise;
    CUgraph graph;
    size_t bytes;
    bool captured;
};

/* CUDA_SUCCESS: ask the driver, then ask_end(). */
static CUresult ask_begin(struct asked *a, const CUdeviceptr *dptr, size_t bytes, CUmemoryPool pool, CUstream stream,
                          const char *call)
{
    int r;
    *a = (struct asked){.bytes = bytes, .captured = spw_is_capturing(stream)};
    if (!dptr)
        return CUDA_SUCCESS;
    struct spw_device *d = spw_mempool_billed(&pool, stream);
    if (a->captured) {
        a->graph = spw_graph_memory_captured_into(stream);
        r = spw_graph_memory_promise(&a->promise, d, bytes, "an allocation that a graph captures");
    } else {
        r = spw_unmanaged_ask_pool(&a->pool, pool, d, bytes, call);
    }
    return r < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult ask_end(const struct asked *a, CUresult result, const CUdeviceptr *dptr)
{
    if (a->captured)
        spw_graph_memory_answered(&a->promise, a->graph, result == CUDA_SUCCESS);
    else
        spw_unmanaged_pool_answered(&a->pool, result == CUDA_SUCCESS ? *dptr : 0);
    if (result == CUDA_SUCCESS)
        spw_outside_lies_at(*dptr, a->captured ? 1 : a->bytes);
    return result;
}

CUresult spw_on_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    bool ours;
    CUresult r = allocate_on(dptr, bytesize, NULL, hStream, &ours);
    struct asked a;
    if (ours)
        return r;
    r = ask_begin(&a, dptr, bytesize, NULL, hStream, "cuMemAllocAsync");
    return r != CUDA_SUCCESS ? r : ask_end(&a, spw_driver.cuMemAllocAsync(dptr, bytesize, hStream), dptr);
}

CUresult spw_on_cuMemAllocAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    bool ours;
    CUresult r = allocate_on(dptr, bytesize, NULL, spw_per_thread(hStream), &ours);
    struct asked a;
    if (ours)
        return r;
    r = ask_begin(&a, dptr, bytesize, NULL, spw_per_thread(hStream), "cuMemAllocAsync");
    return r != CUDA_SUCCESS ? r : ask_end(&a, spw_driver.cuMemAllocAsync_ptsz(dptr, bytesize, hStream), dptr);
}

CUresult spw_on_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    bool ours = false;
    CUresult r = pool ? allocate_on(dptr, bytesize, pool, hStream, &ours) : CUDA_SUCCESS;
    struct asked a;
    if (ours)
        return r;
    r = ask_begin(&a, dptr, bytesize, pool, hStream, "cuMemAllocFromPoolAsync");
    return r != CUDA_SUCCESS ? r : ask_end(&a, spw_driver.cuMemAllocFromPoolAsync(dptr, bytesize, pool, hStream), dptr);
}

CUresult spw_on_cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
    bool ours = false;
    CUresult r = pool ? allocate_on(dptr, bytesize, pool, spw_per_thread(hStream), &ours) : CUDA_SUCCESS;
    struct asked a;
    if (ours)
        return r;
    r = ask_begin(&a, dptr, bytesize, pool, spw_per_thread(hStream), "cuMemAllocFromPoolAsync");
    return r != CUDA_SUCCESS ? r : ask_end(&a, spw_driver.cuMemAllocFromPoolAsync_ptsz(dptr, bytesize, pool, hStream), dptr);
}

/* Frees in the order of the stream. -ENOENT: not ours. A captured free happens when the graph runs, which is not seen here:
 * the memory stays with the program for good. */
static int free_on(CUdeviceptr dptr, CUstream stream)
{
    if (!spw_in_arena(dptr))
        return -ENOENT;
    if (spw_is_capturing(stream)) {
        spw_pin_address(dptr, "a graph frees it");
        return 0;
    }
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(stream);
    int r = spw_free_locked(dptr, s);
    if (r == 0 && s)
        spw_stream_take_turn_locked(s);
    spw_unlock();
    return r;
}

#define FREE_ASYNC(symbol, stream) \
    CUresult spw_on_##symbol(CUdeviceptr dptr, CUstream hStream) \
    { \
        const int r = free_on(dptr, stream); \
        if (r != -ENOENT) \
            return spw_cuda(r); \
        const uint64_t last = spw_billed_last; \
        return freed_behind(stream, dptr, last, spw_driver.symbol(dptr, hStream)); \
    }
FREE_ASYNC(cuMemFreeAsync, hStream)
FREE_ASYNC(cuMemFreeAsync_ptsz, spw_per_thread(hStream))

/* ---- pools ---- */

/* True for pools that we could serve ourselves. */
static bool is_on_device(const CUmemLocation *location, CUmemAllocationType type)
{
    return location && location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

/* Returns -1 if there is none. Managed memory may be on any device; it counts on the one that it prefers, or on the current
 * one. */
static int device_of_place(const CUmemLocation *location, CUmemAllocationType type)
{
    if (location && location->type == CU_MEM_LOCATION_TYPE_DEVICE)
        return location->id;
    const struct spw_device *d = type == CU_MEM_ALLOCATION_TYPE_MANAGED ? spw_device_billed() : NULL;
    return d ? d->ordinal : -1;
}

CUresult spw_on_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
    CUresult r = spw_driver.cuMemPoolCreate(pool, poolProps);
    if (r == CUDA_SUCCESS) {
        const bool foreign =
            !is_on_device(&poolProps->location, poolProps->allocType) || poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
        spw_mempool_note(*pool, device_of_place(&poolProps->location, poolProps->allocType), foreign);
        spw_lock();
        spw_mempool_open_locked(*pool, poolProps->maxSize);
        spw_unlock();
    }
    return r;
}

CUresult spw_on_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle,
                                                   CUmemAllocationHandleType handleType, unsigned long long flags)
{
    CUresult r = spw_driver.cuMemPoolImportFromShareableHandle(pool_out, handle, handleType, flags);
    if (r == CUDA_SUCCESS)
        spw_mempool_note(*pool_out, -1, true);
    return r;
}

CUresult spw_on_cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult r = spw_driver.cuMemPoolDestroy(pool);
    if (r == CUDA_SUCCESS) {
        spw_mempool_gone(pool);
        spw_lock();
        spw_mempool_close_locked(pool);
        spw_pool_reserve_gone_locked(pool);
        spw_unlock();
    }
    return r;
}

CUresult spw_on_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    CUresult r = spw_driver.cuDeviceSetMemPool(dev, pool);
    spw_device_pool_changed(dev);
    return r;
}

/* A device's own pools become known when they are asked for: an allocation from one lies there, whatever device its stream
 * is of. */
static CUresult own_pool(CUresult result, const CUmemoryPool *pool, int device)
{
    if (result == CUDA_SUCCESS)
        spw_mempool_note_own(*pool, device, false);
    return result;
}

CUresult spw_on_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    return own_pool(spw_driver.cuDeviceGetDefaultMemPool(pool_out, dev), pool_out, dev);
}

CUresult spw_on_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
    return own_pool(spw_driver.cuDeviceGetMemPool(pool, dev), pool, dev);
}

/* The 13.0 forms, which can also name places other than devices. */
static CUresult pool_of_place(CUresult result, const CUmemoryPool *pool, const CUmemLocation *location,
                              CUmemAllocationType type)
{
    if (result == CUDA_SUCCESS)
        spw_mempool_note_own(*pool, device_of_place(location, type), !is_on_device(location, type));
    return result;
}

CUresult spw_on_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
    return pool_of_place(spw_driver.cuMemGetDefaultMemPool(pool_out, location, type), pool_out, location, type);
}

CUresult spw_on_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    return pool_of_place(spw_driver.cuMemGetMemPool(pool, location, type), pool, location, type);
}

CUresult spw_on_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult r = spw_driver.cuMemSetMemPool(location, type, pool);
    if (is_on_device(location, type))
        spw_device_pool_changed(location->id);
    return r;
}

static struct spw_device *device_of_pool(CUmemoryPool pool)
{
    CUcontext context;
    bool foreign;
    spw_lock();
    struct spw_device *d = spw_mempool_device_locked(pool, &foreign);
    spw_unlock();
    return d || foreign ? d : spw_device_current(&context);
}

CUresult spw_on_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult r = spw_driver.cuMemPoolGetAttribute(pool, attr, value);
    struct spw_device *d = r == CUDA_SUCCESS ? device_of_pool(pool) : NULL;
    if (!d)
        return r;
    spw_lock();
    struct spw_mempool_stats *book = spw_mempool_stats_of_locked(pool);
    spw_mempool_note_reserved(book, d);
    switch (attr) {
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *(cuuint64_t *)value = book->used;
        break;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *(cuuint64_t *)value = book->used_high;
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *(cuuint64_t *)value = spw_mempool_reserved(book, d);
        break;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *(cuuint64_t *)value = book->reserved_high;
        break;
    default: /* a setting, which the driver keeps */
        break;
    }
    spw_unlock();
    return r;
}

/* Setting a high-water mark, which can only be to 0, resets it to the present value. */
CUresult spw_on_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    CUresult r = spw_driver.cuMemPoolSetAttribute(pool, attr, value);
    struct spw_device *d = r == CUDA_SUCCESS ? device_of_pool(pool) : NULL;
    if (!d)
        return r;
    spw_lock();
    struct spw_mempool_stats *book = spw_mempool_stats_of_locked(pool);
    if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        book->used_high = book->used;
    else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        book->reserved_high = spw_mempool_reserved(book, d);
    spw_unlock();
    return r;
}

/* Devices that may use memory from a pool also need access to memory that we map. */
CUresult spw_on_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    CUresult r = spw_driver.cuMemPoolSetAccess(pool, map, count);
    struct spw_device *d = r == CUDA_SUCCESS ? device_of_pool(pool) : NULL;
    int failed = 0;
    if (!d)
        return r;
    spw_lock();
    for (size_t i = 0; i < count && failed == 0; i++)
        if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            map[i].location.id != d->ordinal && map[i].location.id >= 0 && map[i].location.id < SPW_MAX_DEVICES)
            failed = spw_mover_enable_peer_locked(map[i].location.id, d->ordinal);
    spw_unlock();
    return spw_cuda(failed);
}

/* If a budget was asked for, and the device has as much free as is cached, keeps that for the next allocation: making it
 * anew would take longer than most copies. Else releases it to the device, as the program wants. */
static void trim(struct spw_device *d, uint64_t keep_bytes, uint64_t device_free_bytes)
{
    const uint64_t cached = d->free_bytes + d->handles.pooled_bytes;
    if (spw_settings_ask_for_budget(spw_settings_get()) && device_free_bytes >= cached)
        d->trimmed_bytes = cached > keep_bytes ? cached - keep_bytes : 0;
    else {
        spw_cached_blocks_trim_locked(d, keep_bytes);
        d->trimmed_bytes = 0;
    }
}

/* Returns what the device has free; 0 if that cannot be asked, since the current context is on another device. */
static size_t left_on_device(const struct spw_device *d)
{
    CUdevice current;
    size_t left, total;
    const bool is_there = SPW_ASK_QUIETLY(cuCtxGetDevice, &current) == CUDA_SUCCESS && current == d->ordinal &&
                          SPW_ASK_QUIETLY(cuMemGetInfo_v2, &left, &total) == CUDA_SUCCESS;
    return is_there ? left : 0;
}

CUresult spw_on_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
    CUresult r = spw_driver.cuMemPoolTrimTo(pool, minBytesToKeep);
    struct spw_device *d = r == CUDA_SUCCESS ? device_of_pool(pool) : NULL;
    if (d) {
        const size_t left = left_on_device(d);
        spw_lock();
        uint64_t used = spw_mempool_stats_of_locked(pool)->used;
        trim(d, minBytesToKeep > used ? minBytesToKeep - used : 0, left);
        spw_unlock();
    } else if (r == CUDA_SUCCESS) {
        spw_lock();
        spw_pool_reserve_settle_locked(pool);
        spw_unlock();
    }
    return r;
}

/* ---- the program's own virtual memory: counted, never touched ---- */

CUresult spw_on_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                            unsigned long long flags)
{
    CUcontext context;
    struct spw_device *d = NULL;
    if (handle && prop && prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE && spw_device_current(&context))
        d = prop->location.id >= 0 && prop->location.id < SPW_MAX_DEVICES && spw_devices[prop->location.id].ready
                ? &spw_devices[prop->location.id]
                : NULL;
    if (!d)
        return spw_driver.cuMemCreate(handle, size, prop, flags);
    if (spw_unmanaged_take(d, size, "cuMemCreate") < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = spw_driver.cuMemCreate(handle, size, prop, flags);
    if (r == CUDA_SUCCESS)
        spw_unmanaged_made(*handle, d, size);
    else
        spw_unmanaged_give(d, size);
    return r;
}

CUresult spw_on_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    const uint64_t last = spw_billed_last;
    CUresult r = spw_driver.cuMemRelease(handle);
    if (r == CUDA_SUCCESS)
        spw_unmanaged_released(handle, last);
    return r;
}

CUresult spw_on_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                         unsigned long long flags)
{
    CUresult r = spw_driver.cuMemMap(ptr, size, offset, handle, flags);
    if (r == CUDA_SUCCESS)
        spw_unmanaged_mapped(handle, ptr, size);
    if (r == CUDA_SUCCESS)
        spw_outside_lies_at(ptr, size);
    return r;
}

CUresult spw_on_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    CUresult r = spw_driver.cuMemUnmap(ptr, size);
    if (r == CUDA_SUCCESS)
        spw_unmanaged_unmapped(ptr, size);
    return r;
}

/* ---- how much there is ---- */

/* Answers consistently: the device has as many bytes as the budget, and those that the program has allocated are used. More
 * can be allocated than is free; that is what spillway is for. */
CUresult spw_on_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    CUcontext context;
    CUresult r = spw_driver.cuMemGetInfo_v2(free_bytes, total);
    struct spw_device *d = r == CUDA_SUCCESS ? spw_device_current(&context) : NULL;
    if (!d)
        return r;
    spw_lock();
    *total = d->handles.budget_bytes + d->foreign_bytes;
    *free_bytes = d->handles.budget_bytes > d->live_bytes ? d->handles.budget_bytes - d->live_bytes : 0;
    spw_unlock();
    return r;
}
