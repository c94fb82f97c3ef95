/* api_graph_exec.c - parameters of graph nodes, instantiation, update and launch. */
#include <string.h>

#include "driver.h"
#include "graph.h"
#include "graph_params.h"

static CUresult enter(struct call *call, const char *name, enum handle kind, const void *handle)
{
    CUresult r = driver_enter(call, name, NEEDS_CONTEXT);
    return r == CUDA_SUCCESS && !handle_is(kind, handle) ? CUDA_ERROR_INVALID_VALUE : r;
}

static CUresult get(const char *name, CUgraphNode node, CUgraphNodeType type, struct node_params *ret)
{
    struct call call;
    CUresult r = enter(&call, name, HANDLE_NODE, node);
    if (r == CUDA_SUCCESS)
        r = params_of_node((struct graph_node *)node, ret, type);
    return driver_leave(&call, r);
}

/* Changes the node, or (with an exec) what the exec made of it. */
static CUresult change(const char *name, CUgraphExec exec, CUgraphNode node, struct node_params *params)
{
    struct call call;
    struct graph_node *n = (struct graph_node *)node;
    CUresult r = enter(&call, name, exec ? HANDLE_EXEC : HANDLE_NODE, exec ? (const void *)exec : (const void *)node);
    if (r == CUDA_SUCCESS && exec && !(n = graph_find_clone(((struct exec *)exec)->graph, n)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = params_change_node(call.context, params, n);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphKernelNodeGetParams", node, CU_GRAPH_NODE_TYPE_KERNEL, &p);
    if (r == CUDA_SUCCESS)
        *params = p.kernel;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemcpyNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEMCPY, &p);
    if (r == CUDA_SUCCESS)
        *params = p.memcpy;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemsetNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEMSET, &p);
    if (r == CUDA_SUCCESS)
        *params = p.memset;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphHostNodeGetParams", node, CU_GRAPH_NODE_TYPE_HOST, &p);
    if (r == CUDA_SUCCESS)
        *params = p.host;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *child)
{
    struct node_params p;
    CUresult r = get("cuGraphChildGraphNodeGetGraph", node, CU_GRAPH_NODE_TYPE_GRAPH, &p);
    if (r == CUDA_SUCCESS)
        *child = p.child;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    struct node_params p;
    CUresult r = get("cuGraphEventRecordNodeGetEvent", node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, &p);
    if (r == CUDA_SUCCESS)
        *event = p.event;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    struct node_params p;
    CUresult r = get("cuGraphEventWaitNodeGetEvent", node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, &p);
    if (r == CUDA_SUCCESS)
        *event = p.event;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    struct node_params p;
    CUresult r = get("cuGraphMemAllocNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &p);
    if (r == CUDA_SUCCESS) {
        memset(params, 0, sizeof *params);
        params->bytesize = p.bytes;
        params->dptr = p.address;
    }
    return r;
}

SIMGPU_EXPORT CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    struct node_params p;
    CUresult r = get("cuGraphMemFreeNodeGetParams", node, CU_GRAPH_NODE_TYPE_MEM_FREE, &p);
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

/* ---- execs ---- */

SIMGPU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    struct call call;
    struct exec *e = NULL;
    CUresult r = enter(&call, "cuGraphInstantiate", HANDLE_GRAPH, graph);
    if (r == CUDA_SUCCESS && !exec)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = exec_create((struct graph *)graph, flags, &e);
    if (r == CUDA_SUCCESS)
        *exec = (CUgraphExec)e;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = cuGraphInstantiateWithFlags(exec, graph, params->flags);
    params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    params->hErrNode_out = NULL;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    if (error_node)
        *error_node = NULL;
    if (log && size)
        *log = 0;
    return cuGraphInstantiateWithFlags(exec, graph, 0);
}

SIMGPU_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
                                             size_t size)
{
    return cuGraphInstantiate(exec, graph, error_node, log, size);
}

SIMGPU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphExecDestroy", HANDLE_EXEC, exec);
    if (r == CUDA_SUCCESS)
        exec_destroy((struct exec *)exec);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphExecGetFlags", HANDLE_EXEC, exec);
    if (r == CUDA_SUCCESS)
        *flags = ((struct exec *)exec)->flags;
    return driver_leave(&call, r);
}

static CUresult enter_with_stream(struct call *call, const char *name, CUgraphExec exec, CUstream stream,
                                  struct stream **ret_stream)
{
    CUresult r = enter(call, name, HANDLE_EXEC, exec);
    return r == CUDA_SUCCESS ? stream_resolve(call->context, stream, ret_stream) : r;
}

SIMGPU_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    struct call call;
    struct stream *s;
    return driver_leave(&call, enter_with_stream(&call, "cuGraphUpload", exec, stream, &s));
}

SIMGPU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_with_stream(&call, "cuGraphLaunch", exec, stream, &s);
    if (r == CUDA_SUCCESS && s->capture)
        r = CUDA_ERROR_NOT_SUPPORTED;
    if (r == CUDA_SUCCESS) {
        sim_spend(settings.profile.launch_ns);
        r = exec_launch((struct exec *)exec, s);
    }
    return driver_leave(&call, r);
}

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

/* Whether both have the same nodes and edges, in the order in which they were made. */
static bool same_shape(const struct graph *exec, const struct graph *graph)
{
    bool same = exec->count == graph->count;
    for (size_t i = 0; same && i < graph->count; i++)
        same = exec->nodes[i]->type == graph->nodes[i]->type &&
               exec->nodes[i]->dependency_count == graph->nodes[i]->dependency_count;
    return same;
}

SIMGPU_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    struct call call;
    struct exec *e = (struct exec *)exec;
    struct exec *fresh = NULL;
    CUresult r = enter(&call, "cuGraphExecUpdate", HANDLE_EXEC, exec);
    if (r == CUDA_SUCCESS && (!info || !handle_is(HANDLE_GRAPH, graph)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = exec_create((struct graph *)graph, 0, &fresh);
    if (r == CUDA_SUCCESS) {
        memset(info, 0, sizeof *info);
        if (!same_shape(e->graph, fresh->graph)) {
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
            r = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        } else {
            struct graph *old = e->graph;
            e->graph = fresh->graph;
            fresh->graph = old;
        }
        exec_destroy(fresh);
    }
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int enabled)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphNodeSetEnabled", HANDLE_EXEC, exec);
    struct graph_node *n =
        r == CUDA_SUCCESS ? graph_find_clone(((struct exec *)exec)->graph, (struct graph_node *)node) : NULL;
    if (r == CUDA_SUCCESS && (!n || n->type > CU_GRAPH_NODE_TYPE_MEMSET))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        n->disabled = !enabled;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *enabled)
{
    struct call call;
    CUresult r = enter(&call, "cuGraphNodeGetEnabled", HANDLE_EXEC, exec);
    struct graph_node *n =
        r == CUDA_SUCCESS ? graph_find_clone(((struct exec *)exec)->graph, (struct graph_node *)node) : NULL;
    if (r == CUDA_SUCCESS && (!n || !enabled))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *enabled = !n->disabled;
    return driver_leave(&call, r);
}
