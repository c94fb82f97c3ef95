/* host_memory.c - makes the pool of pinned host memory, with the driver's functions and within the limit. */
#include "host_memory.h"

#include <stdlib.h>

#include "lock.h"
#include "ask.h"
#include "driver.h"
#include "hostlimit.h"
#include "hostpool_system.h"
#include "log.h"
#include "result.h"
#include "settings.h"

static struct spw_host_system host_system = {.numa_node = -1, .huge_pages = true};
static struct spw_hostpool *host_pool;
static uint64_t host_limit;

static int pin(void *ctx, void *address, size_t bytes)
{
    (void)ctx;
    return spw_result(SPW_ASK(cuMemHostRegister_v2, address, bytes, CU_MEMHOSTREGISTER_PORTABLE));
}

/* Host memory that was registered while a context was current is unregistered with that context: then there is nothing to
 * undo. */
static int unpin(void *ctx, void *address, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    const CUresult r = SPW_ASK_QUIETLY(cuMemHostUnregister, address);
    return r == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ? 0 : spw_result(spw_ask_answer("cuMemHostUnregister", r));
}

/* Host memory that the driver allocates is freed with the context that was current then. Only a primary context lives as
 * long as spillway; in a context that the program made, and may destroy, tensors of other contexts would be lost. */
static bool in_primary_context(void)
{
    CUcontext current = NULL, primary = NULL;
    CUdevice device;
    if (spw_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || spw_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        SPW_ASK_QUIETLY(cuDevicePrimaryCtxRetain, &primary, device) != CUDA_SUCCESS)
        return false;
    (void)SPW_ASK_QUIETLY(cuDevicePrimaryCtxRelease_v2, device);
    return current == primary;
}

static void *alloc_pinned(void *ctx, size_t bytes)
{
    void *p = NULL;
    (void)ctx;
    if (!in_primary_context())
        return NULL;
    return SPW_ASK(cuMemHostAlloc, &p, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS ? p : NULL;
}

static void free_pinned(void *ctx, void *address, size_t bytes)
{
    (void)ctx;
    (void)bytes;
    (void)SPW_ASK(cuMemFreeHost, address);
}

static const struct spw_host_ops host_ops = {
    .map = spw_host_system_map,
    .unmap = spw_host_system_unmap,
    .pin = pin,
    .unpin = unpin,
    .alloc_pinned = alloc_pinned,
    .free_pinned = free_pinned,
    .available = spw_host_system_available,
};

uint64_t spw_host_memory_limit_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (host_limit)
        return host_limit;
    const struct spw_amount *asked = &spw_settings_get()->host_budget;
    int64_t available = spw_hostlimit_available("/");
    if (asked->kind == SPW_AMOUNT_BYTES)
        host_limit = asked->bytes;
    else if (asked->kind == SPW_AMOUNT_PERCENT && available != SPW_HOSTLIMIT_UNKNOWN)
        host_limit = (uint64_t)((double)available * asked->percent / 100.0);
    else
        host_limit = (uint64_t)spw_hostlimit_default_budget(available, spw_hostlimit_local_ranks(getenv));
    return host_limit;
}

struct spw_hostpool *spw_host_memory_pool_locked(void)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return host_pool;
}

int spw_host_memory_take_locked(size_t bytes, void **ret_address)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    static int warned;
    if (!host_pool) {
        int r = spw_hostpool_create(&host_ops, &host_system, spw_host_memory_limit_locked(), &host_pool);
        if (r < 0)
            return r;
    }
    int r = spw_hostpool_take(host_pool, bytes, ret_address);
    if (r == 0 && !spw_hostpool_is_pinned(host_pool, *ret_address, bytes))
        spw_warn_once(
            &warned,
            "the system refuses to page-lock host memory; copies go through pageable memory, which is slower" SPW_SEE(
                "not-page-locked"));
    return r;
}

void spw_host_memory_reset(void)
{
    spw_hostpool_destroy(host_pool);
    host_pool = NULL;
    host_limit = 0;
}
