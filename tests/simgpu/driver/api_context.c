/* api_context.c - primary contexts, the program's own, and the stack of current ones. */
#include "capture.h"
#include "driver.h"
#include "pool.h"
#include "sim.h"

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDevicePrimaryCtxRetain", NEEDS_INIT);
    struct device *d = device_find(device);
    if (r == CUDA_SUCCESS && !d)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS && !context)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !d->primary)
        r = context_create(d, d->primary_flags, true, &d->primary);
    if (r == CUDA_SUCCESS) {
        d->primary_refs++;
        *context = (CUcontext)d->primary;
    }
    return driver_leave(&call, r);
}

static void primary_destroy(struct device *d)
{
    context_destroy(d->primary);
    d->primary = NULL;
    d->primary_refs = 0;
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDevicePrimaryCtxRelease", NEEDS_INIT);
    struct device *d = device_find(device);
    if (r == CUDA_SUCCESS && !d)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS && d->primary_refs == 0)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS && --d->primary_refs == 0)
        primary_destroy(d);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDevicePrimaryCtxReset", NEEDS_INIT);
    struct device *d = device_find(device);
    if (r == CUDA_SUCCESS && !d)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS && d->primary)
        primary_destroy(d);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDevicePrimaryCtxSetFlags", NEEDS_INIT);
    struct device *d = device_find(device);
    if (r == CUDA_SUCCESS && !d)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS) {
        d->primary_flags = flags;
        if (d->primary)
            d->primary->flags = flags;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuDevicePrimaryCtxGetState", NEEDS_INIT);
    struct device *d = device_find(device);
    if (r == CUDA_SUCCESS && !d)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS && flags)
        *flags = d->primary_flags;
    if (r == CUDA_SUCCESS && active)
        *active = d->primary != NULL;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    struct call call;
    struct context *c = NULL;
    CUresult r = driver_enter(&call, "cuCtxCreate", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !context)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !device_find(device))
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS)
        r = context_create(&devices[device], flags, false, &c);
    if (r == CUDA_SUCCESS)
        r = context_push(c);
    if (r == CUDA_SUCCESS)
        *context = (CUcontext)c;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinity, int count, unsigned int flags,
                                      CUdevice device)
{
    return cuCtxCreate_v2(context, flags, device);
}

SIMGPU_EXPORT CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags, CUdevice device)
{
    return cuCtxCreate_v2(context, flags, device);
}

/* Enters a call about a context; NULL stands for the current one. */
static CUresult enter_context(struct call *call, const char *name, CUcontext handle)
{
    CUresult r = driver_enter(call, name, NEEDS_INIT);
    if (r == CUDA_SUCCESS && handle) {
        if (!handle_is(HANDLE_CONTEXT, handle))
            return CUDA_ERROR_INVALID_CONTEXT;
        call->context = (struct context *)handle;
    }
    return r != CUDA_SUCCESS ? r : call->context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

SIMGPU_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxDestroy", context);
    if (r == CUDA_SUCCESS && (!context || call.context->primary))
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS) {
        if (context_current() == call.context)
            (void)context_pop();
        context_destroy(call.context);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxPushCurrent", context);
    if (r == CUDA_SUCCESS)
        r = context ? context_push(call.context) : CUDA_ERROR_INVALID_CONTEXT;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxPopCurrent", NULL);
    if (r == CUDA_SUCCESS) {
        struct context *popped = context_pop();
        if (context)
            *context = (CUcontext)popped;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuCtxSetCurrent", NEEDS_INIT);
    if (r == CUDA_SUCCESS && context && !handle_is(HANDLE_CONTEXT, context))
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS)
        context_set_current((struct context *)context);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuCtxGetCurrent", NEEDS_INIT);
    if (r == CUDA_SUCCESS && !context)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *context = (CUcontext)call.context;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetDevice", context);
    if (r == CUDA_SUCCESS && !device)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *device = call.context->device->ordinal;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

SIMGPU_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxSynchronize", context);
    if (r == CUDA_SUCCESS && (r = call.context->error) == CUDA_SUCCESS) {
        r = capture_context_violated(call.context, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        if (r == CUDA_SUCCESS) {
            sim_wait_context(call.context);
            pool_trim_all();
            r = call.context->error;
        }
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}

SIMGPU_EXPORT CUresult cuCtxGetFlags(unsigned int *flags)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetFlags", NULL);
    if (r == CUDA_SUCCESS && !flags)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *flags = call.context->flags;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxSetFlags(unsigned int flags)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxSetFlags", NULL);
    if (r == CUDA_SUCCESS)
        call.context->flags = flags;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetId", context);
    if (r == CUDA_SUCCESS && !id)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *id = call.context->id;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetApiVersion", context);
    if (r == CUDA_SUCCESS && !version)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *version = call.context->api_version;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetLimit", NULL);
    if (r == CUDA_SUCCESS && !value)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        r = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (r == CUDA_SUCCESS)
        *value = call.context->limits[limit];
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxSetLimit", NULL);
    if (r == CUDA_SUCCESS && (unsigned)limit >= CU_LIMIT_MAX)
        r = CUDA_ERROR_UNSUPPORTED_LIMIT;
    if (r == CUDA_SUCCESS)
        call.context->limits[limit] = value;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetCacheConfig", NULL);
    if (r == CUDA_SUCCESS)
        *config = call.context->cache_config;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxSetCacheConfig", NULL);
    if (r == CUDA_SUCCESS)
        call.context->cache_config = config;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    struct call call;
    CUresult r = enter_context(&call, "cuCtxGetStreamPriorityRange", NULL);
    if (r == CUDA_SUCCESS && least)
        *least = 0;
    if (r == CUDA_SUCCESS && greatest)
        *greatest = -5;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuCtxEnablePeerAccess", NEEDS_CONTEXT);
    const struct context *p = handle_is(HANDLE_CONTEXT, peer) ? (const struct context *)peer : NULL;
    if (r == CUDA_SUCCESS && !p)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS && flags)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && p->device == call.context->device)
        r = CUDA_ERROR_INVALID_DEVICE;
    if (r == CUDA_SUCCESS) {
        uint32_t bit = UINT32_C(1) << p->device->ordinal;
        if (call.context->peers & bit)
            r = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
        call.context->peers |= bit;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuCtxDisablePeerAccess", NEEDS_CONTEXT);
    const struct context *p = handle_is(HANDLE_CONTEXT, peer) ? (const struct context *)peer : NULL;
    if (r == CUDA_SUCCESS && !p)
        r = CUDA_ERROR_INVALID_CONTEXT;
    if (r == CUDA_SUCCESS) {
        uint32_t bit = UINT32_C(1) << p->device->ordinal;
        if (!(call.context->peers & bit))
            r = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
        call.context->peers &= ~bit;
    }
    return driver_leave(&call, r);
}
