/* api_graph.c - building graphs by hand. */
#include "capture.h"
#include "graph.h"
#include "graph_call.h"
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

SIMGPU_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphDestroy", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && (((struct graph *)graph)->parent || capture_fills((struct graph *)graph)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        graph_destroy((struct graph *)graph);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
    struct call call;
    struct graph *g = NULL;
    CUresult r = enter_with(&call, "cuGraphClone", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && (!clone || graph_has_memory_nodes((struct graph *)graph)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = graph_clone((struct graph *)graph, true, &g);
    if (r == CUDA_SUCCESS)
        *clone = (CUgraph)g;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphDestroyNode(CUgraphNode node)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphDestroyNode", HANDLE_NODE, node);
    const struct graph *g = r == CUDA_SUCCESS ? ((struct graph_node *)node)->graph : NULL;
    if (g && (graph_has_memory_nodes(g) || capture_fills(g)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        graph_remove((struct graph_node *)node);
    return driver_leave(&call, r);
}

/* Dependencies are whole ones here: the earlier node is complete before the later one starts. */
static CUresult edges_are_plain(const CUgraphEdgeData *edges, size_t count)
{
    for (size_t i = 0; edges && i < count; i++) {
        for (size_t k = 0; k < sizeof edges[i].reserved; k++)
            if (edges[i].reserved[k])
                return CUDA_ERROR_INVALID_VALUE;
        if (edges[i].to_port)
            return CUDA_ERROR_INVALID_VALUE;
        if (edges[i].from_port || edges[i].type)
            return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CUDA_SUCCESS;
}

/* Adds the node that `params` describe. */
static CUresult add(const char *name, CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t count,
                    struct node_params *params)
{
    struct call call;
    struct op *op = NULL;
    struct graph_node *n = NULL;
    CUresult r = enter_with(&call, name, HANDLE_GRAPH, graph);
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
    p.pool = params->poolProps;
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
        r = edges_are_plain(edges, count);
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

/* ---- edges ---- */

/* Whether both ends are nodes of the graph. */
static bool are_ours(CUgraph graph, CUgraphNode from, CUgraphNode to)
{
    const struct graph *g = (const struct graph *)graph;
    return handle_is(HANDLE_NODE, from) && handle_is(HANDLE_NODE, to) && ((struct graph_node *)from)->graph == g &&
           ((struct graph_node *)to)->graph == g;
}

SIMGPU_EXPORT CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                                 const CUgraphEdgeData *edges, size_t count)
{
    struct call call;
    size_t added = 0;
    CUresult r = enter_with(&call, "cuGraphAddDependencies", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && count > 0 && (!from || !to))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = edges_are_plain(edges, count);
    for (; r == CUDA_SUCCESS && added < count; added += r == CUDA_SUCCESS)
        r = are_ours(graph, from[added], to[added])
                ? node_depend((struct graph_node *)to[added], (struct graph_node *)from[added])
                : CUDA_ERROR_INVALID_VALUE;
    while (r != CUDA_SUCCESS && added-- > 0) /* all of them or none */
        (void)node_depend_no_more((struct graph_node *)to[added], (struct graph_node *)from[added]);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

SIMGPU_EXPORT CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                                    const CUgraphEdgeData *edges, size_t count)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphRemoveDependencies", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && count > 0 && (!from || !to || graph_has_memory_nodes((struct graph *)graph)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = edges_are_plain(edges, count);
    for (size_t i = 0; r == CUDA_SUCCESS && i < count; i++)
        if (!are_ours(graph, from[i], to[i]) ||
            !node_depend_no_more((struct graph_node *)to[i], (struct graph_node *)from[i]))
            r = CUDA_ERROR_INVALID_VALUE;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
