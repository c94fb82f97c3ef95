/* api_stream.c - streams, and stream memory operations. */
#include "driver.h"
#include "memory.h"
#include "sim.h"
#include "stats.h"

SIMGPU_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    struct call call;
    struct stream *s = NULL;
    CUresult r = driver_enter(&call, "cuStreamCreate", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = stream_create(call.context, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority, false, &s);
    if (r == CUDA_SUCCESS)
        *stream = (CUstream)s;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

/* Enters a call about a stream. */
static CUresult enter_stream(struct call *call, const char *name, CUstream handle, struct stream **ret_stream)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS ? stream_resolve(call->context, handle, ret_stream) : r;
}

/* The same for a call that adds work to the stream or asks how far it is. */
static CUresult enter_to_use(struct call *call, const char *name, CUstream handle, struct stream **ret_stream)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS ? stream_to_use(call->context, handle, ret_stream) : r;
}

/* Its pending work goes on; only the handle ends. */
SIMGPU_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamDestroy", stream, &s);
    if (r == CUDA_SUCCESS && s->hidden)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS) {
        handle_remove(s);
        stats.streams--;
        stream_retire(s);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_to_use(&call, "cuStreamSynchronize", stream, &s);
    if (r == CUDA_SUCCESS && s->capture)
        r = stream_refuse(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (r == CUDA_SUCCESS) {
        struct context *c = s->context;
        sim_wait(stream_newest(s));
        pool_trim_all();
        r = c->error;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamQuery(CUstream stream)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_to_use(&call, "cuStreamQuery", stream, &s);
    if (r == CUDA_SUCCESS && s->capture)
        r = stream_refuse(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (r == CUDA_SUCCESS) {
        struct context *c = s->context;
        bool done = sim_query(stream_newest(s));
        r = c->error ? c->error : done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetFlags", stream, &s);
    if (r == CUDA_SUCCESS)
        *flags = s->flags;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetPriority", stream, &s);
    if (r == CUDA_SUCCESS)
        *priority = s->priority;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetId", stream, &s);
    if (r == CUDA_SUCCESS)
        *id = s->id;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetCtx", stream, &s);
    if (r == CUDA_SUCCESS)
        *context = (CUcontext)s->context;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    if (green)
        *green = NULL;
    return cuStreamGetCtx(stream, context);
}

SIMGPU_EXPORT CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_stream(&call, "cuStreamGetDevice", stream, &s);
    if (r == CUDA_SUCCESS)
        *device = s->context->device->ordinal;
    return driver_leave(&call, r);
}

/* ---- stream memory operations ---- */

static CUresult value_op(struct stream *s, enum op_kind kind, CUdeviceptr address, uint64_t value, unsigned flags, bool wide)
{
    uint64_t bad, bytes = wide ? 8 : 4;
    if (address % bytes || !memory_reachable(NULL, address, bytes, kind == OP_WRITE_VALUE, &bad))
        return CUDA_ERROR_INVALID_VALUE;
    struct op *op = op_create(kind, s->context, kind == OP_WRITE_VALUE ? "cuStreamWriteValue" : "cuStreamWaitValue");
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->u.value = (struct value){.address = address, .value = value, .flags = flags, .wide = wide};
    sim_spend(settings.profile.event_ns);
    return stream_run(s, op);
}

static CUresult value_call(const char *name, CUstream stream, enum op_kind kind, CUdeviceptr address, uint64_t value,
                           unsigned flags, bool wide)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_to_use(&call, name, stream, &s);
    if (r == CUDA_SUCCESS)
        r = value_op(s, kind, address, value, flags, wide);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return value_call("cuStreamWaitValue32", stream, OP_WAIT_VALUE, address, value, flags, false);
}

SIMGPU_EXPORT CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return value_call("cuStreamWaitValue64", stream, OP_WAIT_VALUE, address, value, flags, true);
}

SIMGPU_EXPORT CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    return value_call("cuStreamWriteValue32", stream, OP_WRITE_VALUE, address, value, flags, false);
}

SIMGPU_EXPORT CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned int flags)
{
    return value_call("cuStreamWriteValue64", stream, OP_WRITE_VALUE, address, value, flags, true);
}

static CUresult batch_one(struct stream *s, const CUstreamBatchMemOpParams *p)
{
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return value_op(s, OP_WAIT_VALUE, p->waitValue.address, p->waitValue.value, p->waitValue.flags, false);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return value_op(s, OP_WAIT_VALUE, p->waitValue.address, p->waitValue.value64, p->waitValue.flags, true);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return value_op(s, OP_WRITE_VALUE, p->writeValue.address, p->writeValue.value, p->writeValue.flags, false);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return value_op(s, OP_WRITE_VALUE, p->writeValue.address, p->writeValue.value64, p->writeValue.flags, true);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_SUCCESS; /* operations of a stream see each other's writes anyway */
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

SIMGPU_EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
                                             unsigned int flags)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_to_use(&call, "cuStreamBatchMemOp", stream, &s);
    if (r == CUDA_SUCCESS && (!list || count > 256 || flags))
        r = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < count; i++)
        r = batch_one(s, &list[i]);
    return driver_leave(&call, r);
}
