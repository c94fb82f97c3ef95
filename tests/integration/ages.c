/* ages.c VERSION FLAGS - a program that asks cuGetProcAddress for everything, as one that was compiled for VERSION does, and
 * uses the forms that its calls had then: batch copies, captures, instantiation, synchronising. FLAGS 2 asks for the forms
 * with each thread's own default stream.
 *
 * Tensors are pushed out by a crowd of others before each step, so that a call that goes by unseen meets nothing. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 12, WORDS = 96 << 10, BYTES = 4 * WORDS, PARTS = 3, EXIT_CUDA = 3 };

static int version;
static cuuint64_t flags;
static CUresult (*ask)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static CUresult (*ask_v1)(const char *, void **, int, cuuint64_t); /* all that a driver before 12.0 has */

static void check(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return;
    fprintf(stderr, "%s: error %d\n", what, (int)r);
    exit(EXIT_CUDA);
}

static void *function(const char *name)
{
    void *found = NULL;
    check(ask ? ask(name, &found, version, flags, NULL) : ask_v1(name, &found, version, flags), name);
    return found;
}

/* A call by its name, in the form that these arguments have. */
#define CALL(name, types, ...) check(((CUresult(*) types)function(#name))(__VA_ARGS__), #name)

static CUdeviceptr crowd[PIECES], a, b, last;
static CUstream stream, usual; /* usual: the default stream, or with FLAGS 2 the thread's own, where 0 is captured too */
static uint32_t words[WORDS];

static void start(void)
{
    CUdevice device;
    CUcontext context;
    CALL(cuInit, (unsigned), 0);
    CALL(cuDeviceGet, (CUdevice *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice), &context, device);
    CALL(cuCtxSetCurrent, (CUcontext), context);
    CALL(cuStreamCreate, (CUstream *, unsigned), &stream, CU_STREAM_NON_BLOCKING);
    usual = flags ? NULL : stream;
}

static void synchronize(void)
{
    if (version >= 13000)
        CALL(cuCtxSynchronize, (CUcontext), NULL);
    else
        CALL(cuCtxSynchronize, (void));
}

static uint64_t sum_of(CUdeviceptr p)
{
    uint64_t sum = 0;
    CALL(cuMemcpyDtoH, (void *, CUdeviceptr, size_t), words, p, BYTES);
    for (unsigned i = 0; i < WORDS; i++)
        sum = sum * 31 + words[i];
    return sum;
}

static void fill(CUdeviceptr p, uint32_t seed)
{
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = seed = seed * 1664525 + 1013904223;
    CALL(cuMemcpyHtoD, (CUdeviceptr, const void *, size_t), p, words, BYTES);
}

static void push_out(void)
{
    static unsigned round;
    round++;
    for (unsigned i = 0; i < PIECES; i++)
        CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), crowd[i], round * 100 + i, WORDS, usual);
    synchronize();
}

static void told(const char *what, CUdeviceptr p)
{
    push_out();
    printf("%s: %016llx\n", what, (unsigned long long)sum_of(p));
}

/* ---- what changed from version to version ---- */

/* 12.8 told which copy failed by its eighth parameter; 13.0 has no such parameter, so that the stream comes in its place. */
static void copy_in_a_batch(void)
{
    CUdeviceptr to[PARTS], from[PARTS];
    size_t sizes[PARTS], first = 0, failed = 77;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    for (unsigned i = 0; i < PARTS; i++) {
        to[i] = b + i * (BYTES / PARTS);
        from[i] = a + (PARTS - 1 - i) * (BYTES / PARTS);
        sizes[i] = BYTES / PARTS;
    }
    if (version >= 13000)
        CALL(cuMemcpyBatchAsync,
             (CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, CUstream), to, from,
             sizes, PARTS, &attributes, &first, 1, stream);
    else if (version >= 12080)
        CALL(cuMemcpyBatchAsync,
             (CUdeviceptr *, CUdeviceptr *, size_t *, size_t, CUmemcpyAttributes *, size_t *, size_t, size_t *, CUstream),
             to, from, sizes, PARTS, &attributes, &first, 1, &failed, stream);
    else
        for (unsigned i = 0; i < PARTS; i++)
            CALL(cuMemcpyDtoDAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), to[i], from[i], sizes[i], usual);
    synchronize();
}

static void begin_capture(CUgraph graph)
{
    if (version >= 12030)
        CALL(cuStreamBeginCaptureToGraph,
             (CUstream, CUgraph, const CUgraphNode *, const CUgraphEdgeData *, size_t, CUstreamCaptureMode), usual, graph,
             NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    else if (version >= 10010)
        CALL(cuStreamBeginCapture, (CUstream, CUstreamCaptureMode), usual, CU_STREAM_CAPTURE_MODE_RELAXED);
    else
        CALL(cuStreamBeginCapture, (CUstream), usual);
}

static CUgraphExec instantiate(CUgraph graph)
{
    CUgraphExec exec;
    if (version >= 12000)
        CALL(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long), &exec, graph, 0);
    else
        CALL(cuGraphInstantiate, (CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t), &exec, graph, NULL, NULL, 0);
    return exec;
}

/* What is captured is out of sight when the graph is launched. */
static void copy_in_a_graph(void)
{
    CUgraph graph = NULL, captured;
    CALL(cuGraphCreate, (CUgraph *, unsigned), &graph, 0);
    begin_capture(graph);
    CALL(cuMemcpyDtoDAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), a, b, BYTES / 2, usual);
    CALL(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream), b, 5, WORDS / 3, usual);
    CALL(cuStreamEndCapture, (CUstream, CUgraph *), usual, &captured);
    CUgraphExec exec = instantiate(captured);
    push_out();
    CALL(cuGraphLaunch, (CUgraphExec, CUstream), exec, usual);
    synchronize();
    CALL(cuGraphExecDestroy, (CUgraphExec), exec);
    CALL(cuGraphDestroy, (CUgraph), captured);
    if (captured != graph)
        CALL(cuGraphDestroy, (CUgraph), graph);
}

static void free_and_allocate_in_stream_order(void)
{
    CUdeviceptr other;
    CALL(cuMemAllocAsync, (CUdeviceptr *, size_t, CUstream), &other, BYTES, usual);
    CALL(cuMemcpyDtoDAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), other, a, BYTES, usual);
    CALL(cuMemcpyDtoDAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream), last, other, BYTES, usual);
    CALL(cuMemFreeAsync, (CUdeviceptr, CUstream), other, usual);
    CALL(cuStreamSynchronize, (CUstream), usual);
}

int main(int argc, char **argv)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&ask = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
    *(void **)&ask_v1 = driver ? dlsym(driver, "cuGetProcAddress") : NULL;
    if (argc < 3 || !ask_v1)
        return 2;
    version = atoi(argv[1]);
    flags = (cuuint64_t)atoi(argv[2]);
    start();
    for (unsigned i = 0; i < PIECES; i++)
        CALL(cuMemAlloc, (CUdeviceptr *, size_t), &crowd[i], BYTES);
    CUdeviceptr *const tensors[] = {&a, &b, &last};
    for (unsigned i = 0; i < 3; i++) {
        CALL(cuMemAlloc, (CUdeviceptr *, size_t), tensors[i], BYTES);
        fill(*tensors[i], i);
    }
    push_out();
    copy_in_a_batch();
    told("batch", b);
    push_out();
    if (version >= 11020)
        free_and_allocate_in_stream_order();
    told("stream order", last);
    copy_in_a_graph();
    told("graph, copied", a);
    told("graph, set", b);
    for (unsigned i = 0; i < 3; i++)
        CALL(cuMemFree, (CUdeviceptr), *tensors[i]);
    for (unsigned i = 0; i < PIECES; i++)
        CALL(cuMemFree, (CUdeviceptr), crowd[i]);
    CALL(cuStreamDestroy, (CUstream), stream);
    return 0;
}
