/* graph-memory.c - graphs that allocate: what they take counts, and is there again when they have gone and the driver has
 * given it back.
 *
 *     graph-memory [--nodes]      captured, or made node by node */
#include <string.h>

#include "driver.h"

enum { PIECE = 256 << 10, ALLOCATIONS = 6, CROWD = 16, ROUNDS = 3, GRAPHS = 4 };

static CUdevice device;
static CUstream stream;
static CUdeviceptr from, to;

static CUgraphExec instance(CUgraph graph)
{
    CUgraphExec exec;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

/* A chain of copies through memory of the graph, all of it there at once. */
static CUgraphExec capture_chain(void)
{
    CUgraph graph;
    CUdeviceptr p[ALLOCATIONS], last = from;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (int i = 0; i < ALLOCATIONS; i++) {
        CHECK(cuMemAllocAsync(&p[i], PIECE, stream));
        CHECK(cuMemcpyDtoDAsync(p[i], last, PIECE, stream));
        last = p[i];
    }
    CHECK(cuMemcpyDtoDAsync(to, last, PIECE, stream));
    for (int i = 0; i < ALLOCATIONS; i++)
        CHECK(cuMemFreeAsync(p[i], stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    return instance(graph);
}

/* The same, of nodes that are made one by one; the odd ones by the call for all kinds. */
static CUgraphExec make_chain(void)
{
    CUgraph graph;
    CUgraphNode node = NULL, made[ALLOCATIONS];
    CUdeviceptr p[ALLOCATIONS];
    CUcontext context;
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphCreate(&graph, 0));
    for (int i = 0; i <= ALLOCATIONS; i++) {
        CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                              .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                              .WidthInBytes = PIECE,
                              .Height = 1,
                              .Depth = 1};
        if (i < ALLOCATIONS && i % 2 == 0) {
            CUDA_MEM_ALLOC_NODE_PARAMS params = {.poolProps = properties, .bytesize = PIECE};
            CHECK(cuGraphAddMemAllocNode(&made[i], graph, node ? &node : NULL, node != NULL, &params));
            p[i] = params.dptr;
        } else if (i < ALLOCATIONS) {
            CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
                                        .alloc = {.poolProps = properties, .bytesize = PIECE}};
            CHECK(cuGraphAddNode(&made[i], graph, &node, NULL, 1, &params));
            p[i] = params.alloc.dptr;
        }
        copy.srcDevice = i ? p[i - 1] : from;
        copy.dstDevice = i < ALLOCATIONS ? p[i] : to;
        CHECK(cuGraphAddMemcpyNode(&node, graph, i < ALLOCATIONS ? &made[i] : &node, 1, &copy, context));
    }
    for (int i = 0; i < ALLOCATIONS; i++)
        CHECK(cuGraphAddMemFreeNode(&made[i], graph, &node, 1, p[i]));
    return instance(graph);
}

static void launch(CUgraphExec exec, unsigned seed)
{
    fill_device(from, PIECE, seed);
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("to: %016llx\n", (unsigned long long)device_sum(to, PIECE));
}

static uint64_t reserved(void)
{
    cuuint64_t bytes;
    CHECK(cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes));
    return bytes;
}

int main(int argc, char **argv)
{
    struct crowd crowd;
    bool nodes = argc > 1 && strcmp(argv[1], "--nodes") == 0;
    device = start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&from, PIECE));
    CHECK(cuMemAlloc(&to, PIECE));
    crowd_make(&crowd, CROWD, PIECE);
    crowd_press(&crowd);
    for (int g = 0; g < GRAPHS; g++) { /* one after the other: no more than one is ever there */
        CUgraphExec exec = nodes ? make_chain() : capture_chain();
        for (unsigned i = 0; i < ROUNDS; i++) {
            launch(exec, i);
            crowd_press(&crowd);
        }
        CHECK(cuGraphExecDestroy(exec));
        CHECK(cuDeviceGraphMemTrim(device));
        truth("nothing is reserved for graphs", reserved() == 0);
    }
    crowd_free(&crowd);
    CHECK(cuMemFree(from));
    CHECK(cuMemFree(to));
    CHECK(cuStreamDestroy(stream));
    return 0;
}
