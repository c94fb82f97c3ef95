/* api_launch.c - launches of kernels and of host functions. */
#include "driver.h"
#include "launch.h"
#include "order.h"
#include "sim.h"

static CUresult launch(const char *name, CUfunction function, const struct launch *l, CUstream stream)
{
    struct call call;
    struct stream *s;
    struct op *op;
    CUresult r = driver_enter(&call, name, NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = stream_to_use(call.context, stream, &s);
    if (r == CUDA_SUCCESS)
        r = launch_make(s->context, function, l, &op);
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.launch_ns);
        if (l->overlaps && !s->capture && s->tail)
            order_overlap(op, s->tail);
        r = stream_run(s, op);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                                      unsigned int by, unsigned int bz, unsigned int shared, CUstream stream, void **params,
                                      void **extra)
{
    struct launch l = {{gx, gy, gz}, {bx, by, bz}, shared, params, extra, false};
    return launch("cuLaunchKernel", f, &l, stream);
}

static bool asks_to_overlap(const CUlaunchConfig *c)
{
    bool asks = false;
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            asks = c->attrs[i].value.programmaticStreamSerializationAllowed;
    return asks;
}

/* The attributes ask for scheduling that makes no difference to a device that runs one kernel at a time; but beside which
 * kernel one may run is looked at. */
SIMGPU_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    struct launch l = {{c->gridDimX, c->gridDimY, c->gridDimZ},
                       {c->blockDimX, c->blockDimY, c->blockDimZ},
                       c->sharedMemBytes,
                       params,
                       extra,
                       asks_to_overlap(c)};
    return launch("cuLaunchKernelEx", f, &l, c->hStream);
}

SIMGPU_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz,
                                                 unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                                 CUstream stream, void **params)
{
    struct launch l = {{gx, gy, gz}, {bx, by, bz}, shared, params, NULL, false};
    return launch("cuLaunchCooperativeKernel", f, &l, stream);
}

SIMGPU_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    struct call call;
    struct stream *s;
    struct op *op = NULL;
    CUresult r = driver_enter(&call, "cuLaunchHostFunc", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = function ? stream_to_use(call.context, stream, &s) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && !(op = op_create(OP_HOST_FUNCTION, s->context, "cuLaunchHostFunc")))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        op->u.host.function = function;
        op->u.host.data = data;
        sim_spend(settings.profile.event_ns);
        r = stream_run(s, op);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned int flags)
{
    struct call call;
    struct stream *s;
    struct op *op = NULL;
    CUresult r = driver_enter(&call, "cuStreamAddCallback", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS)
        r = callback && !flags ? stream_to_use(call.context, stream, &s) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && s->capture)
        r = stream_refuse(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (r == CUDA_SUCCESS && !(op = op_create(OP_CALLBACK, s->context, "cuStreamAddCallback")))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS) {
        op->u.host.callback = callback;
        op->u.host.stream = stream;
        op->u.host.data = data;
        sim_spend(settings.profile.event_ns);
        r = stream_run(s, op);
    }
    return driver_leave(&call, r);
}
