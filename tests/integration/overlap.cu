// overlap.cu - a training step of which each launch may begin before the kernel ahead of it has ended (programmatic
// dependent launch), and waits for it where it has to. Knows nothing of spillway. Prints the digest of its weights after
// each step.
//
//     overlap [STEPS]
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check((call), #call, __LINE__)

static void check(cudaError_t error, const char *call, int line)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "overlap: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(3);
}

constexpr int LAYERS = 16;
constexpr size_t WORDS = size_t(64) << 10;

#if defined(SIMGPU) // the simulated device runs one kernel at a time
#define WAIT_FOR_THE_ONE_AHEAD()
#else
#define WAIT_FOR_THE_ONE_AHEAD() cudaGridDependencySynchronize()
#endif

__global__ void forward(const uint32_t *x, const uint32_t *w, uint32_t *y)
{
    WAIT_FOR_THE_ONE_AHEAD();
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        y[i] = x[i] * 1664525u + (w[i] ^ w[i] >> 15);
}

__global__ void backward(uint32_t *g, uint32_t *w, const uint32_t *y)
{
    WAIT_FOR_THE_ONE_AHEAD();
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x) {
        g[i] = g[i] * 3u + y[i];
        w[i] += g[i] >> 7;
    }
}

__global__ void start(uint32_t *g, const uint32_t *y)
{
    WAIT_FOR_THE_ONE_AHEAD();
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        g[i] = y[i];
}

static cudaStream_t stream;

template <class... P, class... A> static void launch(void (*kernel)(P...), A... given)
{
    cudaLaunchAttribute attribute = {};
    cudaLaunchConfig_t config = {};
    void *list[] = {&given...};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.gridDim = dim3(1);
    config.blockDim = dim3(64);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaLaunchKernelExC(&config, (const void *)kernel, list));
}

static uint32_t *make()
{
    uint32_t *p;
    CHECK(cudaMallocAsync((void **)&p, WORDS * sizeof *p, stream));
    return p;
}

int main(int argc, char **argv)
{
    uint32_t *w[LAYERS], *input, *y[LAYERS];
    std::vector<uint32_t> data(WORDS);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (size_t i = 0; i < WORDS; i++)
        data[i] = uint32_t(i) * 2654435761u;
    input = make();
    CHECK(cudaMemcpyAsync(input, data.data(), WORDS * sizeof *input, cudaMemcpyHostToDevice, stream));
    for (auto &each : w) {
        each = make();
        CHECK(cudaMemcpyAsync(each, data.data(), WORDS * sizeof *each, cudaMemcpyHostToDevice, stream));
    }
    for (int step = 0; step < (argc > 1 ? std::atoi(argv[1]) : 24); step++) {
        for (int l = 0; l < LAYERS; l++) {
            y[l] = make();
            launch(forward, (const uint32_t *)(l ? y[l - 1] : input), (const uint32_t *)w[l], y[l]);
        }
        uint32_t *g = make(), all = 0;
        launch(start, g, (const uint32_t *)y[LAYERS - 1]);
        for (int l = LAYERS - 1; l >= 0; l--) {
            launch(backward, g, w[l], (const uint32_t *)y[l]);
            CHECK(cudaFreeAsync(y[l], stream));
        }
        CHECK(cudaMemcpyAsync(data.data(), g, WORDS * sizeof *g, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaFreeAsync(g, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (uint32_t word : data)
            all = all * 31 + word;
        std::printf("step %d %08x\n", step, all);
    }
    return 0;
}
