/* api_graph.c - building graphs by hand, and looking at them. */
#include <string.h>

#include "driver.h"
#include "graph.h"
#include "graph_params.h"

SIMGPU_EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    struct call call;
    CUresult r = driver_enter(&call, "cuGraphCreate", NEEDS_CONTEXT);
    if (r == CUDA_SUCCESS && (!graph || flags))
        r = CUDA_ERROR_INVALID_VALUE;
    struct graph *g = r == CUDA_SUCCESS ? graph_create(call.context, true) : NULL;
    if (r == CUDA_SUCCESS && !g)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r == CUDA_SUCCESS)
        *graph = (CUgraph)g;
    return driver_leave(&call, r);
}

static CUresult enter(struct call *call, const char *name, enum handle kind, const void *handle)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS && !handle_is(kind, handle) ? CUDA_ERROR_INVALID_VALUE : r;
}

SIMGPU_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphDestroy", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS)
        graph_destroy((struct graph *)graph);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
    struct call call;
    struct graph *g = NULL;
    CUresult r = enter(&call, "cuGraphClone", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS)
        r = graph_clone((struct graph *)graph, true, &g);
    if (r == CUDA_SUCCESS)
        *clone = (CUgraph)g;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphDestroyNode", HANDLE_NODE, node);
    if (r == CUDA_SUCCESS)
        graph_remove((struct graph_node *)node);
    return driver_leave(&call, r);
}

/* Adds the node that `params` describe. */
static CUresult add(const char *name, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                    struct node_params *params)
{
    struct call call;
    struct op *op = NULL;
    struct graph_node *n = NULL;
    CUresult r = enter(&call, name, HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && (!node || (count && !dependencies)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_make_op(call.context, params, &op);
    if (r == CUDA_SUCCESS)
        r = graph_add((struct graph *)graph, params->type, op, dependencies, count, &n);
    if (r == CUDA_SUCCESS && (r = params_finish_node(call.context, params, n)) != CUDA_SUCCESS)
        graph_remove(n);
    if (r == CUDA_SUCCESS)
        *node = (CUgraphNode)n;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return add("cuGraphAddEmptyNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                               size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p.kernel = *params;
    return add("cuGraphAddKernelNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                            const CUDA_MEMCPY3D *params, CUcontext context)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p.memcpy = *params;
    return add("cuGraphAddMemcpyNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                            const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p.memset = *params;
    return add("cuGraphAddMemsetNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                          const CUDA_HOST_NODE_PARAMS *params)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_HOST};
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p.host = *params;
    return add("cuGraphAddHostNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                                size_t count, CUgraph child)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
    return add("cuGraphAddChildGraphNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                                 size_t count, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    return add("cuGraphAddEventRecordNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                               size_t count, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
    return add("cuGraphAddEventWaitNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                              size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    p.bytes = params->bytesize;
    CUresult r = add("cuGraphAddMemAllocNode", node, graph, dependencies, count, &p);
    if (r == CUDA_SUCCESS)
        params->dptr = p.address;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                             CUdeviceptr address)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE, .address = address};
    return add("cuGraphAddMemFreeNode", node, graph, dependencies, count, &p);
}

SIMGPU_EXPORT CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                         const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    struct node_params p;
    CUresult r = params ? params_from_generic(params, &p) : CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = add("cuGraphAddNode", node, graph, dependencies, count, &p);
    if (r == CUDA_SUCCESS && p.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        params->alloc.dptr = p.address;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                                      CUgraphNodeParams *params)
{
    return cuGraphAddNode_v2(node, graph, dependencies, NULL, count, params);
}

/* ---- looking ---- */

static void put_nodes(struct graph_node *const *from, size_t available, CUgraphNode *nodes, size_t *count)
{
    size_t most = *count;
    for (size_t i = 0; nodes && i < most; i++)
        nodes[i] = i < available ? (CUgraphNode)from[i] : NULL;
    if (!nodes || most > available)
        *count = available;
}

SIMGPU_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphGetNodes", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS)
        put_nodes(((struct graph *)graph)->nodes, ((struct graph *)graph)->count, nodes, count);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    struct call call;
    const struct graph *g = (const struct graph *)graph;
    size_t found = 0;
    CUresult r = enter(&call, "cuGraphGetRootNodes", HANDLE_GRAPH, graph);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++) {
        if (g->nodes[i]->dependency_count == 0) {
            if (nodes && found < *count)
                nodes[found] = (CUgraphNode)g->nodes[i];
            found++;
        }
    }
    if (r == CUDA_SUCCESS && (!nodes || found < *count))
        *count = found;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edges,
                                          size_t *count)
{
    struct call call;
    const struct graph *g = (const struct graph *)graph;
    size_t found = 0;
    CUresult r = enter(&call, "cuGraphGetEdges", HANDLE_GRAPH, graph);
    for (size_t i = 0; r == CUDA_SUCCESS && i < g->count; i++) {
        for (size_t d = 0; d < g->nodes[i]->dependency_count; d++, found++) {
            if (!from || !to || found >= *count)
                continue;
            from[found] = (CUgraphNode)g->nodes[i]->dependencies[d];
            to[found] = (CUgraphNode)g->nodes[i];
            if (edges)
                memset(&edges[found], 0, sizeof edges[found]);
        }
    }
    if (r == CUDA_SUCCESS && (!from || !to || found < *count))
        *count = found;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                                     size_t *count)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphNodeGetDependencies", HANDLE_NODE, node);
    if (r == CUDA_SUCCESS)
        put_nodes(((struct graph_node *)node)->dependencies, ((struct graph_node *)node)->dependency_count, nodes, count);
    if (r == CUDA_SUCCESS && edges)
        memset(edges, 0, *count * sizeof *edges);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
                                                       size_t *count)
{
    struct call call;
    size_t found = 0;
    CUresult r = enter(&call, "cuGraphNodeGetDependentNodes", HANDLE_NODE, node);
    const struct graph *g = r == CUDA_SUCCESS ? ((struct graph_node *)node)->graph : NULL;
    for (size_t i = 0; g && i < g->count; i++) {
        for (size_t d = 0; d < g->nodes[i]->dependency_count; d++) {
            if (g->nodes[i]->dependencies[d] != (struct graph_node *)node)
                continue;
            if (nodes && found < *count)
                nodes[found] = (CUgraphNode)g->nodes[i];
            found++;
        }
    }
    if (r == CUDA_SUCCESS && (!nodes || found < *count))
        *count = found;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

SIMGPU_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphAddDependencies", HANDLE_GRAPH, graph);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
        struct graph_node *before = (struct graph_node *)from[i], *after = (struct graph_node *)to[i];
        if (!handle_is(HANDLE_NODE, before) || !handle_is(HANDLE_NODE, after) || graph_depends(before, after))
            r = CUDA_ERROR_INVALID_VALUE;
        else
            r = node_depend(after, before);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                                 const CUgraphEdgeData *edges, size_t count)
{
    return cuGraphAddDependencies(graph, from, to, count);
}

SIMGPU_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphRemoveDependencies", HANDLE_GRAPH, graph);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++) {
        struct graph_node *n = (struct graph_node *)to[i];
        size_t kept = 0;
        if (!handle_is(HANDLE_NODE, n)) {
            r = CUDA_ERROR_INVALID_VALUE;
            break;
        }
        for (size_t d = 0; d < n->dependency_count; d++)
            if (n->dependencies[d] != (struct graph_node *)from[i])
                n->dependencies[kept++] = n->dependencies[d];
        if (kept == n->dependency_count)
            r = CUDA_ERROR_INVALID_VALUE;
        n->dependency_count = kept;
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                                    const CUgraphEdgeData *edges, size_t count)
{
    return cuGraphRemoveDependencies(graph, from, to, count);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphNodeGetType", HANDLE_NODE, node);
    if (r == CUDA_SUCCESS)
        *type = ((struct graph_node *)node)->type;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode origin, CUgraph clone)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphNodeFindInClone", HANDLE_GRAPH, clone);
    struct graph_node *n = r == CUDA_SUCCESS ? graph_find_clone((struct graph *)clone, (struct graph_node *)origin) : NULL;
    if (r == CUDA_SUCCESS && !n)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *node = (CUgraphNode)n;
    return driver_leave(&call, r);
}
