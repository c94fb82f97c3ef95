/* api_event.c - events: marks in a stream that others can wait for, and that measure time. */
#include <stdlib.h>

#include "capture.h"
#include "driver.h"
#include "memory.h"
#include "sim.h"
#include "stats.h"

SIMGPU_EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuEventCreate", NEEDS_CONTEXT);
    unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (r == CUDA_SUCCESS &&
        (!event || flags & ~known || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))))
        r = CUDA_ERROR_INVALID_VALUE;
    struct event *e = r == CUDA_SUCCESS ? calloc(1, sizeof *e) : NULL;
    if (r == CUDA_SUCCESS && (!e || handle_add(HANDLE_EVENT, e) < 0))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        free(e);
        return driver_leave(&call, r);
    }
    e->context = call.context;
    e->flags = flags;
    e->refs = 1;
    stats.events++;
    *event = (CUevent)e;
    return driver_leave(&call, r);
}

struct event *event_keep(struct event *e)
{
    e->refs++;
    return e;
}

void event_drop(struct event *e)
{
    if (--e->refs > 0)
        return;
    op_drop(e->op);
    free(e);
}

static CUresult enter_event(struct call *call, const char *name, CUevent event)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS && !handle_is(HANDLE_EVENT, event) ? CUDA_ERROR_INVALID_HANDLE : r;
}

SIMGPU_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    struct call call;
    struct event *e = (struct event *)event;
    CUresult r = enter_event(&call, "cuEventDestroy", event);
    if (r == CUDA_SUCCESS) {
        handle_remove(e);
        capture_forget_event(e);
        event_drop(e);
        stats.events--;
    }
    return driver_leave(&call, r);
}

/* A mark that is complete at once and follows nothing: an early-event sabotage. */
static CUresult mark_early(struct stream *s, struct op *op)
{
    struct timeline nowhere;
    if (timeline_init(&nowhere) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op_issue(op, &nowhere, s->id);
    timeline_finish(&nowhere);
    return CUDA_SUCCESS;
}

/* An event in a capture stands for nothing that will ever be done. */
static CUresult not_captured(const struct event *e)
{
    return e->capture
               ? (e->capture->origin ? capture_violated(e->capture, CUDA_ERROR_CAPTURED_EVENT) : CUDA_ERROR_CAPTURED_EVENT)
               : CUDA_SUCCESS;
}

CUresult event_record(struct event *e, struct stream *s)
{
    if (s->capture)
        return capture_record(e, s);
    capture_forget_event(e);
    struct op *op = op_create(OP_MARK, s->context, "cuEventRecord");
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_spend(settings.profile.event_ns);
    op_drop(e->op);
    e->op = op_keep(op);
    op->brought_in = s->brings_in && !s->runs_kernels;
    return settings_sabotage(SABOTAGE_EARLY_EVENT) ? mark_early(s, op) : stream_run(s, op);
}

SIMGPU_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_event(&call, "cuEventRecord", event);
    if (r == CUDA_SUCCESS && flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = stream_to_use(call.context, stream, &s);
    if (r == CUDA_SUCCESS && flags && !s->capture)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && s->context != ((struct event *)event)->context)
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS)
        r = flags ? capture_event_node(s, CU_GRAPH_NODE_TYPE_EVENT_RECORD, (struct event *)event)
                  : event_record((struct event *)event, s);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return cuEventRecordWithFlags(event, stream, 0);
}

SIMGPU_EXPORT CUresult cuEventQuery(CUevent event)
{
    struct call call;
    CUresult r = enter_event(&call, "cuEventQuery", event);
    if (r == CUDA_SUCCESS)
        r = not_captured((struct event *)event);
    if (r == CUDA_SUCCESS) {
        bool done = sim_query(((struct event *)event)->op);
        r = call.context->error ? call.context->error : done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuEventSynchronize(CUevent event)
{
    struct call call;
    CUresult r = enter_event(&call, "cuEventSynchronize", event);
    if (r == CUDA_SUCCESS)
        r = not_captured((struct event *)event);
    if (r == CUDA_SUCCESS) {
        sim_wait(((struct event *)event)->op);
        pool_trim_all();
        r = call.context->error;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    struct call call;
    const struct event *a = (const struct event *)start, *b = (const struct event *)end;
    CUresult r = enter_event(&call, "cuEventElapsedTime", start);
    if (r == CUDA_SUCCESS && !handle_is(HANDLE_EVENT, end))
        r = CUDA_ERROR_INVALID_HANDLE;
    if (r == CUDA_SUCCESS && (r = not_captured(a)) == CUDA_SUCCESS)
        r = not_captured(b);
    if (r == CUDA_SUCCESS && (!milliseconds || !a->op || !b->op || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING))
        r = milliseconds ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS && (!sim_query(a->op) || !sim_query(b->op)))
        r = CUDA_ERROR_NOT_READY;
    if (r == CUDA_SUCCESS)
        *milliseconds = (float)((b->op->end_ns - a->op->end_ns) / 1e6);
    return driver_leave(&call, r);
}

static CUresult wait_event(struct stream *s, const struct event *e)
{
    if (e->capture)
        return capture_wait(s, e);
    if (s->capture) /* what comes from outside can't be part of the graph */
        return e->op ? capture_violated(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION) : CUDA_SUCCESS;
    if (!e->op || settings_sabotage(SABOTAGE_DROP_WAIT))
        return CUDA_SUCCESS;
    struct op *op = op_create(OP_MARK, s->context, "cuStreamWaitEvent");
    if (!op || op_after(op, e->op) < 0) {
        op_drop(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->brought_in = s->runs_kernels && e->op->brought_in;
    stats.brought_in += op->brought_in;
    timeline_follow(&s->timeline, &e->op->when);
    return stream_run(s, op);
}

SIMGPU_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_event(&call, "cuStreamWaitEvent", event);
    if (r == CUDA_SUCCESS && flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = stream_to_use(call.context, stream, &s);
    if (r == CUDA_SUCCESS && flags && !s->capture)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.event_ns);
        r = flags ? capture_event_node(s, CU_GRAPH_NODE_TYPE_WAIT_EVENT, (struct event *)event)
                  : wait_event(s, (struct event *)event);
    }
    return driver_leave(&call, r);
}
