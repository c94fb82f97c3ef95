/* graph.cu - programs with graphs that are told other tensors, are updated, allocate, and nest. */
#include "odd.h"

static CUgraphExec made_of(CUgraph graph)
{
    CUgraphExec exec;
    DO(cuGraphInstantiate(&exec, graph, 0));
    return exec;
}

static CUgraph captured(CUstream s, const std::function<void()> &what)
{
    CUgraph graph;
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    what();
    DO(cuStreamEndCapture(s, &graph));
    return graph;
}

static std::vector<CUgraphNode> nodes_of(CUgraph graph)
{
    size_t count = 0;
    DO(cuGraphGetNodes(graph, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    DO(cuGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
}

/* A graph of a layer is captured once, and told the tensors of each step's layer, node by node. */
static void run_told_anew()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *const a = lasting(t.n, 1), *const b = lasting(t.n, 2);
    CUgraph graph = captured(s, [&] { mix(s, a, t.input, b, t.n); });
    CUgraphExec exec = made_of(graph);
    CUgraphNode node = nodes_of(graph)[0];
    CUDA_KERNEL_NODE_PARAMS params;
    DO(cuGraphKernelNodeGetParams(node, &params));
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 != 2)
                return x;
            word *y = t.make(t.n), *w = t.weights[(size_t)l];
            size_t n = t.n;
            void *args[] = {&x, &n, &w, &n, &y, &n};
            params.kernelParams = args;
            DO(cuGraphExecKernelNodeSetParams(exec, node, &params));
            DO(cuGraphLaunch(exec, s));
            t.keep(y, t.n);
            return y;
        });
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
}

/* One executable graph, updated in each step with what was captured anew. */
static void run_updated()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    CUgraphExec exec = nullptr;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l != 6 && l != 11)
                return x;
            word *y = t.make(t.n), *z = t.make(t.n);
            CUgraph graph = captured(s, [&] {
                mix(s, x, t.weights[(size_t)l], y, t.n);
                DO(cuMemsetD32Async(at(y) + 64, (unsigned)step, 5, s));
                DO(cuMemcpyDtoDAsync(at(z), at(y), t.n * sizeof(word), s));
                fold(s, z, x, t.n, t.n);
            });
            CUgraphExecUpdateResultInfo info;
            if (!exec || cuGraphExecUpdate(exec, graph, &info) != CUDA_SUCCESS) {
                if (exec)
                    DO(cuGraphExecDestroy(exec));
                exec = made_of(graph);
            }
            DO(cuGraphDestroy(graph));
            DO(cuGraphLaunch(exec, s));
            t.keep(y, t.n);
            t.keep(z, t.n);
            return z;
        });
    DO(cuStreamSynchronize(s));
    DO(cuGraphExecDestroy(exec));
}

/* A graph that allocates what it works on, beside a child graph. */
static void run_allocating()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *const in = lasting(t.n, 1), *const out = lasting(t.n, 2);
    CUgraph child = captured(s, [&] { fold(s, out, in, t.n, t.n); });
    CUgraph graph = captured(s, [&] {
        CUdeviceptr p;
        DO(cuMemAllocAsync(&p, t.n * sizeof(word), s));
        mix(s, in, out, words_at(p), t.n);
        mix(s, words_at(p), in, out, t.n);
        DO(cuMemFreeAsync(p, s));
    });
    CUgraphNode last = nodes_of(graph).back(), added;
    DO(cuGraphAddChildGraphNode(&added, graph, &last, 1, child));
    CUgraphExec exec = made_of(graph);
    for (int step = 1; step <= told.steps; step++) {
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 8 != 3)
                return x;
            DO(cuMemcpyDtoDAsync(at(in), at(x), t.n * sizeof(word), s));
            DO(cuGraphLaunch(exec, s));
            word *y = t.make(t.n);
            mix(s, x, out, y, t.n);
            t.keep(y, t.n);
            return y;
        });
        if (step % 10 == 0) {
            CUdevice device;
            DO(cuCtxGetDevice(&device));
            DO(cuDeviceGraphMemTrim(device));
        }
    }
    DO(cuStreamSynchronize(s));
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
    DO(cuGraphDestroy(child));
}

/* The graphs of a whole step, in and out by lasting buffers, captured at a late step; eager before and between. */
static void run_whole_step()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> own;
    CUgraphExec exec = nullptr;
    CUgraph graph = nullptr;
    for (int step = 1; step <= told.steps; step++) {
        if (step == told.late) { /* what the graph uses lasts from here on */
            const struct memory mine = {[&](size_t n, CUstream) {
                                            own.push_back(plain_memory.make(n, nullptr));
                                            return own.back();
                                        },
                                        [](word *, size_t, CUstream) {}};
            std::vector<word *> places;
            const size_t needed = 6;
            for (size_t i = 0; i < needed; i++)
                places.push_back(mine.make(t.n, s));
            graph = captured(s, [&] {
                mix(s, t.input, t.n, the_clock, 2, places[0], t.n);
                for (size_t i = 1; i < needed; i++)
                    mix(s, places[i - 1], t.weights[i], places[i], t.n);
                for (size_t i = needed - 1; i > 0; i--)
                    fold(s, t.weights[i], places[i], t.n, t.n);
            });
            exec = made_of(graph);
        }
        if (exec && step % 2) {
            DO(cuGraphLaunch(exec, s));
            say(s, "graph", step, t.weights[1], t.n);
        }
        t.step(step);
    }
    DO(cuStreamSynchronize(s));
    if (exec) {
        DO(cuGraphExecDestroy(exec));
        DO(cuGraphDestroy(graph));
    }
    for (word *p : own)
        DO(cuMemFree(at(p)));
}

/* Made by hand: nodes of all kinds, of which some are switched off in turn and told other values. */
static void run_by_hand()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *const a = lasting(t.n, 1), *const b = lasting(t.n, 2);
    CUcontext context;
    DO(cuCtxGetCurrent(&context));
    CUgraph graph;
    CUgraphNode set, copy, inner;
    DO(cuGraphCreate(&graph, 0));
    CUDA_MEMSET_NODE_PARAMS m = {};
    m.dst = at(a) + 256, m.elementSize = 4, m.width = 1000, m.height = 1, m.value = 1;
    DO(cuGraphAddMemsetNode(&set, graph, nullptr, 0, &m, context));
    CUDA_MEMCPY3D c = {};
    c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = at(a), c.dstDevice = at(b), c.WidthInBytes = t.n * sizeof(word), c.Height = c.Depth = 1;
    DO(cuGraphAddMemcpyNode(&copy, graph, &set, 1, &c, context));
    CUgraph child = captured(s, [&] { fold(s, b, t.input, t.n, t.n); });
    DO(cuGraphAddChildGraphNode(&inner, graph, &copy, 1, child));
    CUgraphExec exec = made_of(graph);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 8 != 5)
                return x;
            m.value = (unsigned)(step + l);
            DO(cuGraphExecMemsetNodeSetParams(exec, set, &m, context));
            c.srcDevice = step >= told.late ? at(x) : at(a); /* the step's own tensor, late */
            DO(cuGraphExecMemcpyNodeSetParams(exec, copy, &c, context));
            DO(cuGraphLaunch(exec, s));
            word *y = t.make(t.n);
            mix(s, b, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
    DO(cuStreamSynchronize(s));
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
    DO(cuGraphDestroy(child));
}

/* Uploads within a graph, out of page-locked memory that the host fills before each launch. */
static void run_uploading()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *host;
    DO(cuMemHostAlloc((void **)&host, t.n * sizeof(word), 0));
    word *const in = lasting(t.n, 1), *const out = lasting(t.n, 2);
    CUgraph graph = captured(s, [&] {
        DO(cuMemcpyHtoDAsync(at(in), host, t.n * sizeof(word), s));
        fold(s, out, in, t.n, t.n);
    });
    CUgraphExec exec = made_of(graph);
    for (int step = 1; step <= told.steps; step++) {
        for (size_t i = 0; i < t.n; i++)
            host[i] = (word)(i * 77 + (size_t)step);
        DO(cuGraphLaunch(exec, s));
        t.step(step, [&](int l, word *x) -> word * {
            if (l != 4)
                return x;
            word *y = t.make(t.n);
            mix(s, in, out, y, t.n);
            t.keep(y, t.n);
            return y;
        });
    }
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
    DO(cuMemFreeHost(host));
}

const std::vector<struct program> graph_programs = {
    {"told-anew", run_told_anew},   {"updated", run_updated}, {"allocating", run_allocating},
    {"whole-step", run_whole_step}, {"by-hand", run_by_hand}, {"uploading", run_uploading},
};
