/* crossing.cu - trains on several streams, by one host thread or by two that share the streams: a random program without
 * races (iteration.h), the same in each step.
 *
 *     step 3 loss 0x0123456789abcdef     of the tensor that hears of everything
 *     persistent 0x0123456789abcdef      of all tensors that live from the first step to the last
 *     peak_bytes 1048576
 *
 * Exit status: 0; 2 for a bad option; 3 when a CUDA call failed. */
#include "../device.h"
#include "../launch.h"
#include "iteration.h"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>

#ifdef CROSSING_UNTOLD
#define NAMED extern "C" /* a name in C says nothing of what the kernel may write */
#else
#define NAMED
#endif

#define ODD         1664525u
#define MIXED(a, b) ((a)*ODD + ((b) ^ (b) >> 15) + 1013904223u)
#define IS_LATE(c)  ((c)[0] >= (c)[1])
#define EACH        100.0 /* operations for each word, in footprints */

NAMED __global__ void make_kernel(const uint32_t *x, size_t nx, const uint32_t *w, size_t nw, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[WRAPPED(i, nx)], w[WRAPPED(i, nw)] + (uint32_t)i);
}
SIMGPU_FOOTPRINT(make_kernel, (const uint32_t *x, size_t nx, const uint32_t *w, size_t nw, uint32_t *y, size_t n), EACH *n,
                 R(x, nx < n ? nx : n), R(w, nw < n ? nw : n), W(y, n))

NAMED __global__ void fold_kernel(const uint32_t *x, size_t nx, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(y[i], x[WRAPPED(i, nx)]);
}
SIMGPU_FOOTPRINT(fold_kernel, (const uint32_t *x, size_t nx, uint32_t *y, size_t n), EACH *n, R(x, nx < n ? nx : n),
                 RW(y, n))

/* Rotated, but that each third word is left as it was once it is late. */
NAMED __global__ void scatter_kernel(const uint32_t *x, size_t nx, const uint32_t *indices, uint32_t *y, size_t n,
                                     const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n)
        if (!is_late || i % 3)
            y[(i + indices[0]) % n] = MIXED(x[WRAPPED(i, nx)], 3u);
}
SIMGPU_FOOTPRINT(scatter_kernel,
                 (const uint32_t *x, size_t nx, const uint32_t *indices, uint32_t *y, size_t n, const uint32_t *clock),
                 EACH *n, R(x, nx < n ? nx : n), R(indices, 1), RW(y, n), R(clock, 2))

NAMED __global__ void late_side_kernel(const uint32_t *x, size_t nx, uint32_t *w, size_t nw, uint32_t *y, size_t n,
                                       const uint32_t *clock)
{
    const bool is_late = IS_LATE(clock);
    SPAN (i, n)
        y[i] = MIXED(x[WRAPPED(i, nx)], w[WRAPPED(i, nw)]);
    SPAN (i, nw)
        if (is_late && i % 7 == 0)
            w[i] += clock[0];
}
SIMGPU_FOOTPRINT(late_side_kernel,
                 (const uint32_t *x, size_t nx, uint32_t *w, size_t nw, uint32_t *y, size_t n, const uint32_t *clock),
                 EACH *n, R(x, nx < n ? nx : n), R(w, nw), W(y, n), R(clock, 2))

NAMED __global__ void count_kernel(const uint32_t *x, size_t n, uint32_t *sum)
{
    uint32_t mine = 0;
    SPAN (i, n)
        mine += x[i] ^ x[i] >> 11;
    atomicAdd(sum, mine);
}
SIMGPU_FOOTPRINT(count_kernel, (const uint32_t *x, size_t n, uint32_t *sum), 10.0 * n, R(x, n), RW(sum, 1))

/* What it reads and writes is in the table. */
NAMED __global__ void table_kernel(uint32_t *const *table, size_t nx, size_t n)
{
    SPAN (i, n)
        table[1][i] = MIXED(table[1][i], table[0][WRAPPED(i, nx)]);
}
SIMGPU_FOOTPRINT(table_kernel, (uint32_t *const *table, size_t nx, size_t n), EACH *n, R(table, 2))

__global__ void tick_kernel(uint32_t *clock)
{
    clock[0]++;
}
SIMGPU_FOOTPRINT(tick_kernel, (uint32_t * clock), 1.0, RW(clock, 1))

__global__ void digest_kernel(const uint32_t *x, size_t n, unsigned long long *sum)
{
    unsigned long long mine = 0;
    SPAN (i, n) {
        unsigned long long word = (x[i] + 1ull) * (2 * i + 0x9e3779b97f4a7c15u);
        mine += word ^ word >> 29;
    }
    atomicAdd(sum, mine);
}
SIMGPU_FOOTPRINT(digest_kernel, (const uint32_t *x, size_t n, unsigned long long *sum), 10.0 * n, R(x, n), RW(sum, 1))

struct options {
    struct iteration_options drawn;
    int steps = 30, threads = 1;
    uint32_t late = 20;
    size_t kib = 64;
    enum allocator allocator = ALLOCATE_ASYNC;
};

struct tensor {
    uint32_t *address = nullptr;
    size_t words;
};

/* Where a thread writes what it uploads, and when that was copied last. */
struct stage {
    cudaEvent_t copied;
    uint32_t *words;
};

class program
{
  public:
    explicit program(const struct options &told);
    ~program();
    void run_step(int number);
    unsigned long long digest_of_all();
    size_t peak() const
    {
        return peak_bytes;
    }

  private:
    void run(int thread, int step);
    void act(const struct action &a, int step);
    void launch(const struct action &a, cudaStream_t s);
    void allocate(tensor &t, cudaStream_t s);
    void release(tensor &t, cudaStream_t s);
    void capture(const action &a);
    void copy(const action &a, cudaStream_t s);
    void upload(const tensor &t, int part, cudaStream_t s, struct stage &through, int step);
    unsigned long long digest(const tensor &t);

    const struct options o;
    const struct iteration all;
    std::vector<tensor> tensors;
    cudaStream_t streams[LANES] = {};
    std::vector<cudaEvent_t> events;
    std::vector<std::atomic<int>> recorded; /* the step in which each event was last */
    std::vector<stage> stages;              /* one for each thread */
    cudaEvent_t begun, ended;
    std::vector<cudaGraphExec_t> graphs; /* by action; NULL: it is none */
    uint32_t *clock;
    unsigned long long *sum;
    std::mutex counts;
    size_t live_bytes = 0, peak_bytes = 0;
};

program::program(const struct options &told)
    : o(told), all(draw_iteration(told.drawn, told.kib * 256)), recorded((size_t)all.events)
{
    for (int i = 0; i < o.drawn.streams; i++)
        CHECK(cudaStreamCreateWithFlags(&streams[i], all.blocking[i] ? cudaStreamDefault : cudaStreamNonBlocking));
    events.resize((size_t)all.events);
    for (cudaEvent_t &event : events)
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaEvent_t *event : {&begun, &ended})
        CHECK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    stages.resize((size_t)o.threads);
    for (stage &each : stages) {
        CHECK(cudaEventCreateWithFlags(&each.copied, cudaEventDisableTiming));
        CHECK(cudaMallocHost(&each.words, o.kib * 1024));
        CHECK(cudaEventRecord(each.copied, streams[0]));
    }
    CHECK(cudaMalloc(&clock, 2 * sizeof(*clock)));
    CHECK(cudaMalloc(&sum, sizeof(*sum)));
    const uint32_t begin[2] = {0, o.late};
    CHECK(cudaMemcpy(clock, begin, sizeof(begin), cudaMemcpyHostToDevice));
    for (size_t words : all.words)
        tensors.push_back({nullptr, words});
    for (size_t i = 0; i < tensors.size(); i++) {
        if (all.pinned[i]) {
            CHECK(cudaMallocHost(&tensors[i].address, 4 * tensors[i].words));
            memset(tensors[i].address, 0, 4 * tensors[i].words);
        }
        if (!all.persistent[i] || all.pinned[i])
            continue;
        allocate(tensors[i], streams[0]);
        std::vector<uint32_t> filled(tensors[i].words);
        for (size_t k = 0; k < filled.size(); k++)
            filled[k] = MIXED((uint32_t)k, o.drawn.seed + (uint32_t)i) >> 3;
        CHECK(cudaMemcpyAsync(tensors[i].address, filled.data(), 4 * filled.size(), cudaMemcpyHostToDevice, streams[0]));
        CHECK(cudaStreamSynchronize(streams[0]));
    }
    CHECK(cudaDeviceSynchronize());
    graphs.resize(all.actions.size());
    for (const action &a : all.actions)
        if (a.kind == GRAPH)
            capture(a);
}

program::~program()
{
    for (cudaGraphExec_t graph : graphs)
        if (graph)
            CHECK(cudaGraphExecDestroy(graph));
    for (size_t i = 0; i < tensors.size(); i++)
        if (all.pinned[i])
            CHECK(cudaFreeHost(tensors[i].address));
        else if (all.persistent[i])
            release(tensors[i], streams[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(clock));
    CHECK(cudaFree(sum));
    for (const stage &each : stages) {
        CHECK(cudaEventDestroy(each.copied));
        CHECK(cudaFreeHost(each.words));
    }
    for (cudaEvent_t event : events)
        CHECK(cudaEventDestroy(event));
    for (int i = 0; i < o.drawn.streams; i++)
        CHECK(cudaStreamDestroy(streams[i]));
}

void program::allocate(tensor &t, cudaStream_t s)
{
    if (o.allocator == ALLOCATE_ASYNC)
        CHECK(cudaMallocAsync(&t.address, 4 * t.words, s));
    else
        CHECK(cudaMalloc(&t.address, 4 * t.words));
    const std::lock_guard<std::mutex> guard(counts);
    live_bytes += 4 * t.words;
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
}

void program::release(tensor &t, cudaStream_t s)
{
    {
        const std::lock_guard<std::mutex> guard(counts);
        live_bytes -= 4 * t.words;
    }
    if (o.allocator == ALLOCATE_ASYNC)
        CHECK(cudaFreeAsync(t.address, s));
    else
        CHECK(cudaFree(t.address));
    t.address = nullptr;
}

/* The words of a part of a tensor. */
static size_t first_of(const tensor &t, int part)
{
    return part == HIGH ? t.words / 2 : 0;
}

static size_t count_of(const tensor &t, int part)
{
    return part == BOTH ? t.words : part == LOW ? t.words / 2 : t.words - t.words / 2;
}

/* What is there was copied before it is written anew. */
void program::upload(const tensor &t, int part, cudaStream_t s, stage &through, int step)
{
    const size_t count = count_of(t, part);
    CHECK(cudaEventSynchronize(through.copied));
    for (size_t i = 0; i < count; i++)
        through.words[i] = MIXED((uint32_t)i, (uint32_t)step);
    CHECK(cudaMemcpyAsync(t.address + first_of(t, part), through.words, 4 * count, cudaMemcpyHostToDevice, s));
    CHECK(cudaEventRecord(through.copied, s));
}

void program::launch(const struct action &a, cudaStream_t s)
{
    const tensor &y = tensors[a.out], none = {nullptr, 1};
    const tensor &x = a.a >= 0 ? tensors[a.a] : none, &w = a.b >= 0 ? tensors[a.b] : none;
    uint32_t *to = y.address + first_of(y, a.part);
    const uint32_t *from = x.address + first_of(x, a.part_of_a);
    const size_t n = count_of(y, a.part), nx = count_of(x, a.part_of_a);
    switch (a.kind) {
    case MAKE:
        make_kernel<<<blocks_for(n), THREADS, 0, s>>>(from, nx, w.address, w.words, to, n);
        break;
    case FOLD:
        fold_kernel<<<blocks_for(n), THREADS, 0, s>>>(from, nx, to, n);
        break;
    case SCATTER:
        scatter_kernel<<<blocks_for(n), THREADS, 0, s>>>(from, nx, w.address, to, n, clock);
        break;
    case LATE_SIDE:
        late_side_kernel<<<1, 1, 0, s>>>(from, nx, tensors[a.b].address, w.words, to, n, clock);
        break;
    default:
        count_kernel<<<blocks_for(nx), THREADS, 0, s>>>(from, nx, to);
        break;
    }
    CHECK_LAUNCH(a kernel);
}

/* Two kernels, the second of which reads what the first has written. */
void program::capture(const action &a)
{
    const tensor &x = tensors[a.a], &y = tensors[a.out];
    cudaStream_t s;
    cudaGraph_t graph;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 2; i++) {
        fold_kernel<<<blocks_for(y.words), THREADS, 0, s>>>(x.address, x.words, y.address, y.words);
        CHECK_LAUNCH(fold_kernel);
    }
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&graphs[(size_t)(&a - all.actions.data())], graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(s));
}

static void change_on_host(void *argument)
{
    const tensor *t = (const tensor *)argument;
    for (size_t i = 0; i < t->words; i++)
        t->address[i] = MIXED(t->address[i], (uint32_t)i);
}

/* As far as both go; by rows of 64 bytes, every second one. */
void program::copy(const action &a, cudaStream_t s)
{
    enum { ROW = 64 };
    const tensor &x = tensors[a.a], &y = tensors[a.out];
    uint32_t *to = y.address + first_of(y, a.part);
    const uint32_t *from = x.address + first_of(x, a.part_of_a);
    const size_t bytes = 4 * std::min(count_of(y, a.part), count_of(x, a.part_of_a));
    if (a.kind == COPY_ROWS)
        CHECK(cudaMemcpy2DAsync(to, 2 * ROW, from, 2 * ROW, ROW, bytes / (2 * ROW), cudaMemcpyDeviceToDevice, s));
    else
        CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s));
}

void program::act(const struct action &a, int step)
{
    cudaStream_t s = a.stream == LEGACY ? cudaStreamLegacy : streams[a.stream];
    switch (a.kind) {
    case ALLOCATE:
        allocate(tensors[a.out], s);
        break;
    case FREE:
        release(tensors[a.out], s);
        break;
    case ZERO:
        CHECK(cudaMemsetAsync(tensors[a.out].address + first_of(tensors[a.out], a.part), 0,
                              4 * count_of(tensors[a.out], a.part), s));
        break;
    case UPLOAD:
        upload(tensors[a.out], a.part, s, stages[(size_t)(a.stream % o.threads)], step);
        break;
    case COPY_WITHIN:
    case COPY_ROWS:
    case TO_HOST:
    case FROM_HOST:
        copy(a, s);
        break;
    case ZERO_ROWS:
        CHECK(cudaMemset2DAsync(tensors[a.out].address, 128, 0, 64, tensors[a.out].words / 32, s));
        break;
    case ON_HOST:
        CHECK(cudaLaunchHostFunc(s, change_on_host, &tensors[a.out]));
        break;
    case TABLE: {
        uint32_t *addresses[] = {tensors[a.b].address, tensors[a.out].address}; /* pageable: copied when the call returns */
        uint32_t *const *table = (uint32_t *const *)tensors[a.a].address;
        CHECK(cudaMemcpyAsync(tensors[a.a].address, addresses, sizeof(addresses), cudaMemcpyHostToDevice, s));
        table_kernel<<<blocks_for(tensors[a.out].words), THREADS, 0, s>>>(table, tensors[a.b].words, tensors[a.out].words);
        CHECK_LAUNCH(table_kernel);
        break;
    }
    case GRAPH:
        CHECK(cudaGraphLaunch(graphs[(size_t)(&a - all.actions.data())], s));
        break;
    case HOST_QUERY:
        for (cudaError_t r; (r = cudaEventQuery(events[a.event])) != cudaSuccess;) {
            if (r != cudaErrorNotReady)
                CHECK(r);
            (void)cudaGetLastError();
            sched_yield();
        }
        break;
    case RECORD:
        CHECK(cudaEventRecord(events[a.event], s));
        recorded[a.event].store(step);
        break;
    case WAIT:
        while (recorded[a.event].load() < step) /* by the other thread */
            sched_yield();
        CHECK(cudaStreamWaitEvent(s, events[a.event], 0));
        break;
    case HOST_EVENT:
        CHECK(cudaEventSynchronize(events[a.event]));
        break;
    case HOST_STREAM:
        CHECK(cudaStreamSynchronize(s));
        break;
    default:
        launch(a, s);
    }
}

void program::run(int thread, int step)
{
    CHECK(cudaSetDevice(0));
    for (const struct action &a : all.actions)
        if (o.threads == 1 || a.stream % o.threads == thread)
            act(a, step);
}

unsigned long long program::digest(const tensor &t)
{
    unsigned long long result;
    CHECK(cudaMemsetAsync(sum, 0, sizeof(*sum), streams[0]));
    digest_kernel<<<blocks_for(t.words), THREADS, 0, streams[0]>>>(t.address, t.words, sum);
    CHECK_LAUNCH(digest_kernel);
    CHECK(cudaMemcpyAsync(&result, sum, sizeof(result), cudaMemcpyDeviceToHost, streams[0]));
    CHECK(cudaStreamSynchronize(streams[0]));
    return result;
}

/* All streams begin behind the clock, and stream 0 ends behind all others. */
void program::run_step(int number)
{
    tick_kernel<<<1, 1, 0, streams[0]>>>(clock);
    CHECK_LAUNCH(tick_kernel);
    CHECK(cudaEventRecord(begun, streams[0]));
    for (int i = 1; i < o.drawn.streams; i++)
        CHECK(cudaStreamWaitEvent(streams[i], begun, 0));
    if (o.threads == 1)
        CHECK(cudaStreamWaitEvent(cudaStreamLegacy, begun, 0));
    std::vector<std::thread> others;
    for (int i = 1; i < o.threads; i++)
        others.emplace_back(&program::run, this, i, number);
    run(0, number);
    for (std::thread &other : others)
        other.join();
    printf("step %d loss 0x%016llx\n", number, digest(tensors[all.result]));
    fflush(stdout);
}

unsigned long long program::digest_of_all()
{
    unsigned long long found = 0;
    CHECK(cudaDeviceSynchronize());
    for (size_t i = 0; i < tensors.size(); i++) {
        if (!all.persistent[i] || all.pinned[i] || (int)i == all.tables)
            continue;
        found = (found ^ digest(tensors[i])) * 0x9e3779b97f4a7c15u;
        found ^= found >> 29;
    }
    return found;
}

[[noreturn]] static void refuse(const std::string &what)
{
    fprintf(stderr,
            "crossing: what is %s?\n"
            "usage: crossing [--seed N] [--steps N] [--late STEP] [--streams 2-%d] [--threads 1|2] [--operations N]\n"
            "                [--size KIB] [--alloc async|plain] [--kinds few|all]\n",
            what.c_str(), MAX_STREAMS);
    exit(2);
}

static int number(const std::string &text, long least, long most)
{
    char *end;
    const long value = strtol(text.c_str(), &end, 10);
    if (text.empty() || *end || value < least || value > most)
        refuse(text);
    return (int)value;
}

static struct options read_options(char **argv)
{
    struct options o;
    for (char **at = argv + 1; *at; at += 2) {
        const std::string name = at[0];
        if (!at[1])
            refuse(name + " without a value");
        const std::string value = at[1];
        if (name == "--seed")
            o.drawn.seed = (uint32_t)number(value, 0, 1000000000);
        else if (name == "--steps")
            o.steps = number(value, 1, 1000000);
        else if (name == "--late")
            o.late = (uint32_t)number(value, 1, 1000000);
        else if (name == "--streams")
            o.drawn.streams = number(value, 2, MAX_STREAMS);
        else if (name == "--threads")
            o.threads = number(value, 1, 2);
        else if (name == "--operations")
            o.drawn.operations = number(value, 2, 10000);
        else if (name == "--size")
            o.kib = (size_t)number(value, 1, 1 << 20);
        else if (name == "--kinds" && (value == "few" || value == "all"))
            o.drawn.is_wide = value == "all";
        else if (name == "--alloc" && (value == "async" || value == "plain"))
            o.allocator = value == "plain" ? ALLOCATE_PLAIN : ALLOCATE_ASYNC;
        else
            refuse(name + " " + value);
    }
    o.drawn.crosses_threads = o.threads > 1;
    o.drawn.in_stream_order =
        o.allocator == ALLOCATE_ASYNC || o.threads > 1; /* a thread frees what the other is through with */
    return o;
}

int main(int argc, char **argv)
{
    (void)argc;
    const struct options o = read_options(argv);
    size_t peak;
    {
        program all(o);
        for (int step = 1; step <= o.steps; step++)
            all.run_step(step);
        printf("persistent 0x%016llx\n", all.digest_of_all());
        peak = all.peak();
    }
    printf("peak_bytes %zu\n", peak);
    return 0;
}
