/* capture.c - stream capture. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graph_memory.h"
#include "sim.h"

static uint64_t next_id = 1;
static struct capture *running;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static uint64_t this_thread(void)
{
    static uint64_t threads;
    static _Thread_local uint64_t number;
    if (!number)
        number = ++threads;
    return number;
}

static void capture_drop(struct capture *c)
{
    if (c && --c->refs == 0)
        free(c);
}

CUresult capture_set_frontier(struct stream *s, const CUgraphNode *nodes, size_t count, bool add)
{
    for (size_t i = 0; i < count; i++)
        if (!handle_is(HANDLE_NODE, nodes[i]) || ((struct graph_node *)nodes[i])->graph != s->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
    size_t before = add ? s->frontier_count : 0;
    struct graph_node **more = malloc((before + count + 1) * sizeof(struct graph_node *));
    if (!more)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (before)
        memcpy(more, s->frontier, before * sizeof(struct graph_node *));
    for (size_t i = 0; i < count; i++) {
        bool there = false;
        for (size_t k = 0; k < before; k++)
            there = there || more[k] == (struct graph_node *)nodes[i];
        if (!there)
            more[before++] = (struct graph_node *)nodes[i];
    }
    free(s->frontier);
    s->frontier = more;
    s->frontier_count = before;
    return CUDA_SUCCESS;
}

CUresult capture_begin(struct stream *s, struct graph *graph, const CUgraphNode *dependencies, size_t count,
                       CUstreamCaptureMode mode)
{
    if (s->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (s == s->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    struct capture *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->graph_is_ours = !graph;
    c->graph = graph ? graph : graph_create(s->context, true);
    if (!c->graph) {
        free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->capture = c;
    CUresult r = capture_set_frontier(s, dependencies, count, false);
    if (r != CUDA_SUCCESS) {
        s->capture = NULL;
        if (c->graph_is_ours)
            graph_destroy(c->graph);
        free(c);
        return r;
    }
    c->origin = c->members = s;
    c->mode = mode;
    c->thread = this_thread();
    c->id = next_id++;
    c->refs = 1;
    c->next = running;
    running = c;
    return CUDA_SUCCESS;
}

static void leave(struct stream *s)
{
    struct stream **at = &s->capture->members;
    while (*at != s)
        at = &(*at)->next_captured;
    *at = s->next_captured;
    s->next_captured = NULL;
    capture_drop(s->capture);
    s->capture = NULL;
    free(s->frontier);
    s->frontier = NULL;
    s->frontier_count = 0;
}

/* Takes all streams out of the capture. */
static void finish(struct capture *c)
{
    struct capture **at = &running;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->origin = NULL;
    c->refs++;
    while (c->members)
        leave(c->members);
    free(c->left);
    c->left = NULL;
    capture_drop(c);
}

/* Whether all of these nodes have come back to the origin. */
static bool joined(struct graph_node *const *nodes, size_t count, const struct stream *origin)
{
    for (size_t i = 0; i < count; i++) {
        bool reached = false;
        for (size_t k = 0; !reached && k < origin->frontier_count; k++)
            reached = graph_depends(origin->frontier[k], nodes[i]);
        if (!reached)
            return false;
    }
    return true;
}

CUresult capture_end(struct stream *s, struct graph **ret_graph)
{
    struct capture *c = s->capture;
    if (!c)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (c->origin != s)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != this_thread())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    bool all = !c->lost && joined(c->left, c->left_count, s);
    for (const struct stream *other = c->members; other && all; other = other->next_captured)
        all = joined(other->frontier, other->frontier_count, s);
    CUresult r = c->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                 : all          ? CUDA_SUCCESS
                                : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (r == CUDA_SUCCESS)
        *ret_graph = c->graph;
    else if (c->graph_is_ours)
        graph_destroy(c->graph);
    finish(c);
    return r;
}

void capture_forget_stream(struct stream *s)
{
    struct capture *c = s->capture;
    if (!c)
        return;
    if (c->origin == s) {
        if (c->graph_is_ours)
            graph_destroy(c->graph);
        finish(c);
        return;
    }
    struct graph_node **more = realloc(c->left, (c->left_count + s->frontier_count + 1) * sizeof *more);
    c->lost = c->lost || !more;
    if (more) {
        if (s->frontier_count)
            memcpy(more + c->left_count, s->frontier, s->frontier_count * sizeof *more);
        c->left = more;
        c->left_count += s->frontier_count;
    }
    leave(s);
}

CUresult capture_node(struct stream *s, CUgraphNodeType type, struct op *op, struct graph_node **ret_node)
{
    if (s->capture->invalidated) {
        op_drop(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    CUresult r = graph_add(s->capture->graph, type, op, (const CUgraphNode *)s->frontier, s->frontier_count, ret_node);
    return r == CUDA_SUCCESS ? capture_set_frontier(s, (const CUgraphNode *)ret_node, 1, false) : r;
}

/* An event node: what cuEventRecord and cuStreamWaitEvent become if they are told so. */
CUresult capture_event_node(struct stream *s, CUgraphNodeType type, struct event *e)
{
    struct graph_node *n;
    CUresult r = capture_node(s, type, NULL, &n);
    if (r == CUDA_SUCCESS)
        n->event = event_keep(e);
    return r;
}

CUresult capture_add(struct stream *s, struct op *op)
{
    struct graph_node *n;
    CUgraphNodeType type = op->kind == OP_KERNEL          ? CU_GRAPH_NODE_TYPE_KERNEL
                           : op->kind == OP_COPY          ? CU_GRAPH_NODE_TYPE_MEMCPY
                           : op->kind == OP_SET           ? CU_GRAPH_NODE_TYPE_MEMSET
                           : op->kind == OP_HOST_FUNCTION ? CU_GRAPH_NODE_TYPE_HOST
                                                          : CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    const void *function = op->kind == OP_KERNEL ? op->u.run.handle : NULL;
    CUresult r = capture_node(s, type, op, &n);
    if (r == CUDA_SUCCESS)
        n->function = function;
    return r;
}

CUresult capture_alloc(struct stream *s, struct device *device, size_t bytes, CUdeviceptr *ret_address)
{
    struct block *b;
    struct graph_node *n;
    CUresult r = graph_memory_create(s->context, device, bytes, &b);
    if (r != CUDA_SUCCESS)
        return r;
    r = capture_node(s, CU_GRAPH_NODE_TYPE_MEM_ALLOC, NULL, &n);
    if (r != CUDA_SUCCESS) {
        graph_memory_drop(b);
        return r;
    }
    node_take_memory(n, b);
    *ret_address = b->span.start;
    return CUDA_SUCCESS;
}

CUresult capture_free(struct stream *s, CUdeviceptr address)
{
    struct block *b;
    struct graph_node *n;
    CUresult r = graph_memory_to_free(s->capture->graph, address, &b);
    if (r == CUDA_SUCCESS)
        r = capture_node(s, CU_GRAPH_NODE_TYPE_MEM_FREE, NULL, &n);
    if (r == CUDA_SUCCESS)
        node_take_memory(n, b);
    return r;
}

void capture_forget_event(struct event *e)
{
    capture_drop(e->capture);
    e->capture = NULL;
    free(e->frontier);
    e->frontier = NULL;
    e->frontier_count = 0;
}

CUresult capture_record(struct event *e, struct stream *s)
{
    struct graph_node **copy = malloc((s->frontier_count + 1) * sizeof(struct graph_node *));
    if (!copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (s->frontier_count)
        memcpy(copy, s->frontier, s->frontier_count * sizeof(struct graph_node *));
    capture_forget_event(e);
    e->frontier = copy;
    e->frontier_count = s->frontier_count;
    e->capture = s->capture;
    e->capture->refs++;
    return CUDA_SUCCESS;
}

CUresult capture_wait(struct stream *s, const struct event *e)
{
    struct capture *c = e->capture;
    if (!c->origin) /* that capture is over */
        return s->capture ? capture_violated(s->capture, CUDA_ERROR_CAPTURED_EVENT) : CUDA_ERROR_CAPTURED_EVENT;
    if (s->capture && s->capture != c) {
        (void)capture_violated(s->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
        return capture_violated(c, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    if (c->invalidated)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s == s->context->legacy)
        return capture_violated(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (!s->capture) {
        s->capture = c;
        c->refs++;
        s->next_captured = c->members;
        c->members = s;
    }
    return capture_set_frontier(s, (const CUgraphNode *)e->frontier, e->frontier_count, true);
}

/* ---- what captures forbid ---- */

CUresult capture_violated(struct capture *c, CUresult error)
{
    CUresult r = c->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : error;
    c->invalidated = true;
    return r;
}

CUresult capture_context_violated(struct context *context, CUresult error)
{
    CUresult r = CUDA_SUCCESS;
    for (const struct stream *s = context->streams; s; s = s->next)
        if (s->capture) {
            s->capture->invalidated = true;
            r = error;
        }
    return r;
}

bool capture_blocks_legacy(const struct context *context)
{
    for (const struct stream *s = context->streams; s; s = s->next)
        if (s->capture && s->blocking)
            return true;
    return false;
}

CUresult capture_legacy_used(struct context *context)
{
    CUresult r = CUDA_SUCCESS;
    for (const struct stream *s = context->streams; s; s = s->next)
        if (s->capture && s->blocking) {
            s->capture->invalidated = true;
            r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
        }
    return r;
}

CUresult capture_permits_unsafe(void)
{
    CUresult r = CUDA_SUCCESS;
    for (struct capture *c = running; c && thread_mode != CU_STREAM_CAPTURE_MODE_RELAXED; c = c->next) {
        bool own = c->thread == this_thread() && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        if (own || (thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) {
            c->invalidated = true;
            r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return r;
}

bool capture_is_relaxed(void)
{
    return thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

bool capture_any(void)
{
    return running;
}

bool capture_fills(const struct graph *graph)
{
    for (const struct capture *c = running; c; c = c->next)
        if (c->graph == graph)
            return true;
    return false;
}

CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode)
{
    CUstreamCaptureMode before = thread_mode;
    thread_mode = mode;
    return before;
}
