/* api_graph_query.c - looking at graphs: nodes, edges, clones. */
#include <string.h>

#include "graph.h"
#include "graph_call.h"

/* ---- lists of nodes ---- */

/* Writes `from` into the caller's array: what doesn't fit is left out, room that is left over is cleared, and *count is what
 * was written. Without an array, *count is how many there are. */
static void put_nodes(struct graph_node *const *from, size_t available, CUgraphNode *nodes, size_t *count)
{
    size_t room = *count;
    for (size_t i = 0; nodes && i < room; i++)
        nodes[i] = i < available ? (CUgraphNode)from[i] : NULL;
    if (!nodes || room > available)
        *count = available;
}

static void clear_edges(CUgraphEdgeData *edges, size_t count)
{
    if (edges)
        memset(edges, 0, count * sizeof *edges);
}

SIMGPU_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphGetNodes", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && !count)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        put_nodes(((struct graph *)graph)->nodes, ((struct graph *)graph)->count, nodes, count);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct call call;
    const struct graph *g = (const struct graph *)graph;
    size_t found = 0;
    CUresult r = enter_with(&call, "cuGraphGetRootNodes", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && !count)
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++) {
        if (g->nodes[i]->dependencies.count > 0)
            continue;
        if (nodes && found < *count)
            nodes[found] = (CUgraphNode)g->nodes[i];
        found++;
    }
    if (r == CUDA_SUCCESS) {
        for (size_t i = found; nodes && i < *count; i++)
            nodes[i] = NULL;
        if (!nodes || found < *count)
            *count = found;
    }
    return driver_leave(&call, r);
}

/* The edges of one node, behind the `found` that there are. Returns how many there are now. */
static size_t put_edges(struct graph_node *n, size_t found, size_t room, CUgraphNode *from, CUgraphNode *to)
{
    for (size_t d = 0; d < n->dependencies.count; d++, found++) {
        if (from && found < room) {
            from[found] = (CUgraphNode)n->dependencies.at[d];
            to[found] = (CUgraphNode)n;
        }
    }
    return found;
}

SIMGPU_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                                          size_t *count)
{
    struct call call;
    const struct graph *g = (const struct graph *)graph;
    size_t found = 0;
    CUresult r = enter_with(&call, "cuGraphGetEdges", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && (!count || !from != !to || (edges && !from)))
        r = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++)
        found = put_edges(g->nodes[i], found, *count, from, to);
    if (r == CUDA_SUCCESS) {
        for (size_t i = found; from && i < *count; i++)
            from[i] = to[i] = NULL;
        clear_edges(edges, *count);
        if (!from || found < *count)
            *count = found;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

static CUresult get_neighbours(const char *name, CUgraphNode node, bool after, CUgraphNode *nodes, CUgraphEdgeData *edges,
                               size_t *count)
{
    struct call call;
    CUresult r = enter_with(&call, name, HANDLE_NODE, node);
    if (r == CUDA_SUCCESS && (!count || (edges && !nodes)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS) {
        const struct graph_node *n = (const struct graph_node *)node;
        const struct node_list *list = after ? &n->dependents : &n->dependencies;
        clear_edges(edges, *count);
        put_nodes(list->at, list->count, nodes, count);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                                     size_t *count)
{
    return get_neighbours("cuGraphNodeGetDependencies", node, false, nodes, edges, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                                       size_t *count)
{
    return get_neighbours("cuGraphNodeGetDependentNodes", node, true, nodes, edges, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

/* ---- single nodes ---- */

SIMGPU_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphNodeGetType", HANDLE_NODE, node);
    if (r == CUDA_SUCCESS && !type)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *type = ((struct graph_node *)node)->type;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode origin, CUgraph clone)
{
    struct call call;
    struct graph_node *n = NULL;
    CUresult r = enter_with(&call, "cuGraphNodeFindInClone", HANDLE_GRAPH, clone);
    if (r == CUDA_SUCCESS && handle_is(HANDLE_NODE, origin))
        n = graph_find_clone((struct graph *)clone, (struct graph_node *)origin);
    if (r == CUDA_SUCCESS && (!n || !node))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *node = (CUgraphNode)n;
    return driver_leave(&call, r);
}
