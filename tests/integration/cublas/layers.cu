/* layers.cu - trains layers that share one weight, by products of cuBLAS: what a product makes, and the backward pass needs,
 * is cheap to make again, and the weight is read by the product of each layer that comes meanwhile.
 *
 *     layers [--steps N] [--way linked|named|past] [--library FILE] [--workspace BYTES]
 *
 * linked: it calls the library that it was linked with; named: it looks the call up in FILE; past: no call of cuBLAS's is
 * made, the same kernels are launched. Prints a checksum of the weight. Exit status 3: a call failed. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>

enum { COUNT = 65536, LAYERS = 16 };

extern "C" int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda,
                              const float *b, int ldb, const float *beta, float *c, int ldc);
extern "C" int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
extern "C" int product_past_the_call(void *handle, const float *a, const float *b, float *c, int count);

static decltype(&cublasSgemm_v2) product = cublasSgemm_v2;
static decltype(&cublasSetWorkspace_v2) set_workspace = cublasSetWorkspace_v2;
static bool is_past;
static cudaStream_t stream;

__global__ void squash(const float *z, float *x, int count)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < count; i++)
        x[i] = z[i] / (1 + (z[i] < 0 ? -z[i] : z[i]));
}

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
SIMGPU_FOOTPRINT(squash, (const float *z, float *x, int count), 1.0 * count, R(z, count), W(x, count))
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

static void multiply(const float *a, const float *b, float *c)
{
    const float one = 1, none = 0;
    check(is_past ? product_past_the_call(stream, a, b, c, COUNT)
                  : product(stream, 0, 0, 256, 256, 256, &one, a, 256, b, 256, &none, c, 256),
          "a product");
}

static float *tensor()
{
    float *a;
    check(cudaMallocAsync((void **)&a, COUNT * sizeof(float), stream), "memory");
    return a;
}

/* The last product writes over what it wrote in the step before, and the pass before has left no room for that. */
static void step(float *weight, float *moment, const float *input)
{
    float *x[LAYERS + 1], *z[LAYERS], *gradient = tensor();
    x[0] = tensor();
    check(cudaMemcpyAsync(x[0], input, COUNT * sizeof(float), cudaMemcpyDeviceToDevice, stream), "a copy");
    for (int i = 0; i < LAYERS; i++) {
        multiply(x[i], weight, z[i] = tensor());
        squash<<<1, 1, 0, stream>>>(z[i], x[i + 1] = tensor(), COUNT);
    }
    begin_back<<<1, 1, 0, stream>>>(moment, gradient, COUNT);
    for (int i = LAYERS - 1; i >= 0; i--) {
        squash_back<<<1, 1, 0, stream>>>(z[i], x[i + 1], gradient, COUNT);
        float *more = tensor();
        multiply(gradient, x[i], more);
        check(cudaFreeAsync(gradient, stream), "a free");
        check(cudaFreeAsync(z[i], stream), "a free");
        check(cudaFreeAsync(x[i + 1], stream), "a free");
        gradient = more;
    }
    descend<<<1, 1, 0, stream>>>(weight, gradient, COUNT);
    multiply(gradient, input, moment);
    check(cudaFreeAsync(gradient, stream), "a free");
    check(cudaFreeAsync(x[0], stream), "a free");
    check(cudaStreamSynchronize(stream), "a step");
}

int main(int argc, char **argv)
{
    int steps = 40, bytes = 0;
    void *workspace = nullptr;
    const char *path = nullptr, *way = "linked";
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--steps"))
            steps = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--workspace"))
            bytes = atoi(argv[i + 1]);
        else
            (!strcmp(argv[i], "--way") ? way : path) = argv[i + 1];
    is_past = !strcmp(way, "past");
    if (!strcmp(way, "named")) {
        void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
        product = library ? (decltype(product))dlsym(library, "cublasSgemm_v2") : nullptr;
        set_workspace = library ? (decltype(set_workspace))dlsym(library, "cublasSetWorkspace_v2") : nullptr;
        check(product && set_workspace ? 0 : 1, "no such call");
    }
    check(cudaStreamCreate(&stream), "a stream");
    if (bytes) {
        check(cudaMalloc(&workspace, (size_t)bytes), "memory");
        check(set_workspace(stream, workspace, (size_t)bytes), "a workspace");
    }
    float *weight = tensor(), *moment = tensor(), *input = tensor(), host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i % 1009) / 1009 - 0.5f;
    check(cudaMemcpyAsync(weight, host, sizeof(host), cudaMemcpyHostToDevice, stream), "a copy");
    check(cudaMemsetAsync(moment, 0, COUNT * sizeof(float), stream), "a set");
    check(cudaMemcpyAsync(input, host, sizeof(host), cudaMemcpyHostToDevice, stream), "a copy");
    for (int i = 0; i < steps; i++)
        step(weight, moment, input);
    check(cudaMemcpy(host, weight, sizeof(host), cudaMemcpyDeviceToHost), "a copy");
    unsigned long long sum = 0;
    for (int i = 0; i < COUNT; i++) {
        unsigned bits;
        memcpy(&bits, &host[i], sizeof(bits));
        sum = (sum ^ bits) * 0x9e3779b97f4a7c15;
    }
    printf("parameters %llx\n", sum);
    check(cudaFree(weight), "a free");
    check(cudaFree(workspace), "a free");
    check(cudaFree(moment), "a free");
    check(cudaFree(input), "a free");
    return 0;
}
