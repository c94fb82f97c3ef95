// waiting.cu - a training step on one stream that waits, before its second kernel, for a value that another stream writes
// only later, behind work of its own. The order of calls is not the order of work, and no event says so. Knows nothing of
// spillway.
//
//     waiting [STEPS]
#include <cuda.h>
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
    std::fprintf(stderr, "waiting: line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    std::exit(3);
}

#define CHECK_DRIVER(call) check((call) == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown, #call, __LINE__)

constexpr int LAYERS = 16;
constexpr size_t WORDS = size_t(64) << 10;

__global__ void forward(const uint32_t *x, const uint32_t *w, uint32_t *y)
{
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x)
        y[i] = x[i] * 1664525u + (w[i] ^ w[i] >> 15);
}

__global__ void backward(uint32_t *g, uint32_t *w, const uint32_t *y)
{
    for (size_t i = threadIdx.x; i < WORDS; i += blockDim.x) {
        g[i] = g[i] * 3u + y[i];
        w[i] += g[i] >> 7;
    }
}

__global__ void mix(uint32_t *x, uint32_t salt)
{
    x[threadIdx.x] = x[threadIdx.x] * 5u + salt;
}

__global__ void add(uint32_t *x, const uint32_t *other)
{
    x[threadIdx.x] += other[threadIdx.x];
}

static cudaStream_t stream, beside;

static uint32_t *make(size_t words)
{
    uint32_t *p;
    CHECK(cudaMallocAsync((void **)&p, words * sizeof *p, stream));
    return p;
}

int main(int argc, char **argv)
{
    uint32_t *w[LAYERS], *input, *y[LAYERS], *other;
    CUdeviceptr value;
    std::vector<uint32_t> data(WORDS);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&value, 4));
    CHECK(cudaMemset((void *)value, 0, 4));
    for (size_t i = 0; i < WORDS; i++)
        data[i] = uint32_t(i) * 2654435761u;
    input = make(WORDS);
    other = make(64);
    CHECK(cudaMemcpyAsync(input, data.data(), WORDS * sizeof *input, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(other, data.data(), 64 * sizeof *other, cudaMemcpyHostToDevice, stream));
    for (auto &each : w) {
        each = make(WORDS);
        CHECK(cudaMemcpyAsync(each, data.data(), WORDS * sizeof *each, cudaMemcpyHostToDevice, stream));
    }
    CHECK(cudaDeviceSynchronize());
    for (int step = 0; step < (argc > 1 ? std::atoi(argv[1]) : 24); step++) {
        mix<<<1, 64, 0, stream>>>(input, 7u);
        CHECK_DRIVER(cuStreamWaitValue32(stream, value, step + 1, CU_STREAM_WAIT_VALUE_GEQ));
        add<<<1, 64, 0, stream>>>(input, other); // of this step, though it is submitted first
        mix<<<1, 64, 0, beside>>>(other, step);
        CHECK_DRIVER(cuStreamWriteValue32(beside, value, step + 1, 0));
        for (int l = 0; l < LAYERS; l++) {
            y[l] = make(WORDS);
            forward<<<1, 64, 0, stream>>>(l ? y[l - 1] : input, w[l], y[l]);
        }
        uint32_t *g = make(WORDS), all = 0;
        CHECK(cudaMemcpyAsync(g, y[LAYERS - 1], WORDS * sizeof *g, cudaMemcpyDeviceToDevice, stream));
        for (int l = LAYERS - 1; l >= 0; l--) {
            backward<<<1, 64, 0, stream>>>(g, w[l], y[l]);
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
