/* api_graph_params.c - what the nodes of a graph, or of an exec, are told to do. */
#include <string.h>

#include "graph.h"
#include "graph_call.h"
#include "graph_params.h"

/* `out` is where the caller's caller wants it. */
static CUresult get(const char *name, CUgraphNode node, CUgraphNodeType type, const void *out, struct node_params *ret)
{
    struct call call;
    CUresult r = enter_with(&call, name, HANDLE_NODE, node);
    if (r == CUDA_SUCCESS && !out)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_of_node((struct graph_node *)node, ret, type);
    return driver_leave(&call, r);
}

/* Changes the node, or (with an exec) what the exec made of it. */
static CUresult change(const char *name, CUgraphExec exec, CUgraphNode node, struct node_params *params)
{
    struct call call;
    struct graph_node *n = (struct graph_node *)node;
    CUresult r = enter_with(&call, name, exec ? HANDLE_EXEC : HANDLE_NODE, exec ? (const void *)exec : (const void *)node);
    if (r == CUDA_SUCCESS && exec && !(n = exec_find((struct exec *)exec, node)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_change_node(call.context, params, n, (struct exec *)exec);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphKernelNodeGetParams", node, CU_GRAPH_NODE_TYPE_KERNEL, params, &p);
    if (r == CUDA_SUCCESS)
        *params = p.kernel;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemcpyNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEMCPY, params, &p);
    if (r == CUDA_SUCCESS)
        *params = p.memcpy;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemsetNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEMSET, params, &p);
    if (r == CUDA_SUCCESS)
        *params = p.memset;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphHostNodeGetParams", node, CU_GRAPH_NODE_TYPE_HOST, params, &p);
    if (r == CUDA_SUCCESS)
        *params = p.host;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child)
{
    struct node_params p;
    CUresult r = get("cuGraphChildGraphNodeGetGraph", node, CU_GRAPH_NODE_TYPE_GRAPH, child, &p);
    if (r == CUDA_SUCCESS)
        *child = p.child;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    struct node_params p;
    CUresult r = get("cuGraphEventRecordNodeGetEvent", node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &p);
    if (r == CUDA_SUCCESS)
        *event = p.event;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    struct node_params p;
    CUresult r = get("cuGraphEventWaitNodeGetEvent", node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &p);
    if (r == CUDA_SUCCESS)
        *event = p.event;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemAllocNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, params, &p);
    if (r == CUDA_SUCCESS) {
        memset(params, 0, sizeof *params);
        params->poolProps = p.pool;
        params->bytesize = p.bytes;
        params->dptr = p.address;
    }
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    struct node_params p;
    CUresult r = get("cuGraphMemFreeNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEM_FREE, address, &p);
    if (r == CUDA_SUCCESS)
        *address = p.address;
    return r;
}

#define SETTER(node_call, params_type, node_type, field) \
    SIMGPU_EXPORT CUresult node_call(CUgraphNode node, const params_type *params) \
    { \
        struct node_params p = {.type = node_type}; \
        if (params) \
            p.field = *params; \
        return params ? change(#node_call, NULL, node, &p) : CUDA_ERROR_INVALID_VALUE; \
    }

SETTER(cuGraphKernelNodeSetParams_v2, CUDA_KERNEL_NODE_PARAMS, CU_GRAPH_NODE_TYPE_KERNEL, kernel)
SETTER(cuGraphMemcpyNodeSetParams, CUDA_MEMCPY3D, CU_GRAPH_NODE_TYPE_MEMCPY, memcpy)
SETTER(cuGraphMemsetNodeSetParams, CUDA_MEMSET_NODE_PARAMS, CU_GRAPH_NODE_TYPE_MEMSET, memset)
SETTER(cuGraphHostNodeSetParams, CUDA_HOST_NODE_PARAMS, CU_GRAPH_NODE_TYPE_HOST, host)

SIMGPU_EXPORT CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    return change("cuGraphEventRecordNodeSetEvent", NULL, node, &p);
}

SIMGPU_EXPORT CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
    return change("cuGraphEventWaitNodeSetEvent", NULL, node, &p);
}

SIMGPU_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    struct node_params p;
    CUresult r = params ? params_from_generic(params, &p) : CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? change("cuGraphNodeSetParams", NULL, node, &p) : r;
}

/* ---- of execs ---- */

SIMGPU_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                         const CUDA_KERNEL_NODE_PARAMS *params)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    if (params)
        p.kernel = *params;
    return params && exec ? change("cuGraphExecKernelNodeSetParams", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,
                                                      CUcontext context)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    if (params)
        p.memcpy = *params;
    return params && exec ? change("cuGraphExecMemcpyNodeSetParams", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                      const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    if (params)
        p.memset = *params;
    return params && exec ? change("cuGraphExecMemsetNodeSetParams", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_HOST};
    if (params)
        p.host = *params;
    return params && exec ? change("cuGraphExecHostNodeSetParams", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = child};
    return exec ? change("cuGraphExecChildGraphNodeSetParams", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD, .event = event};
    return exec ? change("cuGraphExecEventRecordNodeSetEvent", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    struct node_params p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT, .event = event};
    return exec ? change("cuGraphExecEventWaitNodeSetEvent", exec, node, &p) : CUDA_ERROR_INVALID_VALUE;
}

SIMGPU_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    struct node_params p;
    CUresult r = params && exec ? params_from_generic(params, &p) : CUDA_ERROR_INVALID_VALUE;
    return r == CUDA_SUCCESS ? change("cuGraphExecNodeSetParams", exec, node, &p) : r;
}

SIMGPU_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphNodeSetEnabled", HANDLE_EXEC, exec);
    struct graph_node *n = r == CUDA_SUCCESS ? exec_find((struct exec *)exec, node) : NULL;
    if (r == CUDA_SUCCESS && (!n || n->type > CU_GRAPH_NODE_TYPE_MEMSET))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        n->disabled = !enabled;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphNodeGetEnabled", HANDLE_EXEC, exec);
    struct graph_node *n = r == CUDA_SUCCESS ? exec_find((struct exec *)exec, node) : NULL;
    if (r == CUDA_SUCCESS && (!n || n->type > CU_GRAPH_NODE_TYPE_MEMSET || !enabled))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *enabled = !n->disabled;
    return driver_leave(&call, r);
}
