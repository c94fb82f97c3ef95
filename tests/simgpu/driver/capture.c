/* capture.c - stream capture. */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "graph_memory.h"

static uint64_t next_id = 1;

static void capture_drop(struct capture *c)
{
    if (c && --c->refs == 0)
        free(c);
}

CUresult capture_set_frontier(struct stream *s, const CUgraphNode *nodes, size_t count, bool add)
{
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
    c->origin = s;
    c->mode = mode;
    c->id = next_id++;
    c->refs = 1;
    CUresult r = c->graph ? capture_set_frontier(s, dependencies, count, false) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        free(c);
        return r;
    }
    s->capture = c;
    return CUDA_SUCCESS;
}

static void leave(struct stream *s)
{
    capture_drop(s->capture);
    s->capture = NULL;
    free(s->frontier);
    s->frontier = NULL;
    s->frontier_count = 0;
}

/* Whether everything that `s` captured has come back to the origin. */
static bool joined(const struct stream *s, const struct stream *origin)
{
    for (size_t i = 0; i < s->frontier_count; i++) {
        bool reached = false;
        for (size_t k = 0; !reached && k < origin->frontier_count; k++)
            reached = graph_depends(origin->frontier[k], s->frontier[i]);
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
    CUresult r = c->invalidated ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    for (struct stream *other = s->context->streams; other; other = other->next) {
        if (other->capture != c || other == s)
            continue;
        if (r == CUDA_SUCCESS && !joined(other, s))
            r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        leave(other);
    }
    if (r == CUDA_SUCCESS)
        *ret_graph = c->graph;
    else if (c->graph_is_ours)
        graph_destroy(c->graph);
    c->origin = NULL;
    leave(s);
    return r;
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

CUresult capture_alloc(struct stream *s, size_t bytes, CUdeviceptr *ret_address)
{
    struct block *b;
    struct graph_node *n;
    CUresult r = graph_memory_create(s->context, bytes, &b);
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
    if (!e->capture->origin)
        return CUDA_ERROR_CAPTURED_EVENT; /* that capture is over */
    if (s->capture && s->capture != e->capture)
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (s == s->context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (!s->capture) {
        s->capture = e->capture;
        s->capture->refs++;
    }
    return capture_set_frontier(s, (const CUgraphNode *)e->frontier, e->frontier_count, true);
}

bool capture_running(const struct context *context)
{
    for (const struct stream *s = context->streams; s; s = s->next)
        if (s->capture)
            return true;
    return false;
}
