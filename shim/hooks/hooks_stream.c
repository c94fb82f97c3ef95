/* hooks_stream.c - streams and contexts from creation to destruction, and what the program's own waits tell about what is
 * done. */
#include "ask.h"
#include "context.h"
#include "contexts.h"
#include "devices.h"
#include "engine.h"
#include "hooks.h"
#include "layout.h"
#include "lock.h"
#include "log.h"
#include "mover.h"
#include "result.h"
#include "spot_checks.h"
#include "deferred_unmap.h"
#include "status.h"
#include "twins.h"

enum { SNAPSHOT = 64 };

/* ---- waiting ---- */

/* Finds how far a stream will have come when a wait that begins now returns. NULL: a numbered operation may not be with the
 * driver yet. */
static struct spw_stream *before_wait(CUstream handle, uint64_t *ret_begun)
{
    spw_unmap_host_waits();
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(handle);
    if (s && atomic_load_explicit(&s->in_call, memory_order_acquire) != 0)
        s = NULL;
    if (s)
        *ret_begun = s->begun;
    spw_unlock();
    return s;
}

static void learn(struct spw_stream *s, uint64_t begun, CUresult result)
{
    if (s && result == CUDA_SUCCESS)
        spw_note_stream_done(s, begun);
    else if (s)
        spw_note_fault(s->context, result);
    spw_status_after_wait();
}

CUresult spw_on_cuStreamSynchronize(CUstream hStream)
{
    uint64_t begun = 0;
    struct spw_stream *s = before_wait(hStream, &begun);
    CUresult r = spw_driver.cuStreamSynchronize(hStream);
    learn(s, begun, r);
    return spw_spot_check_after_wait(r);
}

CUresult spw_on_cuStreamSynchronize_ptsz(CUstream hStream)
{
    uint64_t begun = 0;
    struct spw_stream *s = before_wait(spw_per_thread(hStream), &begun);
    CUresult r = spw_driver.cuStreamSynchronize_ptsz(hStream);
    learn(s, begun, r);
    return spw_spot_check_after_wait(r);
}

/* How far each stream of a context will have come when a wait for all of them returns. */
struct snapshot {
    CUcontext context;
    struct spw_stream *streams[SNAPSHOT];
    uint64_t begun[SNAPSHOT];
    unsigned count;
};

static void before_wait_for_all(struct snapshot *all, CUcontext context)
{
    all->context = context;
    if (!context)
        (void)spw_driver.cuCtxGetCurrent(&all->context);
    spw_unmap_host_waits();
    spw_lock();
    all->count = spw_streams_of_context_locked(all->context, all->streams, all->begun, SNAPSHOT);
    spw_unlock();
}

static CUresult learn_all(const struct snapshot *all, CUresult result)
{
    spw_note_fault(all->context, result);
    for (unsigned i = 0; i < all->count && result == CUDA_SUCCESS; i++)
        spw_note_stream_done(all->streams[i], all->begun[i]);
    spw_status_after_wait();
    return spw_spot_check_after_wait(result);
}

CUresult spw_on_cuCtxSynchronize(void)
{
    struct snapshot all;
    before_wait_for_all(&all, NULL);
    return learn_all(&all, spw_driver.cuCtxSynchronize());
}

CUresult spw_on_cuCtxSynchronize_v2(CUcontext ctx)
{
    struct snapshot all;
    before_wait_for_all(&all, ctx);
    return learn_all(&all, spw_driver.cuCtxSynchronize_v2(ctx));
}

/* Calls from which only spot checks learn: the device has come that far. */
/* clang-format off */
#define WAITED(symbol, params, args) \
    CUresult spw_on_##symbol params \
    { \
        return spw_spot_check_after_wait(spw_driver.symbol args); \
    }

WAITED(cuStreamQuery, (CUstream hStream), (hStream))
WAITED(cuStreamQuery_ptsz, (CUstream hStream), (hStream))
WAITED(cuEventQuery, (CUevent hEvent), (hEvent))
WAITED(cuEventSynchronize, (CUevent hEvent), (hEvent))
/* clang-format on */

/* ---- streams go ---- */

CUresult spw_on_cuStreamDestroy_v2(CUstream hStream)
{
    spw_lock();
    spw_stream_gone_locked(hStream);
    spw_unlock();
    return spw_driver.cuStreamDestroy_v2(hStream);
}

CUresult spw_on_cuStreamDestroy(CUstream hStream)
{
    spw_lock();
    spw_stream_gone_locked(hStream);
    spw_unlock();
    return spw_driver.cuStreamDestroy(hStream);
}

/* ---- contexts go ---- */

/* Frees all of the context's allocations, as the driver does with its own. */
static void context_goes(CUcontext context)
{
    struct spw_context_guard guard;
    if (!context || spw_context_enter(&guard, context) < 0)
        return;
    (void)SPW_ASK_QUIETLY(cuCtxSynchronize);
    (void)spw_versions_break(); /* what cannot be made again goes with the context, like all of its memory */
    spw_twins_context_gone(context);
    spw_context_free(context);
    spw_context_leave(&guard);
    spw_devices_context_gone(context);
    spw_layout_forget_all();
    spw_lock();
    spw_launch_classes_sweep_locked();
    spw_unlock();
}

CUresult spw_on_cuCtxDestroy_v2(CUcontext ctx)
{
    context_goes(ctx);
    return spw_driver.cuCtxDestroy_v2(ctx);
}

CUresult spw_on_cuCtxDestroy(CUcontext ctx)
{
    context_goes(ctx);
    return spw_driver.cuCtxDestroy(ctx);
}

CUresult spw_on_cuCtxAttach(CUcontext *pctx, unsigned int flags)
{
    const CUresult r = spw_driver.cuCtxAttach(pctx, flags);
    if (r == CUDA_SUCCESS)
        spw_devices_hold_context(*pctx);
    return r;
}

/* The driver releases the current context only. */
CUresult spw_on_cuCtxDetach(CUcontext ctx)
{
    CUcontext current = NULL;
    if (ctx && spw_driver.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == ctx && spw_devices_let_go_of_context(ctx))
        context_goes(ctx);
    return spw_driver.cuCtxDetach(ctx);
}

static void primary_retained(CUdevice dev, CUcontext context)
{
    if (dev < 0 || dev >= SPW_MAX_DEVICES)
        return;
    spw_lock();
    spw_devices[dev].primary.context = context;
    spw_devices[dev].primary.retained++;
    spw_unlock();
}

CUresult spw_on_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    CUresult r = spw_driver.cuDevicePrimaryCtxRetain(pctx, dev);
    if (r == CUDA_SUCCESS)
        primary_retained(dev, *pctx);
    return r;
}

static void primary_released(CUdevice dev, bool reset)
{
    CUcontext goes = NULL;
    if (dev < 0 || dev >= SPW_MAX_DEVICES)
        return;
    spw_lock();
    if (spw_devices[dev].primary.retained && (reset || --spw_devices[dev].primary.retained == 0)) {
        goes = spw_devices[dev].primary.context;
        spw_devices[dev].primary.context =
            NULL; /* the context that is retained next is another one, or the same made anew */
    }
    spw_unlock();
    context_goes(goes);
}

CUresult spw_on_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    primary_released(dev, false);
    return spw_driver.cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult spw_on_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    primary_released(dev, false);
    return spw_driver.cuDevicePrimaryCtxRelease(dev);
}

CUresult spw_on_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    primary_released(dev, true);
    return spw_driver.cuDevicePrimaryCtxReset_v2(dev);
}

CUresult spw_on_cuDevicePrimaryCtxReset(CUdevice dev)
{
    primary_released(dev, true);
    return spw_driver.cuDevicePrimaryCtxReset(dev);
}

/* ---- green contexts: streams of their own; memory and all else of the primary context, which each of them retains ---- */

CUresult spw_on_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
    CUcontext primary = NULL, green = NULL;
    const CUresult r = spw_driver.cuGreenCtxCreate(phCtx, desc, dev, flags);
    if (r != CUDA_SUCCESS || SPW_ASK(cuDevicePrimaryCtxRetain, &primary, dev) != CUDA_SUCCESS)
        return r;
    (void)SPW_ASK(cuDevicePrimaryCtxRelease_v2, dev); /* the green one keeps it */
    primary_retained(dev, primary);
    if (SPW_ASK(cuCtxFromGreenCtx, &green, *phCtx) == CUDA_SUCCESS)
        spw_devices_note_green(green, primary, dev);
    return r;
}

CUresult spw_on_cuGreenCtxDestroy(CUgreenCtx hCtx)
{
    CUcontext green = NULL;
    const bool is_known = SPW_ASK_QUIETLY(cuCtxFromGreenCtx, &green, hCtx) == CUDA_SUCCESS;
    const CUdevice dev = is_known ? spw_devices_of_green(green) : -1;
    if (dev >= 0) {
        context_goes(green); /* with its streams */
        primary_released(dev, false);
    }
    return spw_driver.cuGreenCtxDestroy(hCtx);
}

/* ---- peers: memory that we map needs its access set for each of them ---- */

CUresult spw_on_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    CUcontext context;
    CUresult r = spw_driver.cuCtxEnablePeerAccess(peerContext, Flags);
    struct spw_device *user = r == CUDA_SUCCESS ? spw_device_current(&context) : NULL;
    if (!user)
        return r;
    struct spw_context_guard guard;
    struct spw_device *owner = NULL;
    if (spw_context_enter(&guard, peerContext) == 0) {
        owner = spw_device_current(&context);
        spw_context_leave(&guard);
    }
    if (!owner)
        return r;
    spw_lock();
    int failed = spw_mover_enable_peer_locked(user->ordinal, owner->ordinal);
    spw_unlock();
    return spw_cuda(failed);
}
