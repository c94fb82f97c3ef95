/* relaunched.c - graphs that are launched again after what they copy was freed, and an allocation has got the same address:
 * the program compares addresses, as XLA does, and makes a graph anew only where they are others. Between the two a crowd
 * is used, for which the new allocation would have to make room. */
#include "driver.h"

enum { PIECE = 256 << 10, SMALL = 8 << 10, CROWD = 24, ROUNDS = 3 };

static CUstream stream;
static CUdeviceptr taken; /* what graphs copy to */
static struct crowd crowd;
static unsigned relaunched;

/* Copies `bytes` bytes from there. */
static CUgraph graph_of(CUdeviceptr from, size_t bytes)
{
    CUgraph graph;
    CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemcpyDtoDAsync(taken, from, bytes, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    return graph;
}

static CUgraphExec made_of(CUgraph graph)
{
    CUgraphExec exec;
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    CHECK(cuGraphDestroy(graph));
    return exec;
}

static CUgraphExec copying(CUdeviceptr from, size_t bytes)
{
    return made_of(graph_of(from, bytes));
}

static void launch(CUgraphExec exec, size_t bytes)
{
    CHECK(cuCtxSynchronize());
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("taken: %016llx\n", (unsigned long long)device_sum(taken, bytes));
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a;
    CHECK(cuMemAllocAsync(&a, bytes, stream));
    CHECK(cuStreamSynchronize(stream));
    return a;
}

static void give_back(CUdeviceptr a)
{
    CHECK(cuMemFreeAsync(a, stream));
}

/* The graph copies [was, was + bytes), which lay in what is freed; [now, now + room) is the program's instead. */
static void launch_again(CUgraphExec exec, CUdeviceptr was, CUdeviceptr now, size_t room, size_t bytes, uint32_t seed)
{
    fill_device(now, room, seed);
    crowd_press(&crowd);
    if (was < now || was + bytes > now + room) {
        CHECK(cuGraphExecDestroy(exec));
        exec = copying(now + room - bytes, bytes);
    } else {
        relaunched++;
    }
    launch(exec, bytes);
    CHECK(cuGraphExecDestroy(exec));
}

/* The same size again. `other` is launched while nothing lies there. */
static void same_again(size_t bytes, CUgraphExec other, uint32_t seed)
{
    CUdeviceptr was = allocate(bytes);
    fill_device(was, bytes, seed);
    CUgraphExec exec = copying(was, bytes);
    launch(exec, bytes);
    give_back(was);
    launch(other, PIECE);
    CUdeviceptr now = allocate(bytes);
    launch_again(exec, was, now, bytes, bytes, seed + 1);
    give_back(now);
}

/* One allocation in the place of two, of which the graph copies the one at the higher address. */
static void wider_again(uint32_t seed)
{
    CUdeviceptr a = allocate(PIECE), b = allocate(PIECE), was = a < b ? b : a;
    fill_device(was, PIECE, seed);
    CUgraphExec exec = copying(was, PIECE);
    launch(exec, PIECE);
    give_back(a);
    give_back(b);
    CUdeviceptr now = allocate(2 * (size_t)PIECE);
    launch_again(exec, was, now, 2 * (size_t)PIECE, PIECE, seed + 1);
    give_back(now);
}

/* The graph is made executable when something else lies there than when it was captured. */
static void made_later(uint32_t seed)
{
    CUdeviceptr was = allocate(PIECE);
    CUgraph graph = graph_of(was, PIECE);
    give_back(was);
    CUdeviceptr now = allocate(PIECE);
    fill_device(now, PIECE, seed);
    crowd_press(&crowd);
    relaunched += was == now;
    if (was != now) {
        CHECK(cuGraphDestroy(graph));
        graph = graph_of(now, PIECE);
    }
    CUgraphExec exec = made_of(graph);
    launch(exec, PIECE);
    CHECK(cuGraphExecDestroy(exec));
    give_back(now);
}

static void make_copy(CUgraph graph, CUdeviceptr from, CUgraphNode *ret)
{
    const CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = taken,
                                .WidthInBytes = PIECE,
                                .Height = 1,
                                .Depth = 1};
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphAddMemcpyNode(ret, graph, NULL, 0, &copy, context));
}

/* An executable graph of something else gets the address: with another graph, or by its node. */
static void updated(CUdeviceptr lasting, bool by_node, uint32_t seed)
{
    CUgraph graph, next;
    CUgraphNode node, ignored;
    CUgraphExec exec;
    CUgraphExecUpdateResultInfo info;
    CUDA_MEMCPY3D copy;
    CUcontext context;
    CUdeviceptr was = allocate(PIECE);
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphCreate(&graph, 0));
    make_copy(graph, lasting, &node);
    CHECK(cuGraphInstantiate(&exec, graph, 0));
    if (by_node) {
        CHECK(cuGraphMemcpyNodeGetParams(node, &copy));
        copy.srcDevice = was;
        CHECK(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, context));
    } else {
        CHECK(cuGraphCreate(&next, 0));
        make_copy(next, was, &ignored);
        CHECK(cuGraphExecUpdate(exec, next, &info));
        CHECK(cuGraphDestroy(next));
    }
    CHECK(cuGraphDestroy(graph));
    give_back(was);
    CUdeviceptr now = allocate(PIECE);
    launch_again(exec, was, now, PIECE, PIECE, seed);
    give_back(now);
}

int main(void)
{
    (void)start();
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemAlloc(&taken, PIECE));
    CUdeviceptr lasting = allocate(PIECE);
    fill_device(lasting, PIECE, 1);
    crowd_make(&crowd, CROWD, PIECE);
    crowd_press(&crowd);
    CUgraphExec other = copying(lasting, PIECE);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        same_again(PIECE, other, 10 + i);
        same_again(SMALL, other, 20 + i);
        wider_again(30 + i);
        made_later(40 + i);
        updated(lasting, false, 50 + i);
        updated(lasting, true, 60 + i);
    }
    CHECK(cuGraphExecDestroy(other));
    crowd_free(&crowd);
    give_back(lasting);
    CHECK(cuMemFree(taken));
    CHECK(cuStreamDestroy(stream));
    fprintf(stderr, "launched again as they were: %u\n", relaunched);
    return 0;
}
