/* graph_exec.c - executable graphs: made, kept as long as a launch needs them, searched. */
#include "graph.h"

#include <stdlib.h>

#include "driver.h"

/* A node goes on along the branch of something that it depends on, where nobody else does. */
static void assign_branches(struct graph *g, unsigned *branches)
{
    for (size_t i = 0; i < g->count; i++) {
        struct graph_node *n = g->order[i], *before = NULL;
        for (size_t d = 0; !before && d < n->dependencies.count; d++)
            if (!n->dependencies.at[d]->followed)
                before = n->dependencies.at[d];
        if (before)
            before->followed = true;
        n->branch = before ? before->branch : (*branches)++;
        if (n->child)
            assign_branches(n->child, branches);
    }
}

/* Sorts the graph and all child graphs. The one to blame is a node of the outermost graph. */
static CUresult sort_all(struct graph *g, struct graph_node **ret_offender)
{
    CUresult r = graph_sort(g, ret_offender);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        if (g->nodes[i]->child && (r = sort_all(g->nodes[i]->child, ret_offender)) == CUDA_ERROR_INVALID_VALUE)
            *ret_offender = g->nodes[i];
    return r;
}

/* A graph with memory nodes has one exec at a time. */
static struct exec *only_ones;

static bool is_instantiated(const struct graph *g)
{
    const struct exec *e = only_ones;
    while (e && e->graph->origin != g->id)
        e = e->next;
    return e != NULL;
}

static void remember_only_one(struct exec *e)
{
    if (!graph_has_memory_nodes(e->graph))
        return;
    e->next = only_ones;
    only_ones = e;
}

static void forget_only_one(const struct exec *e)
{
    struct exec **at = &only_ones;
    while (*at && *at != e)
        at = &(*at)->next;
    if (*at)
        *at = e->next;
}

static CUresult make_timelines(struct exec *e)
{
    unsigned wanted = 0;
    assign_branches(e->graph, &wanted);
    e->timelines = calloc(wanted + 1, sizeof *e->timelines);
    while (e->timelines && e->branches < wanted && timeline_init(&e->timelines[e->branches]) == 0)
        e->branches++;
    return e->timelines && e->branches == wanted ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult exec_create(struct graph *g, unsigned long long flags, struct exec **ret_exec, struct graph_node **ret_offender)
{
    struct exec *e = calloc(1, sizeof *e);
    struct graph_node *offender = NULL;
    *ret_offender = NULL;
    if (!e)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (is_instantiated(g)) {
        free(e);
        return CUDA_ERROR_INVALID_VALUE;
    }
    e->refs = 1;
    e->flags = flags;
    CUresult r = graph_clone(g, false, &e->graph);
    if (r == CUDA_SUCCESS)
        r = sort_all(e->graph, &offender);
    if (offender)
        *ret_offender = g->nodes[offender->index];
    if (r == CUDA_SUCCESS)
        r = make_timelines(e);
    if (r == CUDA_SUCCESS && handle_add(HANDLE_EXEC, e) < 0)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r != CUDA_SUCCESS) {
        exec_drop(e);
        return r;
    }
    remember_only_one(e);
    *ret_exec = e;
    return CUDA_SUCCESS;
}

struct exec *exec_keep(struct exec *e)
{
    e->refs++;
    return e;
}

void exec_drop(struct exec *e)
{
    if (--e->refs > 0)
        return;
    op_drop(e->last);
    for (unsigned i = 0; i < e->branches; i++)
        timeline_finish(&e->timelines[i]);
    free(e->timelines);
    if (e->graph)
        graph_destroy(e->graph);
    free(e);
}

void exec_launch_is_done(struct exec *e)
{
    if (--e->launches == 0)
        user_refs_drop(&e->held);
    exec_drop(e);
}

void exec_destroy(struct exec *e)
{
    handle_remove(e);
    forget_only_one(e);
    exec_drop(e);
}

struct graph_node *exec_find(const struct exec *e, CUgraphNode node)
{
    return handle_is(HANDLE_NODE, node) ? graph_find_clone(e->graph, (const struct graph_node *)node) : NULL;
}
