// chain.h - a training step on one stream, of a chain of layers: forward, and backward with weights updated in place. For
// programs that put its launches into an order that is not that of a stream alone.
#ifndef SPILLWAY_TESTS_CHAIN_H
#define SPILLWAY_TESTS_CHAIN_H
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

static void check(cudaError_t error, const char *call, const char *file, int line)
{
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: line %d: %s: %s\n", file, line, call, cudaGetErrorString(error));
    std::exit(3);
}

constexpr int LAYERS = 16, THREADS = 64;
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

__global__ void start(uint32_t *g, const uint32_t *y)
{
    WAIT_FOR_THE_ONE_AHEAD();
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        g[i] = y[i];
}

__global__ void backward(uint32_t *g, uint32_t *w, const uint32_t *y)
{
    WAIT_FOR_THE_ONE_AHEAD();
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x) {
        g[i] = g[i] * 3u + y[i];
        w[i] += g[i] >> 7;
    }
}

class Chain
{
  public:
    cudaStream_t stream;
    uint32_t *input;

    Chain() : data(WORDS)
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        for (size_t i = 0; i < WORDS; i++)
            data[i] = uint32_t(i) * 2654435761u;
        input = make_filled(WORDS);
        for (auto &each : w)
            each = make_filled(WORDS);
        CHECK(cudaDeviceSynchronize());
    }

    uint32_t *make_filled(size_t words)
    {
        uint32_t *p = make(words);
        CHECK(cudaMemcpyAsync(p, data.data(), words * sizeof *p, cudaMemcpyHostToDevice, stream));
        return p;
    }

    // `launch(kernel, parameters...)` puts a kernel on the stream, in one block of THREADS.
    template <class Launch> void run_step(int number, const Launch &launch)
    {
        uint32_t *y[LAYERS], all = 0;
        for (int l = 0; l < LAYERS; l++) {
            y[l] = make(WORDS);
            launch(forward, (const uint32_t *)(l ? y[l - 1] : input), (const uint32_t *)w[l], y[l]);
        }
        uint32_t *g = make(WORDS);
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
        std::printf("step %d %08x\n", number, all);
    }

  private:
    uint32_t *make(size_t words)
    {
        uint32_t *p;
        CHECK(cudaMallocAsync((void **)&p, words * sizeof *p, stream));
        return p;
    }

    uint32_t *w[LAYERS];
    std::vector<uint32_t> data;
};
#endif
