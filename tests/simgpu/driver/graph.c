/* graph.c - building, cloning and launching graphs. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "stats.h"

struct graph *graph_create(struct context *context, bool with_handles)
{
    struct graph *g = calloc(1, sizeof *g);
    if (!g || (with_handles && handle_add(HANDLE_GRAPH, g) < 0)) {
        free(g);
        return NULL;
    }
    g->context = context;
    return g;
}

static void node_free(struct graph_node *n)
{
    handle_remove(n);
    op_drop(n->op);
    if (n->child)
        graph_destroy(n->child);
    if (n->block && --n->block->global_refs == 0)
        memory_free(n->block);
    free(n->param_pointers);
    free(n->dependencies);
    free(n);
}

void graph_destroy(struct graph *g)
{
    handle_remove(g);
    for (size_t i = 0; i < g->count; i++)
        node_free(g->nodes[i]);
    free(g->nodes);
    free(g);
}

CUresult graph_memory(struct context *context, size_t bytes, struct block **ret_block)
{
    CUresult r = memory_allocate(context, BLOCK_POOL, bytes, ret_block);
    if (r == CUDA_SUCCESS)
        (*ret_block)->in_graph = true;
    return r;
}

CUresult node_depend(struct graph_node *n, struct graph_node *on)
{
    for (size_t i = 0; i < n->dependency_count; i++)
        if (n->dependencies[i] == on)
            return CUDA_SUCCESS;
    struct graph_node **more = realloc(n->dependencies, (n->dependency_count + 1) * sizeof(struct graph_node *));
    if (!more)
        return CUDA_ERROR_OUT_OF_MEMORY;
    n->dependencies = more;
    n->dependencies[n->dependency_count++] = on;
    return CUDA_SUCCESS;
}

void node_replace_op(struct graph_node *n, struct op *op)
{
    op_drop(n->op);
    n->op = op;
    free(n->param_pointers);
    n->param_pointers = NULL;
}

static CUresult graph_append(struct graph *g, struct graph_node *n)
{
    if (g->count == g->room) {
        size_t room = g->room ? 2 * g->room : 16;
        struct graph_node **more = realloc(g->nodes, room * sizeof(struct graph_node *));
        if (!more)
            return CUDA_ERROR_OUT_OF_MEMORY;
        g->nodes = more;
        g->room = room;
    }
    if (handle_add(HANDLE_NODE, n) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    g->nodes[g->count++] = n;
    return CUDA_SUCCESS;
}

CUresult graph_add(struct graph *g, CUgraphNodeType type, struct op *op, const CUgraphNode *dependencies, size_t count,
                   struct graph_node **ret_node)
{
    struct graph_node *n = calloc(1, sizeof *n);
    CUresult r = n ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (!n) {
        op_drop(op);
        return r;
    }
    n->graph = g;
    n->type = type;
    n->op = op;
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
        struct graph_node *on = (struct graph_node *)dependencies[i];
        r = handle_is(HANDLE_NODE, on) && on->graph == g ? node_depend(n, on) : CUDA_ERROR_INVALID_VALUE;
    }
    if (r == CUDA_SUCCESS)
        r = graph_append(g, n);
    if (r != CUDA_SUCCESS) {
        node_free(n);
        return r;
    }
    *ret_node = n;
    return CUDA_SUCCESS;
}

void graph_remove(struct graph_node *n)
{
    struct graph *g = n->graph;
    size_t kept = 0;
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *other = g->nodes[i];
        size_t k = 0;
        for (size_t d = 0; d < other->dependency_count; d++)
            if (other->dependencies[d] != n)
                other->dependencies[k++] = other->dependencies[d];
        other->dependency_count = k;
        if (other != n)
            g->nodes[kept++] = other;
    }
    g->count = kept;
    node_free(n);
}

bool graph_depends(const struct graph_node *n, const struct graph_node *on)
{
    static unsigned walk;
    static const struct graph_node *start;
    bool found = n == on;
    if (!start) {
        start = n;
        walk++;
    }
    struct graph_node *self = (struct graph_node *)n;
    if (!found && self->mark != walk) {
        self->mark = walk;
        for (size_t i = 0; !found && i < n->dependency_count; i++)
            found = graph_depends(n->dependencies[i], on);
    }
    if (start == n)
        start = NULL;
    return found;
}

struct graph_node *graph_find_clone(const struct graph *g, const struct graph_node *origin)
{
    for (size_t i = 0; i < g->count; i++)
        for (const struct graph_node *o = g->nodes[i]; o; o = o->origin)
            if (o == origin || o->origin == origin)
                return g->nodes[i];
    return NULL;
}

static CUresult clone_node(const struct graph_node *n, struct graph *into)
{
    struct graph_node *copy;
    struct op *op = NULL;
    if (n->op && !(op = op_clone(n->op)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = graph_add(into, n->type, op, NULL, 0, &copy);
    if (r != CUDA_SUCCESS)
        return r;
    copy->origin = (struct graph_node *)n;
    copy->event = n->event;
    copy->function = n->function;
    copy->disabled = n->disabled;
    copy->block = n->block;
    if (copy->block)
        copy->block->global_refs++;
    return n->child ? graph_clone(n->child, false, &copy->child) : CUDA_SUCCESS;
}

static struct graph_node *direct_clone(const struct graph *g, const struct graph_node *origin)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i]->origin == origin)
            return g->nodes[i];
    return NULL;
}

CUresult graph_clone(const struct graph *g, bool with_handles, struct graph **ret_graph)
{
    struct graph *copy = graph_create(g->context, with_handles);
    CUresult r = copy ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        r = clone_node(g->nodes[i], copy);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        for (size_t d = 0; r == CUDA_SUCCESS && d < g->nodes[i]->dependency_count; d++)
            r = node_depend(copy->nodes[i], direct_clone(copy, g->nodes[i]->dependencies[d]));
    if (r != CUDA_SUCCESS) {
        if (copy)
            graph_destroy(copy);
        return r;
    }
    copy->origin = (struct graph *)g;
    *ret_graph = copy;
    return CUDA_SUCCESS;
}

/* ---- launching ---- */

/* Puts the nodes into an order in which each comes after what it depends on. False: there is a cycle. */
static bool sort(struct graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        g->nodes[i]->followed = false; /* here: has its place */
    for (size_t done = 0; done < g->count; done++) {
        size_t next = done;
        for (; next < g->count; next++) {
            bool ready = true;
            for (size_t d = 0; d < g->nodes[next]->dependency_count; d++)
                ready = ready && g->nodes[next]->dependencies[d]->followed;
            if (ready)
                break;
        }
        if (next == g->count)
            return false;
        struct graph_node *n = g->nodes[next];
        memmove(g->nodes + done + 1, g->nodes + done, (next - done) * sizeof(struct graph_node *));
        g->nodes[done] = n;
        n->followed = true;
    }
    return true;
}

/* A node goes on along the branch of something that it depends on, where nobody else does. */
static unsigned assign_branches(struct graph *g)
{
    unsigned branches = 0;
    for (size_t i = 0; i < g->count; i++)
        g->nodes[i]->followed = false;
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *n = g->nodes[i], *before = NULL;
        for (size_t d = 0; !before && d < n->dependency_count; d++)
            if (!n->dependencies[d]->followed)
                before = n->dependencies[d];
        if (before)
            before->followed = true;
        n->branch = before ? before->branch : branches++;
    }
    return branches;
}

CUresult exec_create(const struct graph *g, unsigned long long flags, struct exec **ret_exec)
{
    struct exec *e = calloc(1, sizeof *e);
    CUresult r = e ? graph_clone(g, false, &e->graph) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && !sort(e->graph))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        unsigned branches = assign_branches(e->graph);
        e->timelines = calloc(branches ? branches : 1, sizeof *e->timelines);
        r = e->timelines ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        while (r == CUDA_SUCCESS && e->branches < branches)
            r = timeline_init(&e->timelines[e->branches]) == 0 ? (e->branches++, CUDA_SUCCESS) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r == CUDA_SUCCESS && handle_add(HANDLE_EXEC, e) < 0)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        if (e)
            exec_destroy(e);
        return r;
    }
    e->flags = flags;
    *ret_exec = e;
    return CUDA_SUCCESS;
}

void exec_destroy(struct exec *e)
{
    handle_remove(e);
    sim_wait(e->last); /* a launch in flight uses its timelines and memory */
    op_drop(e->last);
    for (unsigned i = 0; i < e->branches; i++)
        timeline_finish(&e->timelines[i]);
    free(e->timelines);
    if (e->graph)
        graph_destroy(e->graph);
    free(e);
}

/* `op` on `timeline` comes after `before`. */
static CUresult come_after(struct op *op, struct timeline *timeline, struct op *before)
{
    if (op_after(op, before) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    timeline_follow(timeline, &before->when);
    return CUDA_SUCCESS;
}

static CUresult child_launch(struct graph_node *n, struct op *start, struct stream *stream);

static CUresult node_launch(struct graph_node *n, struct timeline *timeline, struct op *root, struct stream *stream)
{
    struct op *op = n->op && !n->disabled ? op_clone(n->op) : op_create(OP_MARK, stream->context, "graph node");
    CUresult r = op ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && n->dependency_count == 0)
        r = come_after(op, timeline, root);
    for (size_t i = 0; r == CUDA_SUCCESS && i < n->dependency_count; i++)
        r = come_after(op, timeline, n->dependencies[i]->issued);
    if (r == CUDA_SUCCESS && n->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT && n->event->op)
        r = come_after(op, timeline, n->event->op);
    if (r != CUDA_SUCCESS)
        return r;
    n->issued = op_keep(op);
    if (n->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        op_drop(n->event->op);
        n->event->op = op_keep(op);
    }
    op_issue(op, timeline, stream->id);
    return n->child ? child_launch(n, n->issued, stream) : CUDA_SUCCESS;
}

/* All nodes after `root`; `end` comes after all of them. */
static CUresult nodes_launch(struct graph *g, struct timeline *timelines, struct op *root, struct op *end,
                             struct timeline *end_timeline, struct stream *stream)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        r = node_launch(g->nodes[i], &timelines[g->nodes[i]->branch], root, stream);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        r = come_after(end, end_timeline, g->nodes[i]->issued);
    for (size_t i = 0; i < g->count; i++) {
        op_drop(g->nodes[i]->issued);
        g->nodes[i]->issued = NULL;
    }
    return r;
}

/* A child graph stands between its node's start and an end that takes the start's place for those who depend on it. */
static CUresult child_launch(struct graph_node *n, struct op *start, struct stream *stream)
{
    struct timeline line;
    struct op *end = op_create(OP_MARK, stream->context, "child graph");
    if (!end || timeline_init(&line) < 0 || !sort(n->child))
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned branches = assign_branches(n->child);
    struct timeline *lines = calloc(branches ? branches : 1, sizeof *lines);
    CUresult r = lines ? come_after(end, &line, start) : CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; r == CUDA_SUCCESS && i < branches; i++)
        r = timeline_init(&lines[i]) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        r = nodes_launch(n->child, lines, start, end, &line, stream);
    if (r == CUDA_SUCCESS) {
        op_drop(n->issued);
        n->issued = op_keep(end);
        op_issue(end, &line, stream->id);
        for (unsigned i = 0; i < branches; i++)
            timeline_finish(&lines[i]);
        timeline_finish(&line);
    }
    free(lines);
    return r;
}

CUresult exec_launch(struct exec *e, struct stream *s)
{
    struct op *root = op_create(OP_MARK, s->context, "cuGraphLaunch"),
              *end = op_create(OP_MARK, s->context, "cuGraphLaunch");
    CUresult r = root && end ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS && e->last) /* the same graph never runs twice at once */
        r = come_after(root, &s->timeline, e->last);
    if (r != CUDA_SUCCESS) {
        op_drop(root);
        op_drop(end);
        return r;
    }
    op_keep(root);
    r = stream_submit(s, root);
    if (r == CUDA_SUCCESS)
        r = nodes_launch(e->graph, e->timelines, root, end, &s->timeline, s);
    op_drop(root);
    if (r != CUDA_SUCCESS)
        return r;
    op_drop(e->last);
    e->last = op_keep(end);
    stats.graph_launches++;
    return stream_submit(s, end);
}
