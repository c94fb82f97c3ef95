/* graphs.c - graphs, built node by node or by capture. The structures are the same in both interfaces, except for those of
 * kernels and copies. */
#include "runtime.h"
#include <string.h>

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
/* The device has no conditional nodes, and its driver says so; programs that never ask want the name nevertheless. */
RT_FORWARD(cudaGraphConditionalHandleCreate,
           (cudaGraphConditionalHandle * handle, cudaGraph_t graph, unsigned int value, unsigned int flags),
           cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, graph, NULL, value, flags))

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

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *parameters)
{
    CUDA_MEMCPY3D copy;
    cudaError_t error = rt_enter();

    if (error == cudaSuccess)
        error = rt_memcpy3d(parameters, &copy);
    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphMemcpyNodeSetParams(node, &copy));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t bytes,
                                                     enum cudaMemcpyKind kind)
{
    const struct cudaMemcpy3DParms parameters = one_row(to, from, bytes, kind);

    return cudaGraphMemcpyNodeSetParams(node, &parameters);
}

/* The kind that goes with the two sides of a driver's copy. */
static enum cudaMemcpyKind kind_of(CUmemorytype from, CUmemorytype to)
{
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

cudaError_t CUDARTAPI cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *parameters)
{
    CUDA_MEMCPY3D copy = {0};
    cudaError_t error = parameters ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphMemcpyNodeGetParams(node, &copy));
    if (error == cudaSuccess && (copy.srcArray || copy.dstArray))
        error = cudaErrorNotSupported;
    if (error != cudaSuccess)
        return rt_leave(error);
    void *from = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? (void *)copy.srcHost : (void *)copy.srcDevice;
    void *to = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? copy.dstHost : (void *)copy.dstDevice;
    *parameters = (struct cudaMemcpy3DParms){.srcPos = {copy.srcXInBytes, copy.srcY, copy.srcZ},
                                             .srcPtr = {from, copy.srcPitch, copy.WidthInBytes, copy.srcHeight},
                                             .dstPos = {copy.dstXInBytes, copy.dstY, copy.dstZ},
                                             .dstPtr = {to, copy.dstPitch, copy.WidthInBytes, copy.dstHeight},
                                             .extent = {copy.WidthInBytes, copy.Height, copy.Depth},
                                             .kind = kind_of(copy.srcMemoryType, copy.dstMemoryType)};
    return cudaSuccess;
}

/* Each form of a copy node that exists between two addresses exists with a symbol on either side. */
#define WITH_SYMBOL(name, first_parameters, call) \
    cudaError_t CUDARTAPI name##ToSymbol(first_parameters, const void *symbol, const void *from, size_t bytes, \
                                         size_t offset, enum cudaMemcpyKind kind) \
    { \
        void *to; \
        cudaError_t error = rt_enter(); \
        if (error == cudaSuccess) \
            error = rt_symbol_part(symbol, offset, bytes, &to); \
        return error == cudaSuccess ? call : rt_leave(error); \
    } \
    cudaError_t CUDARTAPI name##FromSymbol(first_parameters, void *to, const void *symbol, size_t bytes, size_t offset, \
                                           enum cudaMemcpyKind kind) \
    { \
        void *from; \
        cudaError_t error = rt_enter(); \
        if (error == cudaSuccess) \
            error = rt_symbol_part(symbol, offset, bytes, &from); \
        return error == cudaSuccess ? call : rt_leave(error); \
    }
#define COMMA ,
WITH_SYMBOL(cudaGraphAddMemcpyNode,
            cudaGraphNode_t *node COMMA cudaGraph_t graph COMMA const cudaGraphNode_t *after COMMA size_t count,
            cudaGraphAddMemcpyNode1D(node, graph, after, count, to, from, bytes, kind))
WITH_SYMBOL(cudaGraphMemcpyNodeSetParams, cudaGraphNode_t node, cudaGraphMemcpyNodeSetParams1D(node, to, from, bytes, kind))
WITH_SYMBOL(cudaGraphExecMemcpyNodeSetParams, cudaGraphExec_t executable COMMA cudaGraphNode_t node,
            cudaGraphExecMemcpyNodeSetParams1D(executable, node, to, from, bytes, kind))

/* --- kernel nodes --- */

static cudaError_t describe_kernel(const struct cudaKernelNodeParams *p, CUDA_KERNEL_NODE_PARAMS *ret_parameters)
{
    CUfunction function = NULL;
    CUkernel kernel = NULL;
    cudaError_t error = p ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_launches_functions() ? rt_launch_handle(p->func, &function) : rt_kernel(p->func, &kernel);
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
                                                .extra = p->extra,
                                                .kern = kernel};
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

cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *parameters)
{
    CUDA_KERNEL_NODE_PARAMS kernel = {0};
    cudaError_t error = parameters ? rt_enter() : cudaErrorInvalidValue;

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphKernelNodeGetParams(node, &kernel));
    if (error == cudaSuccess)
        *parameters = (struct cudaKernelNodeParams){
            .func = (void *)(kernel.kern ? rt_host_function(kernel.kern) : rt_host_function((CUkernel)kernel.func)),
            .gridDim = {kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
            .blockDim = {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
            .sharedMemBytes = kernel.sharedMemBytes,
            .kernelParams = kernel.kernelParams,
            .extra = kernel.extra};
    return rt_leave(error);
}

RT_FORWARD(cudaGraphKernelNodeGetAttribute,
           (cudaGraphNode_t node, cudaKernelNodeAttrID attribute, cudaKernelNodeAttrValue *value),
           cuGraphKernelNodeGetAttribute(node, (CUkernelNodeAttrID)attribute, (CUkernelNodeAttrValue *)value))
RT_FORWARD(cudaGraphKernelNodeSetAttribute,
           (cudaGraphNode_t node, cudaKernelNodeAttrID attribute, const cudaKernelNodeAttrValue *value),
           cuGraphKernelNodeSetAttribute(node, (CUkernelNodeAttrID)attribute, (const CUkernelNodeAttrValue *)value))
RT_FORWARD(cudaGraphKernelNodeCopyAttributes, (cudaGraphNode_t to, cudaGraphNode_t from),
           cuGraphKernelNodeCopyAttributes(to, from))

/* --- events, children, memory --- */

RT_FORWARD(cudaGraphEventRecordNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
           cuGraphEventRecordNodeGetEvent(node, event))
RT_FORWARD(cudaGraphEventRecordNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
           cuGraphEventRecordNodeSetEvent(node, event))
RT_FORWARD(cudaGraphEventWaitNodeGetEvent, (cudaGraphNode_t node, cudaEvent_t *event),
           cuGraphEventWaitNodeGetEvent(node, event))
RT_FORWARD(cudaGraphEventWaitNodeSetEvent, (cudaGraphNode_t node, cudaEvent_t event),
           cuGraphEventWaitNodeSetEvent(node, event))
RT_FORWARD(cudaGraphExecEventRecordNodeSetEvent, (cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
           cuGraphExecEventRecordNodeSetEvent(executable, node, event))
RT_FORWARD(cudaGraphExecEventWaitNodeSetEvent, (cudaGraphExec_t executable, cudaGraphNode_t node, cudaEvent_t event),
           cuGraphExecEventWaitNodeSetEvent(executable, node, event))
RT_FORWARD(cudaGraphExecChildGraphNodeSetParams, (cudaGraphExec_t executable, cudaGraphNode_t node, cudaGraph_t child),
           cuGraphExecChildGraphNodeSetParams(executable, node, child))
RT_FORWARD(cudaGraphMemAllocNodeGetParams, (cudaGraphNode_t node, struct cudaMemAllocNodeParams *parameters),
           cuGraphMemAllocNodeGetParams(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)parameters))
RT_FORWARD(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void *ret_address),
           cuGraphMemFreeNodeGetParams(node, (CUdeviceptr *)ret_address))

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

/* --- nodes of any type through one structure; those of kernels, copies and sets differ between the interfaces --- */

static cudaError_t describe_node(const struct cudaGraphNodeParams *p, CUgraphNodeParams *ret_parameters)
{
    CUcontext context;
    cudaError_t error = p ? enter_context(&context) : cudaErrorInvalidValue;

    _Static_assert(sizeof *p == sizeof *ret_parameters, "one size in both interfaces");
    if (error != cudaSuccess)
        return error;
    memcpy(ret_parameters, p, sizeof *ret_parameters);
    if (p->type == cudaGraphNodeTypeKernel) {
        const struct cudaKernelNodeParams parameters = {p->kernel.func,           p->kernel.gridDim,      p->kernel.blockDim,
                                                        p->kernel.sharedMemBytes, p->kernel.kernelParams, p->kernel.extra};
        CUDA_KERNEL_NODE_PARAMS kernel = {0};
        error = describe_kernel(&parameters, &kernel);
        memcpy(&ret_parameters->kernel, &kernel, sizeof kernel);
    } else if (p->type == cudaGraphNodeTypeMemcpy) {
        ret_parameters->memcpy = (CUDA_MEMCPY_NODE_PARAMS){.flags = p->memcpy.flags, .copyCtx = context};
        error = rt_memcpy3d(&p->memcpy.copyParams, &ret_parameters->memcpy.copyParams);
    } else if (p->type == cudaGraphNodeTypeMemset) {
        ret_parameters->memset.ctx = context;
    }
    return error;
}

/* What the driver fills in - addresses, graphs - goes back to the program. */
static void return_node(const CUgraphNodeParams *from, struct cudaGraphNodeParams *to)
{
    if (to->type != cudaGraphNodeTypeKernel && to->type != cudaGraphNodeTypeMemcpy && to->type != cudaGraphNodeTypeMemset)
        memcpy(to, from, sizeof *to);
}

cudaError_t CUDARTAPI cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                       const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams driver_parameters;
    cudaError_t error = describe_node(parameters, &driver_parameters);

    if (error == cudaSuccess)
        error =
            rt_error(DRIVER->cuGraphAddNode(node, graph, after, (const CUgraphEdgeData *)edges, count, &driver_parameters));
    if (error == cudaSuccess)
        return_node(&driver_parameters, parameters);
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams driver_parameters;
    cudaError_t error = describe_node(parameters, &driver_parameters);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphNodeSetParams(node, &driver_parameters));
    return rt_leave(error);
}

cudaError_t CUDARTAPI cudaGraphExecNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                                 struct cudaGraphNodeParams *parameters)
{
    CUgraphNodeParams driver_parameters;
    cudaError_t error = describe_node(parameters, &driver_parameters);

    if (error == cudaSuccess)
        error = rt_error(DRIVER->cuGraphExecNodeSetParams(executable, node, &driver_parameters));
    return rt_leave(error);
}
