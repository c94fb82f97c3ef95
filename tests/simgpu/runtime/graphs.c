/* graphs.c - graphs, built node by node or by capture. The structures are the same in both interfaces, except for those of
 * kernels and copies. */
#include "runtime.h"

RT_FORWARD(cudaGraphCreate, (cudaGraph_t * graph, unsigned int flags), cuGraphCreate(graph, flags))
RT_FORWARD(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy(graph))
RT_FORWARD(cudaGraphClone, (cudaGraph_t * clone, cudaGraph_t graph), cuGraphClone(clone, graph))
RT_FORWARD(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
           cuGraphInstantiateWithFlags(executable, graph, flags))
RT_FORWARD(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
           cuGraphInstantiateWithFlags(executable, graph, flags))
RT_FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t executable), cuGraphExecDestroy(executable))
RT_FORWARD(cudaGraphExecGetFlags, (cudaGraphExec_t executable, unsigned long long *flags),
           cuGraphExecGetFlags(executable, (cuuint64_t *)flags))
RT_FORWARD(cudaGraphExecUpdate, (cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info),
           cuGraphExecUpdate(executable, graph, (CUgraphExecUpdateResultInfo *)info))
RT_FORWARD(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char *path, unsigned int flags),
           cuGraphDebugDotPrint(graph, path, flags))

/* --- nodes and edges --- */

RT_FORWARD(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
           cuGraphGetNodes(graph, nodes, count))
RT_FORWARD(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count),
           cuGraphGetRootNodes(graph, nodes, count))
RT_FORWARD(cudaGraphGetEdges,
           (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data, size_t *count),
           cuGraphGetEdges(graph, from, to, (CUgraphEdgeData *)data, count))
RT_FORWARD(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
           cuGraphNodeGetDependencies(node, nodes, (CUgraphEdgeData *)data, count))
RT_FORWARD(cudaGraphNodeGetDependentNodes,
           (cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count),
           cuGraphNodeGetDependentNodes(node, nodes, (CUgraphEdgeData *)data, count))
RT_FORWARD(cudaGraphAddDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
            size_t count),
           cuGraphAddDependencies(graph, from, to, (const CUgraphEdgeData *)data, count))
RT_FORWARD(cudaGraphRemoveDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
            size_t count),
           cuGraphRemoveDependencies(graph, from, to, (const CUgraphEdgeData *)data, count))
RT_FORWARD(cudaGraphNodeGetType, (cudaGraphNode_t node, enum cudaGraphNodeType *type),
           cuGraphNodeGetType(node, (CUgraphNodeType *)type))
RT_FORWARD(cudaGraphNodeFindInClone, (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
           cuGraphNodeFindInClone(node, original, clone))
RT_FORWARD(cudaGraphDestroyNode, (cudaGraphNode_t node), cuGraphDestroyNode(node))
RT_FORWARD(cudaGraphNodeSetEnabled, (cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled),
           cuGraphNodeSetEnabled(executable, node, enabled))
RT_FORWARD(cudaGraphNodeGetEnabled, (cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int *enabled),
           cuGraphNodeGetEnabled(executable, node, enabled))

RT_FORWARD(cudaGraphAddEmptyNode, (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count),
           cuGraphAddEmptyNode(node, graph, after, count))
RT_FORWARD(cudaGraphAddChildGraphNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaGraph_t child),
           cuGraphAddChildGraphNode(node, graph, after, count, child))
RT_FORWARD(cudaGraphChildGraphNodeGetGraph, (cudaGraphNode_t node, cudaGraph_t *graph),
           cuGraphChildGraphNodeGetGraph(node, graph))
RT_FORWARD(cudaGraphAddEventRecordNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event),
           cuGraphAddEventRecordNode(node, graph, after, count, event))
RT_FORWARD(cudaGraphAddEventWaitNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, cudaEvent_t event),
           cuGraphAddEventWaitNode(node, graph, after, count, event))
RT_FORWARD(cudaGraphAddMemFreeNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count, void *address),
           cuGraphAddMemFreeNode(node, graph, after, count, (CUdeviceptr)address))
RT_FORWARD(cudaGraphAddMemAllocNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
            struct cudaMemAllocNodeParams *parameters),
           cuGraphAddMemAllocNode(node, graph, after, count, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters))

RT_FORWARD(cudaGraphAddHostNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t count,
            const struct cudaHostNodeParams *parameters),
           cuGraphAddHostNode(node, graph, after, count, (const CUDA_HOST_NODE_PARAMS *)parameters))
RT_FORWARD(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, struct cudaHostNodeParams *parameters),
           cuGraphHostNodeGetParams(node, (CUDA_HOST_NODE_PARAMS *)parameters))
RT_FORWARD(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const struct cudaHostNodeParams *parameters),
           cuGraphHostNodeSetParams(node, (const CUDA_HOST_NODE_PARAMS *)parameters))
RT_FORWARD(cudaGraphExecHostNodeSetParams,
           (cudaGraphExec_t executable, cudaGraphNode_t node, const struct cudaHostNodeParams *parameters),
           cuGraphExecHostNodeSetParams(executable, node, (const CUDA_HOST_NODE_PARAMS *)parameters))

RT_FORWARD(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, struct cudaMemsetParams *parameters),
           cuGraphMemsetNodeGetParams(node, (CUDA_MEMSET_NODE_PARAMS *)parameters))
RT_FORWARD(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const struct cudaMemsetParams *parameters),
           cuGraphMemsetNodeSetParams(node, (const CUDA_MEMSET_NODE_PARAMS *)parameters))

/* --- nodes that need the current context --- */

static cudaError_t enter_context(CUcontext *ret_context)
{
    const cudaError_t error = rt_enter();

    return error == cudaSuccess ? rt_error(DRIVER->cuCtxGetCurrent(ret_context)) : error;
}

cudaError_t CUDARTAPI cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                             size_t count, const struct cudaMemsetParams *parameters)
{
    CUcontext context;
    cudaError_t error = enter_context(&context);

    if (error == cudaSuccess)
        error = rt_error(
            DRIVER->cuGraphAddMemsetNode(node, graph, after, count, (const CUDA_MEMSET_NODE_PARAMS *)parameters, context));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       const struct cudaMemsetParams *parameters)
{
    CUcontext context;
    cudaError_t error = enter_context(&context);

    if (error == cudaSuccess)
        error = rt_error(
            DRIVER->cuGraphExecMemsetNodeSetParams(executable, node, (const CUDA_MEMSET_NODE_PARAMS *)parameters, context));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                             size_t count, const struct cudaMemcpy3DParms *parameters)
{
    CUcontext context;
    CUDA_MEMCPY3D copy;
    cudaError_t error = enter_context(&context);

    if (error == cudaSuccess)
        error = rt_memcpy3d(parameters, &copy);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphAddMemcpyNode(node, graph, after, count, &copy, context));
    return rt_leave(error);
}

/* A plain copy is a box of one row. */
static struct cudaMemcpy3DParms one_row(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return (struct cudaMemcpy3DParms){
        .srcPtr = {(void *)from, bytes, bytes, 1}, .dstPtr = {to, bytes, bytes, 1}, .extent = {bytes, 1, 1}, .kind = kind};
}

cudaError_t CUDARTAPI cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                               size_t count, void *to, const void *from, size_t bytes,
                                               enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms parameters = one_row(to, from, bytes, kind);

    return cudaGraphAddMemcpyNode(node, graph, after, count, &parameters);
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       const struct cudaMemcpy3DParms *parameters)
{
    CUcontext context;
    CUDA_MEMCPY3D copy;
    cudaError_t error = enter_context(&context);

    if (error == cudaSuccess)
        error = rt_memcpy3d(parameters, &copy);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphExecMemcpyNodeSetParams(executable, node, &copy, context));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void *to,
                                                         const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms parameters = one_row(to, from, bytes, kind);

    return cudaGraphExecMemcpyNodeSetParams(executable, node, &parameters);
}

/* --- kernel nodes --- */

static cudaError_t describe_kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret_parameters)
{
    CUfunction function;
    cudaError_t error = p ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_launch_handle(p->func, &function);
    if (error != cudaSuccess)
        return error;
    *ret_parameters = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                                .gridDimX = p->gridDim.x,
                                                .gridDimY = p->gridDim.y,
                                                .gridDimZ = p->gridDim.z,
                                                .blockDimX = p->blockDim.x,
                                                .blockDimY = p->blockDim.y,
                                                .blockDimZ = p->blockDim.z,
                                                .sharedMemBytes = p->sharedMemBytes,
                                                .kernelParams = p->kernelParams,
                                                .extra = p->extra};
    return cudaSuccess;
}

cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                             size_t count, const struct cudaKernelNodeParams *parameters)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    cudaError_t error = describe_kernel(parameters, &kernel);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphAddKernelNode(node, graph, after, count, &kernel));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *parameters)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    cudaError_t error = describe_kernel(parameters, &kernel);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphKernelNodeSetParams(node, &kernel));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                       const struct cudaKernelNodeParams *parameters)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    cudaError_t error = describe_kernel(parameters, &kernel);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphExecKernelNodeSetParams(executable, node, &kernel));
    return rt_leave(error);
}

/* --- objects that graphs keep alive --- */

RT_FORWARD(cudaUserObjectCreate,
           (cudaUserObject_t * object, void *pointer, cudaHostFn_t destroy, unsigned int references, unsigned int flags),
           cuUserObjectCreate(object, pointer, destroy, references, flags))
RT_FORWARD(cudaUserObjectRetain, (cudaUserObject_t object, unsigned int count), cuUserObjectRetain(object, count))
RT_FORWARD(cudaUserObjectRelease, (cudaUserObject_t object, unsigned int count), cuUserObjectRelease(object, count))
RT_FORWARD(cudaGraphRetainUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags),
           cuGraphRetainUserObject(graph, object, count, flags))
RT_FORWARD(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned int count),
           cuGraphReleaseUserObject(graph, object, count))
