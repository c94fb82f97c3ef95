// waiting.cu - a training step on one stream that waits, before its second kernel, for a value that another stream writes
// only later, behind work of its own. The order of calls is not the order of work, and no event says so. Knows nothing of
// spillway.
//
//     waiting [STEPS]
#include <cuda.h>
#include "chain.h"

#define CHECK_DRIVER(call) CHECK((call) == CUDA_SUCCESS ? cudaSuccess : cudaErrorUnknown)

__global__ void mix(uint32_t *x, uint32_t salt)
{
    x[threadIdx.x] = x[threadIdx.x] * 5u + salt;
}

__global__ void add(uint32_t *x, const uint32_t *other)
{
    x[threadIdx.x] += other[threadIdx.x];
}

struct Plain {
    cudaStream_t stream;

    template <class... P, class... A> void operator()(void (*kernel)(P...), A... given) const
    {
        void *list[] = {&given...};
        CHECK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(THREADS), list, 0, stream));
    }
};

int main(int argc, char **argv)
{
    Chain chain;
    CUdeviceptr value;
    cudaStream_t beside;
    uint32_t *other = chain.make_filled(THREADS);
    CHECK(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));
    CHECK(cudaMalloc((void **)&value, 4));
    CHECK(cudaMemset((void *)value, 0, 4));
    CHECK(cudaDeviceSynchronize());
    const Plain launch = {chain.stream}, launch_beside = {beside};
    for (int step = 0; step < (argc > 1 ? std::atoi(argv[1]) : 24); step++) {
        launch(mix, chain.input, 7u);
        CHECK_DRIVER(cuStreamWaitValue32(chain.stream, value, step + 1, CU_STREAM_WAIT_VALUE_GEQ));
        launch(add, chain.input, (const uint32_t *)other); // of this step's value, though it is submitted first
        launch_beside(mix, other, (uint32_t)step);
        CHECK_DRIVER(cuStreamWriteValue32(beside, value, step + 1, 0));
        chain.run_step(step, launch);
    }
    return 0;
}
