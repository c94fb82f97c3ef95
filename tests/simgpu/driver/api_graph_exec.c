/* api_graph_exec.c - executable graphs: instantiation, update, launch. */
#include "capture.h"
#include "graph.h"
#include "graph_call.h"

static const unsigned long long plain_flags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

/* *ret_offender as exec_create() tells it. */
static CUresult instantiate(CUgraphExec *exec, CUgraph graph, unsigned long long flags, struct graph_node **ret_offender)
{
    struct call call;
    struct exec *e = NULL;
    CUresult r = enter_with(&call, "cuGraphInstantiate", HANDLE_GRAPH, graph);
    *ret_offender = NULL;
    if (r == CUDA_SUCCESS && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        r = CUDA_ERROR_NOT_SUPPORTED;
    if (r == CUDA_SUCCESS && (!exec || flags & ~plain_flags))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = exec_create((struct graph *)graph, flags, &e, ret_offender);
    if (r == CUDA_SUCCESS)
        *exec = (CUgraphExec)e;
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
    struct graph_node *offender;
    return instantiate(exec, graph, flags, &offender);
}

SIMGPU_EXPORT CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    const unsigned long long upload = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    struct graph_node *offender;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult r = instantiate(exec, graph, params->flags & ~upload, &offender);
    params->hErrNode_out = (CUgraphNode)offender;
    params->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS
                         : offender        ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                           : CUDA_GRAPH_INSTANTIATE_ERROR;
    if (r == CUDA_SUCCESS && params->flags & upload)
        r = cuGraphUpload(*exec, params->hUploadStream);
    return r;
}

SIMGPU_EXPORT CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log, size_t size)
{
    struct graph_node *offender;
    CUresult r = instantiate(exec, graph, 0, &offender);
    if (error_node)
        *error_node = (CUgraphNode)offender;
    if (log && size)
        *log = 0;
    return r;
}

SIMGPU_EXPORT CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error_node, char *log,
                                             size_t size)
{
    return cuGraphInstantiate(exec, graph, error_node, log, size);
}

SIMGPU_EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphExecDestroy", HANDLE_EXEC, exec);
    if (r == CUDA_SUCCESS)
        exec_destroy((struct exec *)exec);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphExecGetFlags", HANDLE_EXEC, exec);
    if (r == CUDA_SUCCESS && !flags)
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        *flags = ((struct exec *)exec)->flags;
    return driver_leave(&call, r);
}

static CUresult enter_with_stream(struct call *call, const char *name, CUgraphExec exec, CUstream stream,
                                  struct stream **ret_stream)
{
    CUresult r = enter_with(call, name, HANDLE_EXEC, exec);
    return r == CUDA_SUCCESS ? stream_to_use(call->context, stream, ret_stream) : r;
}

SIMGPU_EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    struct call call;
    struct stream *s;
    return driver_leave(&call, enter_with_stream(&call, "cuGraphUpload", exec, stream, &s));
}

/* What the exec would do now becomes a child graph. */
static CUresult capture_launch(const struct exec *e, struct stream *s)
{
    struct graph *child;
    struct graph_node *n;
    if (graph_has_memory_nodes(e->graph))
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = graph_clone(e->graph, true, &child);
    if (r != CUDA_SUCCESS)
        return r;
    r = capture_node(s, CU_GRAPH_NODE_TYPE_GRAPH, NULL, &n);
    if (r != CUDA_SUCCESS) {
        graph_destroy(child);
        return r;
    }
    n->child = child;
    child->parent = n;
    return CUDA_SUCCESS;
}

SIMGPU_EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct call call;
    struct stream *s;
    CUresult r = enter_with_stream(&call, "cuGraphLaunch", exec, stream, &s);
    if (r == CUDA_SUCCESS)
        sim_spend(settings.profile.launch_ns);
    if (r == CUDA_SUCCESS)
        r = s->capture ? capture_launch((struct exec *)exec, s) : exec_launch((struct exec *)exec, s);
    return driver_leave(&call, r);
}

SIMGPU_EXPORT CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    struct call call;
    CUresult r = enter_with(&call, "cuGraphExecUpdate", HANDLE_EXEC, exec);
    if (info)
        *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    if (r == CUDA_SUCCESS && (!info || !handle_is(HANDLE_GRAPH, graph)))
        r = CUDA_ERROR_INVALID_VALUE;
    if (r == CUDA_SUCCESS)
        r = exec_update((struct exec *)exec, ((struct exec *)exec)->graph, (struct graph *)graph, info);
    return driver_leave(&call, r);
}
