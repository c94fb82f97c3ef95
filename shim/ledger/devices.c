/* devices.c - tables of contexts and pools, with the device of each. */
#include "devices.h"

#include <stdlib.h>

#include "ask.h"
#include "context.h"
#include "driver.h"
#include "lock.h"
#include "tables.h"

struct note { /* what is known about a handle */
    uint64_t key;
    int device;
    unsigned holds;    /* holders of the context beside the one that made it */
    CUcontext primary; /* whose memory a green context uses; NULL: it is not a green context */
    bool foreign, lost;
    UT_hash_handle hh;
};

/* Guarded by the engine lock. */
static struct note *contexts, *known_pools;
static uint64_t generation; /* raised when a context is destroyed: its handle may be reused on another device */

CUcontext spw_failed_context;

void spw_note_fault(CUcontext context, CUresult result)
{
    switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
        spw_failed_context = context;
        break;
    default:
        break;
    }
}

static struct note *find(struct note *table, uint64_t key)
{
    struct note *n;
    HASH_FIND(hh, table, &key, sizeof(key), n);
    return n;
}

static struct note *add(struct note **table, uint64_t key, int device)
{
    struct note *n = find(*table, key);
    if (!n)
        SPW_TABLE_NEW(*table, key, n, .key = key);
    if (n)
        n->device = device;
    return n;
}

static void drop(struct note **table, uint64_t key)
{
    struct note *n = find(*table, key);
    if (n)
        SPW_TABLE_REMOVE(*table, n);
}

/* ---- contexts ---- */

static struct spw_device *ready(int ordinal)
{
    int r;
    return spw_device_ready_locked(ordinal, &r);
}

static _Thread_local struct { /* what the thread found last; never for a green context */
    CUcontext context;
    struct spw_device *device;
    uint64_t generation;
} last;

/* Returns the note of the current context; NULL: there is no memory for it, or no such context. */
static struct note *note_current_locked(CUcontext context)
{
    CUdevice device = 0;
    struct note *n = find(contexts, (uint64_t)(uintptr_t)context);
    if (n || spw_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return n;
    return add(&contexts, (uint64_t)(uintptr_t)context, device);
}

static __attribute__((noinline)) struct spw_device *find_device_locked(CUcontext *context)
{
    const struct note *n = note_current_locked(*context);
    if (!n)
        return NULL;
    last.device = ready(n->device);
    last.context = n->primary ? NULL : *context;
    last.generation = generation;
    *context = n->primary ? n->primary : *context;
    return last.device;
}

struct spw_device *spw_device_current(CUcontext *ret_context)
{
    CUcontext context = NULL;
    if (spw_driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context)
        return NULL;
    *ret_context = context;
    spw_lock();
    const bool is_known = context == last.context && last.device && last.generation == generation;
    struct spw_device *d = is_known ? last.device : find_device_locked(ret_context);
    spw_unlock();
    return d;
}

struct spw_device *spw_device_billed(void)
{
    CUcontext context;
    CUdevice ordinal = -1;
    struct spw_device *d = spw_device_current(&context);
    if (d)
        return d;
    if (spw_driver.cuCtxGetDevice(&ordinal) != CUDA_SUCCESS || ordinal < 0 || ordinal >= SPW_MAX_DEVICES)
        return NULL;
    return spw_devices[ordinal].total_bytes ? &spw_devices[ordinal] : NULL;
}

struct spw_device *spw_device_billed_as(int ordinal)
{
    return ordinal >= 0 && ordinal < SPW_MAX_DEVICES && spw_devices[ordinal].total_bytes ? &spw_devices[ordinal] : NULL;
}

struct spw_device *spw_device_find_of_stream_locked(struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (s->device < 0 || s->device >= SPW_MAX_DEVICES)
        return NULL;
    return spw_devices[s->device].ready ? &spw_devices[s->device] : ready(s->device);
}

void spw_devices_lock_slow(uint64_t devices)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (devices >> i & 1)
            spw_mutex_lock(&spw_devices[i].slow, SPW_LOCK_SLOW);
}

void spw_devices_unlock_slow(uint64_t devices)
{
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (devices >> i & 1)
            spw_mutex_unlock(&spw_devices[i].slow);
}

void spw_devices_note_green(CUcontext context, CUcontext primary, int device)
{
    spw_lock();
    struct note *n = add(&contexts, (uint64_t)(uintptr_t)context, device);
    if (n)
        n->primary = primary;
    spw_unlock();
}

CUcontext spw_devices_primary_locked(CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct note *n = find(contexts, (uint64_t)(uintptr_t)context);
    return n && n->primary ? n->primary : context;
}

int spw_devices_of_green(CUcontext context)
{
    spw_lock();
    const struct note *n = find(contexts, (uint64_t)(uintptr_t)context);
    const int device = n && n->primary ? n->device : -1;
    spw_unlock();
    return device;
}

void spw_devices_hold_context(CUcontext context)
{
    spw_lock();
    struct note *n = note_current_locked(context);
    if (n)
        n->holds++;
    spw_unlock();
}

bool spw_devices_let_go_of_context(CUcontext context)
{
    spw_lock();
    struct note *n = note_current_locked(context);
    bool goes = n && !n->primary && !n->holds;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        goes &= spw_devices[i].primary.context != context;
    if (n && n->holds)
        n->holds--;
    spw_unlock();
    return goes;
}

void spw_devices_context_gone(CUcontext context)
{
    spw_lock();
    drop(&contexts, (uint64_t)(uintptr_t)context);
    generation++;
    if (spw_failed_context == context)
        spw_failed_context = NULL;
    spw_unlock();
}

void spw_devices_reset(void)
{
    SPW_TABLE_FREE(contexts);
    SPW_TABLE_FREE(known_pools);
    generation++;
}

/* ---- pools ---- */

CUmemoryPool spw_device_find_pool_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!d->pool && spw_driver.cuDeviceGetMemPool)
        (void)SPW_ASK_QUIETLY(cuDeviceGetMemPool, &d->pool, d->ordinal);
    const struct note *n = find(known_pools, (uint64_t)(uintptr_t)d->pool);
    d->pool_is_foreign = n && n->foreign;
    return d->pool;
}

void spw_device_pool_changed(int ordinal)
{
    if (ordinal < 0 || ordinal >= SPW_MAX_DEVICES)
        return;
    spw_lock();
    spw_devices[ordinal].pool = NULL;
    spw_unlock();
}

void spw_mempool_note(CUmemoryPool pool, int device, bool is_foreign)
{
    spw_lock();
    struct note *n = add(&known_pools, (uint64_t)(uintptr_t)pool, device);
    if (n)
        n->foreign = is_foreign;
    spw_unlock();
}

void spw_mempool_note_own(CUmemoryPool pool, int device, bool is_foreign)
{
    spw_lock();
    const bool is_known = find(known_pools, (uint64_t)(uintptr_t)pool); /* more is known about a pool that the program made
                                                                         * and set */
    spw_unlock();
    if (!is_known)
        spw_mempool_note(pool, device, is_foreign);
}

struct spw_device *spw_mempool_device_locked(CUmemoryPool pool, bool *ret_foreign)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct note *n = find(known_pools, (uint64_t)(uintptr_t)pool);
    *ret_foreign = n && n->foreign;
    return n && !n->foreign ? ready(n->device) : NULL;
}

struct spw_device *spw_mempool_billed(CUmemoryPool *pool, CUstream stream)
{
    spw_lock();
    const struct note *n = *pool ? find(known_pools, (uint64_t)(uintptr_t)*pool) : NULL;
    struct spw_stream *s = n ? NULL : spw_stream_of_locked(stream);
    struct spw_device *d = spw_device_billed_as(n ? n->device : s ? s->device : -1);
    if (d && !*pool)
        *pool = spw_device_pool_locked(d);
    spw_unlock();
    return d || n || s ? d : spw_device_billed();
}

void spw_mempool_gone(CUmemoryPool pool)
{
    spw_lock();
    drop(&known_pools, (uint64_t)(uintptr_t)pool);
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].pool == pool)
            spw_devices[i].pool = NULL;
    spw_unlock();
}
