/* layers.cu - trains layers that share one weight, by products of cuBLAS: what a product makes, and the backward pass needs,
 * is cheap to make again, and the weight is read by the product of each layer that comes meanwhile.
 *
 *     layers [--steps N] [--way linked|named|past] [--library FILE] [--workspace BYTES] [--towers 1|2]
 *
 * linked: it calls the library that it was linked with; named: it looks the call up in FILE; past: no call of cuBLAS's is
 * made, the same kernels are launched. Two towers of layers have a stream, a weight and a workspace each, and are done side
 * by side. Prints a checksum of the weights. Exit status 3: a call failed. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

#include "squash.h"

enum { COUNT = 65536, LAYERS = 16, TOWERS = 2 };

extern "C" int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                              const float *b, int ldb, const float *beta, float *c, int ldc);
extern "C" int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
extern "C" int product_past_the_call(void *handle, const float *a, const float *b, float *c, int count);

static decltype(&cublasSgemm_v2) product = cublasSgemm_v2;
static decltype(&cublasSetWorkspace_v2) set_workspace = cublasSetWorkspace_v2;
static bool is_past;

struct tower {
    bool is_second;
    cudaStream_t stream;
    void *workspace;
    float *weight, *moment, *input, *gradient, *x[LAYERS + 1], *z[LAYERS];
};

SQUASH(squash)

__global__ void squash_back(const float *z, const float *x, float *gradient, int count)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < count; i++)
        gradient[i] *= (1 - (x[i] < 0 ? -x[i] : x[i])) + z[i] * 1e-3f;
}

__global__ void descend(float *weight, const float *gradient, int count)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < count; i++)
        weight[i] -= 1e-2f * gradient[i];
}

__global__ void begin_back(const float *moment, float *gradient, int count)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < count; i++)
        gradient[i] = 0.03f + 0.1f * moment[i];
}

#ifdef SIMGPU
SIMGPU_FOOTPRINT(begin_back, (const float *moment, float *gradient, int count), 1.0 * count, R(moment, count),
                 W(gradient, count))
SIMGPU_FOOTPRINT(squash_back, (const float *z, const float *x, float *gradient, int count), 1.0 * count, R(z, count),
                 R(x, count), RW(gradient, count))
SIMGPU_FOOTPRINT(descend, (float *weight, const float *gradient, int count), 1.0 * count, RW(weight, count),
                 R(gradient, count))
#endif

static void check(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "layers: %s: %d\n", what, result);
    exit(3);
}

static void multiply(const struct tower *t, const float *a, const float *b, float *c)
{
    const float one = 1, none = 0;
    check(is_past ? product_past_the_call(t->stream, a, b, c, COUNT)
                  : product(t->stream, 0, 0, 256, 256, 256, &one, a, 256, b, 256, &none, c, 256),
          "a product");
}

static float *tensor(const struct tower *t)
{
    float *a;
    check(cudaMallocAsync((void **)&a, COUNT * sizeof(float), t->stream), "memory");
    return a;
}

static void release(const struct tower *t, float *a)
{
    check(cudaFreeAsync(a, t->stream), "a free");
}

static void begin(struct tower *t)
{
    t->gradient = tensor(t);
    t->x[0] = tensor(t);
    check(cudaMemcpyAsync(t->x[0], t->input, COUNT * sizeof(float), cudaMemcpyDeviceToDevice, t->stream), "a copy");
}

static void forward(struct tower *t, int i)
{
    multiply(t, t->x[i], t->weight, t->z[i] = tensor(t));
    t->x[i + 1] = tensor(t);
    if (t->is_second)
        launch_other_squash(t->stream, t->z[i], t->x[i + 1], COUNT);
    else
        squash<<<1, 1, 0, t->stream>>>(t->z[i], t->x[i + 1], COUNT);
}

static void turn(struct tower *t)
{
    begin_back<<<1, 1, 0, t->stream>>>(t->moment, t->gradient, COUNT);
}

static void backward(struct tower *t, int i)
{
    squash_back<<<1, 1, 0, t->stream>>>(t->z[i], t->x[i + 1], t->gradient, COUNT);
    float *more = tensor(t);
    multiply(t, t->gradient, t->x[i], more);
    release(t, t->gradient);
    release(t, t->z[i]);
    release(t, t->x[i + 1]);
    t->gradient = more;
}

/* The last product writes over what it wrote in the step before, and the pass before has left no room for that. */
static void end(struct tower *t)
{
    descend<<<1, 1, 0, t->stream>>>(t->weight, t->gradient, COUNT);
    multiply(t, t->gradient, t->input, t->moment);
    release(t, t->gradient);
    release(t, t->x[0]);
}

/* Each operation of one tower before the same of the other. */
static void step(struct tower *towers, int count)
{
    for (int k = 0; k < count; k++)
        begin(&towers[k]);
    for (int i = 0; i < LAYERS; i++)
        for (int k = 0; k < count; k++)
            forward(&towers[k], i);
    for (int k = 0; k < count; k++)
        turn(&towers[k]);
    for (int i = LAYERS - 1; i >= 0; i--)
        for (int k = 0; k < count; k++)
            backward(&towers[k], i);
    for (int k = 0; k < count; k++)
        end(&towers[k]);
    for (int k = 0; k < count; k++)
        check(cudaStreamSynchronize(towers[k].stream), "a step");
}

static void build(struct tower *t, size_t workspace_bytes, const float *host)
{
    check(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking), "a stream");
    if (workspace_bytes) {
        check(cudaMalloc(&t->workspace, workspace_bytes), "memory");
        check(set_workspace(t->stream, t->workspace, workspace_bytes), "a workspace");
    }
    t->weight = tensor(t), t->moment = tensor(t), t->input = tensor(t);
    check(cudaMemcpyAsync(t->weight, host, COUNT * sizeof(float), cudaMemcpyHostToDevice, t->stream), "a copy");
    check(cudaMemsetAsync(t->moment, 0, COUNT * sizeof(float), t->stream), "a set");
    check(cudaMemcpyAsync(t->input, host, COUNT * sizeof(float), cudaMemcpyHostToDevice, t->stream), "a copy");
}

static unsigned long long sum_up(const struct tower *t, unsigned long long sum)
{
    static float host[COUNT];
    check(cudaMemcpy(host, t->weight, sizeof(host), cudaMemcpyDeviceToHost), "a copy");
    for (int i = 0; i < COUNT; i++) {
        unsigned bits;
        memcpy(&bits, &host[i], sizeof(bits));
        sum = (sum ^ bits) * 0x9e3779b97f4a7c15;
    }
    return sum;
}

static void tear_down(struct tower *t)
{
    check(cudaFree(t->weight), "a free");
    check(cudaFree(t->workspace), "a free");
    check(cudaFree(t->moment), "a free");
    check(cudaFree(t->input), "a free");
}

int main(int argc, char **argv)
{
    int steps = 40, bytes = 0, count = 1;
    static struct tower towers[TOWERS];
    static float host[COUNT];
    const char *path = nullptr, *way = "linked";
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--steps"))
            steps = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--workspace"))
            bytes = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--towers"))
            count = atoi(argv[i + 1]) == TOWERS ? TOWERS : 1;
        else
            (!strcmp(argv[i], "--way") ? way : path) = argv[i + 1];
    is_past = !strcmp(way, "past");
    if (!strcmp(way, "named")) {
        void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        product = library ? (decltype(product))dlsym(library, "cublasSgemm_v2") : nullptr;
        set_workspace = library ? (decltype(set_workspace))dlsym(library, "cublasSetWorkspace_v2") : nullptr;
        check(product && set_workspace ? 0 : 1, "no such call");
    }
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 1009) / 1009 - 0.5f;
    towers[1].is_second = true;
    for (int k = 0; k < count; k++)
        build(&towers[k], (size_t)bytes, host);
    for (int i = 0; i < steps; i++)
        step(towers, count);
    unsigned long long sum = 0;
    for (int k = 0; k < count; k++)
        sum = sum_up(&towers[k], sum);
    printf("parameters %llx\n", sum);
    for (int k = 0; k < count; k++)
        tear_down(&towers[k]);
    return 0;
}
