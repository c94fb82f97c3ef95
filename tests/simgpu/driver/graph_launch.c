/* graph_launch.c - launching an executable graph: its nodes become operations on its own timelines. */
#include "driver.h"
#include "graph_memory.h"
#include "stats.h"

/* `op` on `timeline` comes after `before`. Without memory it does not wait: the launch tells, but goes on, since others
 * wait for `op` already. */
static void come_after(struct op *op, struct timeline *timeline, struct op *before, CUresult *result)
{
    if (op_after(op, before) < 0)
        *result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        timeline_follow(timeline, &before->when);
}

static void drop_operations(struct graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *n = g->nodes[i];
        op_drop(n->start);
        op_drop(n->done);
        n->start = n->done = NULL;
        if (n->child)
            drop_operations(n->child);
    }
}

/* Makes everything that will be submitted. On failure the caller drops what there is. */
static CUresult make_operations(struct graph *g, struct context *context)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++) {
        struct graph_node *n = g->nodes[i];
        bool works = n->op && !n->disabled;
        n->done = n->block ? memory_node_op(n, context)
                  : works  ? op_clone(n->op)
                           : op_create(OP_MARK, context, n->child ? "child graph" : "graph node");
        n->start = n->child ? op_create(OP_MARK, context, "child graph") : op_keep(n->done);
        if (n->done)
            n->done->graph_launch = stats.graph_launches + 1;
        if (!n->done || !n->start)
            r = CUDA_ERROR_OUT_OF_MEMORY;
        else if (n->child)
            r = make_operations(n->child, context);
    }
    return r;
}

/* All that happens when a launch gets to a node. */
struct launching {
    struct timeline *timelines;
    struct stream *stream;
    CUresult result;
};

static void issue_all(struct launching *l, struct graph *g, struct op *start, struct op *end, struct timeline *end_timeline);

static void issue(struct launching *l, struct graph_node *n, struct op *start)
{
    struct timeline *timeline = &l->timelines[n->branch];
    if (n->dependencies.count == 0)
        come_after(n->start, timeline, start, &l->result);
    for (size_t i = 0; i < n->dependencies.count; i++)
        come_after(n->start, timeline, n->dependencies.at[i]->done, &l->result);
    if (n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && n->event->op)
        come_after(n->start, timeline, n->event->op, &l->result);
    if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        op_drop(n->event->op);
        n->event->op = op_keep(n->done);
    }
    if (n->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        (void)graph_memory_keep(n->block);
    op_issue(op_keep(n->start), timeline, l->stream->id);
    if (n->child) {
        issue_all(l, n->child, n->start, n->done, timeline);
        op_issue(op_keep(n->done), timeline, l->stream->id);
    }
}

/* All nodes after `start`; `end`, which the caller issues on `end_timeline`, comes after all of them. */
static void issue_all(struct launching *l, struct graph *g, struct op *start, struct op *end, struct timeline *end_timeline)
{
    for (size_t i = 0; i < g->count; i++)
        issue(l, g->order[i], start);
    come_after(end, end_timeline, start, &l->result);
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->dependents.count == 0)
            come_after(end, end_timeline, g->nodes[i]->done, &l->result);
}

static void remember(struct exec *e, struct op *end)
{
    op_drop(e->last);
    e->last = op_keep(end);
    end->u.exec = exec_keep(e);
    e->launches++;
    exec_account_memory(e);
    stats.graph_launches++;
}

CUresult exec_launch(struct exec *e, struct stream *s)
{
    struct op *start = op_create(OP_MARK, s->context, "cuGraphLaunch"),
              *end = op_create(OP_GRAPH_END, s->context, "cuGraphLaunch");
    struct launching l = {e->timelines, s, CUDA_ERROR_OUT_OF_MEMORY};
    if (start && end)
        l.result = exec_prepare_memory(e, s);
    if (l.result == CUDA_SUCCESS)
        l.result = make_operations(e->graph, s->context);
    if (l.result != CUDA_SUCCESS) {
        drop_operations(e->graph);
        op_drop(start);
        op_drop(end);
        return l.result;
    }
    if (e->last) /* the same graph never runs twice at once */
        come_after(start, &s->timeline, e->last, &l.result);
    CUresult r = stream_submit(s, op_keep(start));
    if (r == CUDA_SUCCESS) {
        issue_all(&l, e->graph, start, end, &s->timeline);
        remember(e, end);
        r = stream_submit(s, end);
    } else {
        op_drop(end);
    }
    drop_operations(e->graph);
    op_drop(start);
    return r == CUDA_SUCCESS ? l.result : r;
}
