/* hooks_graph_memory.c - graphs that allocate: their nodes, and the calls by which the driver reserves memory for them or
 * gives it back. */
#include "devices.h"
#include "graph_memory.h"
#include "graph_pins.h"
#include "graph_writes.h"
#include "hooks.h"
#include "outside.h"

CUresult spw_on_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
                                       size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
    struct spw_graph_promise p;
    if (spw_graph_memory_promise_node(&p, nodeParams) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = SPW_DRIVER(cuGraphAddMemAllocNode, (phGraphNode, hGraph, dependencies, numDependencies, nodeParams));
    spw_graph_memory_answered(&p, hGraph, result == CUDA_SUCCESS);
    if (result == CUDA_SUCCESS)
        spw_outside_lies_at(nodeParams->dptr, nodeParams->bytesize);
    return result;
}

static CUresult instantiated(CUgraph graph, struct spw_lasting *held, const CUgraphExec *exec, CUresult result)
{
    spw_graph_pins_end(held, result == CUDA_SUCCESS ? *exec : NULL, true);
    spw_graph_memory_instance(graph, result == CUDA_SUCCESS ? *exec : NULL);
    if (result == CUDA_SUCCESS)
        spw_graph_writes_made(*exec, graph);
    return result;
}

#define INSTANTIATE(symbol, params, args) \
    CUresult spw_on_##symbol params \
    { \
        struct spw_lasting held; \
        if (spw_graph_pins_begin(&held, hGraph) < 0) \
            return CUDA_ERROR_OUT_OF_MEMORY; \
        if (spw_graph_memory_before_instance(hGraph) < 0) \
            return spw_graph_pins_end(&held, NULL, false), CUDA_ERROR_OUT_OF_MEMORY; \
        return instantiated(hGraph, &held, phGraphExec, SPW_DRIVER(symbol, args)); \
    }

INSTANTIATE(cuGraphInstantiate,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize),
            (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
INSTANTIATE(cuGraphInstantiate_v2,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer, size_t bufferSize),
            (phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize))
INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec * phGraphExec, CUgraph hGraph, unsigned long long flags),
            (phGraphExec, hGraph, flags))
INSTANTIATE(cuGraphInstantiateWithParams,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
            (phGraphExec, hGraph, instantiateParams))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz,
            (CUgraphExec * phGraphExec, CUgraph hGraph, CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams),
            (phGraphExec, hGraph, instantiateParams))

static CUresult uploaded(CUgraphExec exec, CUresult result)
{
    if (result == CUDA_SUCCESS)
        spw_graph_memory_launched(exec);
    return result;
}

/* The stream does not matter. */
#define UPLOAD(symbol) \
    CUresult spw_on_##symbol(CUgraphExec hGraphExec, CUstream hStream) \
    { \
        return uploaded(hGraphExec, SPW_DRIVER(symbol, (hGraphExec, hStream))); \
    }

UPLOAD(cuGraphUpload)
UPLOAD(cuGraphUpload_ptsz)

static CUresult settled(CUresult result)
{
    spw_graph_memory_settle();
    return result;
}

CUresult spw_on_cuGraphDestroy(CUgraph hGraph)
{
    spw_graph_memory_forget(hGraph);
    return settled(SPW_DRIVER(cuGraphDestroy, (hGraph)));
}

CUresult spw_on_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
    spw_graph_memory_forget(hGraphExec);
    spw_graph_writes_forget(hGraphExec);
    spw_graph_pins_forget(hGraphExec);
    return settled(SPW_DRIVER(cuGraphExecDestroy, (hGraphExec)));
}

CUresult spw_on_cuDeviceGraphMemTrim(CUdevice device)
{
    return settled(SPW_DRIVER(cuDeviceGraphMemTrim, (device)));
}
