/* calls.cu - programs that order, launch and load by calls that few use: memory operations of streams, events within graphs,
 * clones, green contexts, attributes, modules that come and go, a second device. */
#include "odd.h"
#include "../../simgpu/image.h"
#include <thread>

static CUcontext here()
{
    CUcontext c;
    DO(cuCtxGetCurrent(&c));
    return c;
}

/* Batches of writes and waits, of 32 and 64 bits, in one call. */
static void run_memory_operations()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    CUdeviceptr flags;
    DO(cuMemAlloc(&flags, 64));
    DO(cuMemsetD32(flags, 0, 16));
    DO(cuCtxSynchronize());
    cuuint64_t turn = 0;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 != 2)
                return x;
            CUstreamBatchMemOpParams op[2] = {}, wait[2] = {};
            turn++;
            op[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
            op[0].writeValue.address = flags, op[0].writeValue.value = (cuuint32_t)turn;
            op[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            op[1].writeValue.address = flags + 8, op[1].writeValue.value64 = turn;
            wait[0].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
            wait[0].waitValue.address = flags, wait[0].waitValue.value = (cuuint32_t)turn;
            wait[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
            wait[1].waitValue.address = flags + 8, wait[1].waitValue.value64 = turn;
            wait[0].waitValue.flags = wait[1].waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
            word *y = t.make(t.n), *z = t.make(t.n);
            DO(cuStreamBatchMemOp(s, 2, op, 0));
            DO(cuStreamBatchMemOp(side, 2, wait, 0));
            order(s, side);
            mix(side, x, t.input, y, t.n);
            order(side, s);
            mix(s, y, x, z, t.n);
            t.keep(y, t.n);
            t.keep(z, t.n);
            return z;
        });
    DO(cuStreamSynchronize(side));
    DO(cuMemFree(flags));
}

/* A graph of two branches, captured from two streams that fork and join, cloned, with a node switched off in turn. */
static void run_branches()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    word *const a = lasting(t.n, 1), *const b = lasting(t.n, 2), *const c = lasting(t.n, 3);
    CUgraph graph, clone;
    CUgraphExec exec, second;
    DO(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
    order(s, side);
    mix(s, a, t.input, b, t.n);
    fold(side, c, a, t.n, t.n);
    DO(cuMemsetD32Async(at(c) + 32, 8, 10, side));
    order(side, s);
    fold(s, b, c, t.n, t.n);
    DO(cuStreamEndCapture(s, &graph));
    DO(cuGraphClone(&clone, graph));
    DO(cuGraphInstantiate(&exec, graph, 0));
    DO(cuGraphInstantiate(&second, clone, 0));
    DO(cuGraphDestroy(clone));
    size_t count = 0;
    DO(cuGraphGetNodes(graph, nullptr, &count));
    std::vector<CUgraphNode> nodes(count);
    DO(cuGraphGetNodes(graph, nodes.data(), &count));
    CUgraphNode set = nullptr;
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type;
        DO(cuGraphNodeGetType(node, &type));
        if (type == CU_GRAPH_NODE_TYPE_MEMSET)
            set = node;
    }
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 6 != 3)
                return x;
            DO(cuMemcpyDtoDAsync(at(a), at(x), t.n * sizeof(word), s));
            DO(cuGraphNodeSetEnabled(exec, set, step % 3 != 0));
            CUgraphExec which = step >= told.late && l > 5 ? second : exec;
            if (step % 4 == 0)
                DO(cuGraphUpload(which, s));
            DO(cuGraphLaunch(which, s));
            word *y = t.make(t.n);
            mix(s, b, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
    DO(cuStreamSynchronize(s));
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphExecDestroy(second));
    DO(cuGraphDestroy(graph));
}

/* A graph that waits for an event of the program's, and records one that another stream waits for. */
static void run_graph_events()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    word *const a = lasting(t.n, 1), *const b = lasting(t.n, 2);
    CUevent before = new_event(), behind = new_event();
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, record, inner;
    CUgraph child;
    DO(cuStreamBeginCapture(side, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    mix(side, a, t.input, b, t.n);
    DO(cuStreamEndCapture(side, &child));
    DO(cuGraphCreate(&graph, 0));
    DO(cuGraphAddEventWaitNode(&wait, graph, nullptr, 0, before));
    DO(cuGraphAddChildGraphNode(&inner, graph, &wait, 1, child));
    DO(cuGraphAddEventRecordNode(&record, graph, &inner, 1, behind));
    DO(cuGraphInstantiate(&exec, graph, 0));
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 6 != 3)
                return x;
            word *y = t.make(t.n);
            DO(cuMemcpyDtoDAsync(at(a), at(x), t.n * sizeof(word), s));
            DO(cuEventRecord(before, s));
            DO(cuGraphLaunch(exec, side));
            DO(cuStreamWaitEvent(s, behind, 0));
            mix(s, b, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
    DO(cuCtxSynchronize());
    DO(cuGraphExecDestroy(exec));
    DO(cuGraphDestroy(graph));
    DO(cuGraphDestroy(child));
}

/* What a function's attributes are changes from step to step, and so do the context's limits. */
static void run_attributes()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    cudaFunction_t f;
    DONE(cudaGetFuncBySymbol(&f, (const void *)odd_mix));
    for (int step = 1; step <= told.steps; step++) {
        t.step(step, [&](int l, word *x) {
            if (l == 6 && step % 7 == 3)
                DO(cuFuncSetAttribute((CUfunction)f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      step % 2 ? 4096 : 8192));
            if (l == 9 && step % 7 == 5)
                DO(cuFuncSetCacheConfig((CUfunction)f, step % 2 ? CU_FUNC_CACHE_PREFER_L1 : CU_FUNC_CACHE_PREFER_SHARED));
            return x;
        });
        if (step % 9 == 0)
            (void)cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, (size_t)1 << (16 + step % 3));
    }
}

/* Events of a whole context. */
static void run_context_events()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    CUevent e = new_event();
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 != 2)
                return x;
            word *y = t.make(t.n);
            if (cuCtxRecordEvent(here(), e) != CUDA_SUCCESS)
                DO(cuEventRecord(e, s));
            DO(cuStreamWaitEvent(side, e, 0));
            mix(side, x, t.input, y, t.n);
            DO(cuEventRecord(e, side));
            if (cuCtxWaitEvent(here(), e) != CUDA_SUCCESS)
                DO(cuStreamWaitEvent(s, e, 0));
            t.keep(y, t.n);
            return y;
        });
}

/* ---- a module of the program's own, loaded and unloaded ---- */

static word module_scale = 3;
struct module_params {
    const word *x;
    word *y;
    uint64_t n;
};
static void module_run(const struct simgpu_launch *, const void *image)
{
    struct module_params p;
    memcpy(&p, image, sizeof(p));
    for (uint64_t i = 0; i < p.n; i++)
        p.y[i] = MIXED(p.x[i], module_scale);
    module_scale++;
}
static void module_describe(const struct simgpu_launch *, const void *image, struct simgpu_footprint *ret)
{
    struct module_params p;
    memcpy(&p, image, sizeof(p));
    ret->flops = EACH * (double)p.n;
    ret->bytes = 8.0 * (double)p.n;
    ret->range_count = 2;
    ret->ranges[0] = {at(p.x), p.n * sizeof(word), SIMGPU_READS};
    ret->ranges[1] = {at(p.y), p.n * sizeof(word), SIMGPU_WRITES};
}
static const struct simgpu_param module_param[] = {
    {0, 8, SIMGPU_PARAM_POINTER | SIMGPU_PARAM_CONST}, {8, 8, SIMGPU_PARAM_POINTER}, {16, 8, 0}};
static const struct simgpu_kernel module_kernel = {"odd_module",    3, 24,     module_param, module_run,
                                                   module_describe, 0, nullptr};
static const struct simgpu_kernel *const module_kernels[] = {&module_kernel};
static const struct simgpu_global module_global = {"module_scale", &module_scale, sizeof(module_scale), 0};
static const struct simgpu_global *const module_globals[] = {&module_global};

static void run_modules()
{
    static struct simgpu_image image;
    image.kernel_count = image.global_count = 1;
    image.kernels = module_kernels, image.globals = module_globals, image.code = 4711;
    (void)simgpu_image_list(&image);
    CUstream s = new_stream();
    trunk t(async_memory, s);
    CUmodule module = nullptr;
    CUfunction f = nullptr;
    CUdeviceptr variable = 0;
    for (int step = 1; step <= told.steps; step++) {
        if (step % 13 == 1) {
            word left = 0;
            if (module) { /* with work of its kernels under way no more */
                DO(cuMemcpyDtoH(&left, variable, sizeof(left)));
                DO(cuModuleUnload(module));
            }
            DO(cuModuleLoadData(&module, &image));
            DO(cuModuleGetFunction(&f, module, "odd_module"));
            DO(cuModuleGetGlobal(&variable, nullptr, module, "module_scale"));
            left += (word)step;
            DO(cuMemcpyHtoD(variable, &left, sizeof(left)));
            DO(cuStreamSynchronize(nullptr));
        }
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n);
            uint64_t n = t.n;
            void *args[] = {&x, &y, &n};
            DO(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, args, nullptr));
            if (step == told.late && l == 5)
                DO(cuMemcpyDtoDAsync(variable, at(x), sizeof(word), s));
            t.keep(y, t.n);
            return y;
        });
    }
    DO(cuStreamSynchronize(s));
    DO(cuModuleUnload(module));
}

/* The second half of the layers is on a second device, whose kernels also read what lies on the first; with one device on
 * the same. */
static void run_devices()
{
    int count;
    DO(cuDeviceGetCount(&count));
    CUcontext first = here(), second = first;
    if (count > 1) {
        DONE(cudaSetDevice(1));
        DONE(cudaFree(nullptr));
        second = here();
        (void)cuCtxEnablePeerAccess(first, 0);
        DO(cuCtxSetCurrent(first));
        (void)cuCtxEnablePeerAccess(second, 0);
    }
    CUstream a = new_stream();
    trunk t(async_memory, a, told.layers / 2);
    DO(cuCtxSetCurrent(second));
    CUstream b = new_stream();
    const size_t n = t.n, bytes = n * sizeof(word);
    std::vector<word *> weights, acts;
    for (int l = 0; l < told.layers / 2; l++) {
        weights.push_back(plain_memory.make(n, b));
        fill(b, weights.back(), n, 70 + (word)l);
    }
    DO(cuCtxSynchronize());
    for (int step = 1; step <= told.steps; step++) {
        DO(cuCtxSetCurrent(first));
        tick(a);
        word *last = t.forward();
        CUevent sent = new_event();
        DO(cuEventRecord(sent, a));
        DO(cuCtxSetCurrent(second));
        DO(cuStreamWaitEvent(b, sent, 0));
        word *x = async_memory.make(n, b);
        DO(cuMemcpyPeerAsync(at(x), second, at(last), first, bytes, b));
        acts.push_back(x);
        for (size_t l = 0; l < weights.size(); l++) {
            word *y = async_memory.make(n, b);
            mix(b, x, weights[l], y, n);
            if (l == 2)
                fold(b, y, t.all[1].p, n, n); /* on the other device */
            acts.push_back(y);
            x = y;
        }
        word *g = async_memory.make(n, b);
        mix(b, x, weights[0], g, n);
        for (size_t l = weights.size(); l-- > 0;) {
            fold(b, g, acts[l + 1], n, n);
            fold(b, weights[l], g, n, n);
            async_memory.drop(acts[l + 1], n, b);
        }
        async_memory.drop(acts[0], n, b);
        acts.clear();
        CUevent back = new_event();
        DO(cuEventRecord(back, b));
        DO(cuCtxSetCurrent(first));
        DO(cuStreamWaitEvent(a, back, 0));
        word *gradient = t.make(n);
        DO(cuMemcpyPeerAsync(at(gradient), first, at(g), second, bytes, a));
        DO(cuEventRecord(sent, a));
        t.backward(gradient);
        t.memory.drop(gradient, n, a);
        DO(cuCtxSetCurrent(second));
        CUevent done;
        DO(cuCtxSetCurrent(first));
        DO(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
        DO(cuEventRecord(done, a));
        DO(cuCtxSetCurrent(second));
        DO(cuStreamWaitEvent(b, done, 0));
        async_memory.drop(g, n, b);
        DO(cuEventDestroy(sent));
        DO(cuEventDestroy(back));
        DO(cuEventDestroy(done));
        DO(cuCtxSetCurrent(first));
        say(a, "step", step, t.input, n);
    }
    DO(cuCtxSetCurrent(second));
    std::vector<word> host(n);
    unsigned long long all = 0;
    for (word *w : weights) {
        DO(cuMemcpyDtoHAsync(host.data(), at(w), bytes, b));
        DO(cuStreamSynchronize(b));
        for (word v : host)
            all = (all ^ v) * 0x100000001b3u;
        DO(cuMemFree(at(w)));
    }
    printf("second 0x%016llx\n", all);
    DO(cuCtxSetCurrent(first));
}

const std::vector<struct program> calls_programs = {
    {"memory-operations", run_memory_operations},
    {"branches", run_branches},
    {"graph-events", run_graph_events},
    {"attributes", run_attributes},
    {"context-events", run_context_events},
    {"modules", run_modules},
    {"devices", run_devices},
};
