/* graph_fixture.c - what the tests of graphs share. */
#include "graph_fixture.h"

#include <string.h>

CUdeviceptr memory;
CUstream one, two;
CUgraph graph;
CUgraphExec exec;

void graph_start(void)
{
    device_start();
    OK(cuMemAlloc(&memory, BYTES));
    OK(cuMemsetD8(memory, 0, BYTES));
    one = new_stream();
    two = new_stream();
    graph = new_graph();
    OK(cuCtxSynchronize());
}

CUgraph new_graph(void)
{
    CUgraph g;
    OK(cuGraphCreate(&g, 0));
    return g;
}

static CUDA_KERNEL_NODE_PARAMS kernel_params(void **params)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = add,
                                     .gridDimX = 1,
                                     .gridDimY = 1,
                                     .gridDimZ = 1,
                                     .blockDimX = 1,
                                     .blockDimY = 1,
                                     .blockDimZ = 1,
                                     .kernelParams = params};
}

CUgraphNode new_add(CUgraph in, const CUgraphNode *after, size_t count, float value)
{
    CUgraphNode node;
    int elements = COUNT;
    void *params[] = {&memory, &elements, &value};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(params);
    OK(cuGraphAddKernelNode(&node, in, after, count, &kernel));
    return node;
}

CUgraphNode new_empty(CUgraph in, const CUgraphNode *after, size_t count)
{
    CUgraphNode node;
    OK(cuGraphAddEmptyNode(&node, in, after, count));
    return node;
}

CUgraphNode new_set(CUgraph in, const CUgraphNode *after, size_t count, float value)
{
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS params = {.dst = memory, .elementSize = 4, .width = COUNT, .height = 1};
    memcpy(&params.value, &value, sizeof value);
    OK(cuGraphAddMemsetNode(&node, in, after, count, &params, context));
    return node;
}

CUresult add_edge(CUgraph in, CUgraphNode from, CUgraphNode to)
{
    return cuGraphAddDependencies(in, &from, &to, NULL, 1);
}

CUresult exec_set_value(CUgraphExec of, CUgraphNode node, float value)
{
    int elements = COUNT;
    void *params[] = {&memory, &elements, &value};
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(params);
    return cuGraphExecKernelNodeSetParams(of, node, &kernel);
}

void instantiate(void)
{
    OK(cuGraphInstantiate(&exec, graph, 0));
}

void run(int times)
{
    for (int i = 0; i < times; i++)
        OK(cuGraphLaunch(exec, one));
    OK(cuStreamSynchronize(one));
}

float first(void)
{
    float value;
    OK(cuMemcpyDtoH(&value, memory, sizeof value));
    return value;
}
