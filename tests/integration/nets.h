/* nets.h - small nets that train on one device each: layers that mix what comes in with a weight, forward and backward, on a
 * stream of their own. */
#ifndef SPILLWAY_TESTS_NETS_H
#define SPILLWAY_TESTS_NETS_H
#include <cuda.h>
#include <cuda_runtime.h>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

#ifndef SIMGPU
#define SIMGPU_FOOTPRINT(...)
#endif

/* What all programs of nets can be told. */
static struct {
    int nets = 1, layers = 16, steps = 14, kibibytes = 64; /* the last one: of a tensor */
    int leftovers = 0;    /* so many places (LEFTOVERS at most) of what mixing is given have in them what lay there before */
    bool nothing = false; /* in these places: weights, and otherwise nothing */
    bool optional = false; /* in these places: an operand in training, nothing in an evaluation */
    bool turns = false;    /* their threads submit a layer each in turn */
} o;

/* The option at *at, with its value behind it; false: it is none of a number for all. */
static bool read_number(char **&at)
{
    const struct {
        const char *name;
        int *to;
    } numbers[] = {{"--nets", &o.nets},
                   {"--layers", &o.layers},
                   {"--steps", &o.steps},
                   {"--kibibytes", &o.kibibytes},
                   {"--leftovers", &o.leftovers}};
    for (const auto &number : numbers)
        if (strcmp(*at, number.name) == 0 && at[1]) {
            *number.to = atoi(*++at);
            return true;
        }
    return false;
}

[[noreturn]] static void wonder(const char *option)
{
    fprintf(stderr, "%s: what is %s?\n", program_invocation_short_name, option);
    exit(2);
}

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call, cudaGetErrorString(error));
    _exit(3);
}
[[maybe_unused]] static void check(CUresult result, const char *call)
{
    check(result == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, call);
}
#define CHECK(call) check((call), #call)

/* out = a / 2 + b */
__global__ void mix(float *out, const float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = 0.5f * a[i] + b[i];
}
SIMGPU_FOOTPRINT(mix, (float *out, const float *a, const float *b, int n), 100.0 * n, W(out, n), R(a, n), R(b, n))

/* The same, given as a list that has room for more than are in it. */
static const int LEFTOVERS = 6;
struct operands {
    float *to;
    const float *from[2 + LEFTOVERS]; /* two are filled in */
    int n, more;
};

__global__ void mix_listed(operands list)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < list.n; i += gridDim.x * blockDim.x)
        list.to[i] = 0.5f * list.from[0][i] + list.from[1][i];
}
SIMGPU_FOOTPRINT(mix_listed, (operands list), 100.0 * list.n, W(list.to, list.n), R(list.from[0], list.n),
                 R(list.from[1], list.n))

/* What calls of before have left where the list is: addresses of tensors that are alive or were, and numbers. */
static const float *leftover(const float *latest)
{
    static thread_local const float *before[64];
    static thread_local uint64_t calls, random = 1;
    before[calls++ % 64] = latest;
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t drawn = random >> 33;
    return drawn % 4 ? before[drawn / 4 % (calls < 64 ? calls : 64)] : (const float *)(0x3f8000003f800000u + drawn);
}

/* What is there for good, each time another, or nothing at all. */
static const float *weight_or_nothing(const float *weight)
{
    static thread_local const float *weights[64];
    static thread_local uint64_t known, random = 1;
    if (weight && known < 64)
        weights[known++] = weight;
    random = random * 6364136223846793005u + 1442695040888963407u;
    const uint64_t drawn = random >> 33;
    return drawn % 2 && known ? weights[drawn / 2 % known] : nullptr;
}

static thread_local bool evaluates;

static const float *what_lies_beside(int place, const float *to, const float *b, bool b_is_weight)
{
    if (o.optional)
        return evaluates ? nullptr : b;
    if (o.nothing)
        return weight_or_nothing(b_is_weight ? b : nullptr);
    return leftover(place % 2 ? to : b);
}

static void launch_mix(cudaStream_t stream, float *to, const float *a, const float *b, int n, bool b_is_weight = false)
{
    if (!o.leftovers) {
        mix<<<1, 1, 0, stream>>>(to, a, b, n);
        return;
    }
    operands list = {to, {a, b}, n, 0};
    for (int i = 0; i < o.leftovers && i < LEFTOVERS; i++)
        list.from[2 + i] = what_lies_beside(i, to, b, b_is_weight);
    mix_listed<<<1, 1, 0, stream>>>(list);
}

/* w = w + rate * g */
__global__ void update(float *w, const float *g, float rate, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        w[i] += rate * g[i];
}
SIMGPU_FOOTPRINT(update, (float *w, const float *g, float rate, int n), 100.0 * n, RW(w, n), R(g, n))

/* ---- nets ---- */

static size_t tensor_bytes()
{
    return (size_t)o.kibibytes * 1024;
}
static int tensor_length()
{
    return (int)(tensor_bytes() / sizeof(float));
}

static float *make(cudaStream_t stream)
{
    void *p;
    CHECK(cudaMallocAsync(&p, tensor_bytes(), stream));
    return (float *)p;
}

static float *make_weight(cudaStream_t stream, int seed)
{
    std::vector<float> values((size_t)tensor_length());
    for (size_t i = 0; i < values.size(); i++)
        values[i] = (float)((i * 31 + (size_t)seed * 17) % 101) / 101.0f;
    float *w = make(stream);
    CHECK(cudaMemcpyAsync(w, values.data(), tensor_bytes(), cudaMemcpyHostToDevice, stream));
    CHECK(cudaStreamSynchronize(stream));
    return w;
}

/* One after the other, so that what several threads submit has an order. */
struct turns {
    std::mutex mutex;
    std::condition_variable changed;
    int next = 0;

    void take(int who)
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [&] { return next == who; });
    }
    void pass()
    {
        std::lock_guard<std::mutex> lock(mutex);
        next = (next + 1) % o.nets;
        changed.notify_all();
    }
};
static turns order;

struct net {
    int number, n = tensor_length();
    cudaStream_t stream;
    std::vector<float *> weights;
    float *loss;                     /* pinned */
    cudaGraphExec_t graph = nullptr; /* launched in every step once it is there */
    bool shares;                     /* every other weight, with other nets */

    explicit net(int number, const std::vector<float *> &shared = {}) : number(number), shares(!shared.empty())
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMallocHost((void **)&loss, sizeof *loss));
        for (int l = 0; l < o.layers; l++)
            weights.push_back(l % 2 && shares ? shared[(size_t)l / 2 % shared.size()]
                                              : make_weight(stream, number * 100 + l));
    }
    bool owns(size_t layer) const
    {
        return !shares || layer % 2 == 0;
    }

    /* A step: forward, what happens in the middle of it, if anything (without a stream afterwards: the context has gone),
     * backward with updates, and the loss on its way back. */
    void submit(void (*happen)(struct net &in) = nullptr)
    {
        turn();
        std::vector<float *> values = {make(stream)};
        CHECK(cudaMemsetAsync(values[0], 0, tensor_bytes(), stream));
        turn_is_over();
        for (float *w : weights) {
            turn();
            values.push_back(make(stream));
            launch_mix(stream, values.back(), values[values.size() - 2], w, n, true);
            turn_is_over();
        }
        if (happen)
            happen(*this);
        if (!stream)
            return; /* the context has gone, and all of this with it */
        turn();
        if (graph)
            CHECK(cudaGraphLaunch(graph, stream));
        float *gradient = make(stream);
        CHECK(cudaMemcpyAsync(gradient, values.back(), tensor_bytes(), cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaMemcpyAsync(loss, gradient + n / 2, sizeof *loss, cudaMemcpyDeviceToHost, stream));
        turn_is_over();
        for (size_t l = weights.size(); l-- > 0;) {
            turn();
            CHECK(cudaFreeAsync(values.back(), stream));
            values.pop_back();
            float *next = make(stream);
            launch_mix(stream, next, gradient, values.back(), n);
            if (owns(l))
                update<<<1, 1, 0, stream>>>(weights[l], gradient, -0.001f, n);
            CHECK(cudaFreeAsync(gradient, stream));
            gradient = next;
            turn_is_over();
        }
        turn();
        CHECK(cudaFreeAsync(gradient, stream));
        CHECK(cudaFreeAsync(values[0], stream));
        CHECK(cudaGetLastError());
        turn_is_over();
    }

    /* A forward pass that nothing comes of. */
    void evaluate()
    {
        float *value = make(stream);
        evaluates = true;
        CHECK(cudaMemsetAsync(value, 0, tensor_bytes(), stream));
        for (float *w : weights) {
            float *next = make(stream);
            launch_mix(stream, next, value, w, n, true);
            CHECK(cudaFreeAsync(value, stream));
            value = next;
        }
        CHECK(cudaFreeAsync(value, stream));
        CHECK(cudaGetLastError());
        evaluates = false;
    }

    uint32_t finish()
    {
        uint32_t bits;
        CHECK(cudaStreamSynchronize(stream));
        memcpy(&bits, loss, sizeof bits);
        return bits;
    }

    void close()
    {
        for (size_t l = 0; l < weights.size(); l++)
            if (owns(l))
                CHECK(cudaFreeAsync(weights[l], stream));
        CHECK(cudaStreamSynchronize(stream));
        if (graph)
            CHECK(cudaGraphExecDestroy(graph));
        CHECK(cudaFreeHost(loss));
        CHECK(cudaStreamDestroy(stream));
    }

  private:
    void turn()
    {
        if (o.turns)
            order.take(number);
    }
    void turn_is_over()
    {
        if (o.turns)
            order.pass();
    }
};
#endif
