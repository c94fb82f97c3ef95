/* stream.c - streams as queues of operations, and what the default streams mean. */
#include "sim.h"

#include <stdlib.h>

#include "capture.h"
#include "driver.h"
#include "stats.h"
#include "twins.h"

static uint64_t next_id = 1;

CUresult stream_create(struct context *context, unsigned flags, int priority, bool hidden, struct stream **ret_stream)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s || timeline_init(&s->timeline) < 0) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->context = context;
    s->flags = flags;
    s->priority = priority;
    s->hidden = hidden;
    s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
    s->id = next_id++;
    s->refs = 1;
    if (context->legacy) { /* the first stream of a context is its legacy default stream, kept apart */
        s->next = context->streams;
        s->link = &context->streams;
        if (s->next)
            s->next->link = &s->next;
        context->streams = s;
    }
    if (!hidden) {
        if (handle_add(HANDLE_STREAM, s) < 0) {
            stream_drop(s);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        stats.streams++;
    }
    *ret_stream = s;
    return CUDA_SUCCESS;
}

struct stream *stream_keep(struct stream *s)
{
    s->refs++;
    return s;
}

void stream_drop(struct stream *s)
{
    if (--s->refs > 0)
        return;
    if (s->link) {
        *s->link = s->next;
        if (s->next)
            s->next->link = s->link;
    }
    op_drop(s->tail);
    timeline_finish(&s->timeline);
    free(s);
}

/* The default stream of this thread in this context. */
static CUresult per_thread_stream(struct context *context, struct stream **ret_stream)
{
    enum { MOST = 8 };
    static _Thread_local struct {
        uint64_t context_id;
        struct stream *stream;
    } mine[MOST];
    int unused = -1;
    for (int i = 0; i < MOST; i++) {
        if (mine[i].context_id == context->id) {
            *ret_stream = mine[i].stream;
            return CUDA_SUCCESS;
        }
        if (mine[i].context_id == 0 && unused < 0)
            unused = i;
    }
    if (unused < 0)
        unused = 0; /* the oldest one's stream lives on in its context */
    CUresult r = stream_create(context, CU_STREAM_DEFAULT, 0, true, ret_stream);
    if (r == CUDA_SUCCESS) {
        mine[unused].context_id = context->id;
        mine[unused].stream = *ret_stream;
    }
    return r;
}

CUresult stream_resolve(struct context *context, CUstream handle, struct stream **ret_stream)
{
    if (!handle)
        handle = per_thread_default() ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
    if (handle == CU_STREAM_LEGACY) {
        *ret_stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return per_thread_stream(context, ret_stream);
    if (!handle_is(HANDLE_STREAM, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *ret_stream = (struct stream *)handle;
    return (*ret_stream)->context->error;
}

CUresult stream_to_use(struct context *context, CUstream handle, struct stream **ret_stream)
{
    CUresult r = stream_resolve(context, handle, ret_stream);
    if (r != CUDA_SUCCESS || !capture_any())
        return r;
    struct stream *s = *ret_stream;
    if (s->capture)
        return s->capture->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    return s == s->context->legacy ? capture_legacy_used(s->context) : CUDA_SUCCESS;
}

CUresult stream_refuse(struct stream *s, CUresult error)
{
    return capture_violated(s->capture, error);
}

/* `op` comes after all that `other` holds so far. */
static int follow(struct op *op, struct stream *s, struct stream *other, uint64_t *seen)
{
    if (!other->tail || *seen == other->timeline.position)
        return 0;
    int r = op_after(op, other->tail);
    if (r == 0) {
        timeline_follow(&s->timeline, &other->tail->when);
        *seen = other->timeline.position;
    }
    return r;
}

static void note_use(struct stream *s, const struct op *op)
{
    if (op->kind == OP_KERNEL && !twin_is(op->u.run.kernel))
        s->runs_kernels = true;
    if (op->kind == OP_COPY)
        s->brings_in = op->u.copy.direction == COPY_H2D;
}

CUresult stream_submit(struct stream *s, struct op *op)
{
    struct context *c = s->context;
    int r = op_after(op, s->tail);
    if (s == c->legacy) {
        for (struct stream *other = c->streams; other && r == 0; other = other->next)
            if (other->blocking)
                r = follow(op, s, other, &other->followed_position);
    } else if (s->blocking && r == 0) {
        r = follow(op, s, c->legacy, &s->legacy_position);
    }
    if (r < 0) {
        /* Nobody may be left waiting for it: it lives on, off every lane. */
        op->refs++;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op_drop(s->tail);
    s->tail = op_keep(op);
    note_use(s, op);
    op_issue(op, &s->timeline, s->id);
    return CUDA_SUCCESS;
}

CUresult stream_run(struct stream *s, struct op *op)
{
    if (s->capture)
        return capture_add(s, op);
    return stream_submit(s, op);
}

/* Complete, and the host has learned it. */
static bool known_done(const struct op *op)
{
    return op->state == OP_DONE && host_knows(op->when.slot, op->when.position);
}

/* The work of a destroyed stream goes on: a mark behind it keeps it known to the context. */
static void leave_mark(struct stream *s)
{
    struct context *c = s->context;
    struct op *mark = op_create(OP_MARK, c, "cuStreamDestroy");
    if (!mark || op_after(mark, s->tail) < 0 || op_after(mark, c->retired) < 0)
        return;
    if (c->retired)
        timeline_follow(&s->timeline, &c->retired->when);
    op_drop(c->retired);
    c->retired = op_keep(mark);
    op_issue(mark, &s->timeline, s->id);
}

void stream_retire(struct stream *s)
{
    capture_forget_stream(s);
    if (s->tail && s->blocking)
        timeline_follow(&s->context->legacy->timeline, &s->tail->when);
    if (s->tail && !known_done(s->tail))
        leave_mark(s);
    stream_drop(s);
}

/* Whether another stream has work that this one takes its turn behind, and no operation of its own does so yet: after an
 * action in the legacy stream "all blocking streams wait on the legacy stream" (CUDA's page on stream synchronization
 * behaviour), whether anything is submitted to them or not. */
static bool is_behind_others(const struct stream *s)
{
    const struct stream *legacy = s->context->legacy;
    if (s != legacy)
        return s->blocking && legacy->tail && legacy->timeline.position != s->legacy_position;
    bool others = false;
    for (const struct stream *other = s->context->streams; other; other = other->next)
        others = others || (other->blocking && other->timeline.position != other->followed_position);
    return others;
}

/* To wait for a stream is to wait for what it takes turns with: a mark there comes after them. */
struct op *stream_newest(struct stream *s)
{
    if (is_behind_others(s)) {
        struct op *mark = op_create(OP_MARK, s->context, "cuStreamSynchronize");
        if (mark)
            (void)stream_submit(s, mark);
    }
    return s->tail;
}

static void wait_stream(struct stream *s)
{
    if (s->tail && !known_done(s->tail))
        sim_wait(s->tail);
}

void sim_wait_context(struct context *context)
{
    sim_wait(context->retired);
    wait_stream(context->legacy);
    for (struct stream *s = context->streams; s;) {
        stream_keep(s);
        wait_stream(s);
        struct stream *next = s->next;
        stream_drop(s);
        s = next;
    }
}

void sim_wait_device(struct device *device)
{
    if (device->primary)
        sim_wait_context(device->primary);
}
