/* masks.cu - dropout as in a training loop: each step makes random masks of truth values, one byte each, and uses them again
 * in the opposite order. Eight truth values are a word that leads to the low addresses of a device, where its memory may be.
 *
 *     masks STEPS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime.h>

enum { MASKS = 24, LENGTH = 1 << 20, THREADS = 256 };

static void check(cudaError_t error, int line)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "masks: line %d: error %d\n", line, error);
    exit(3);
}
#define CHECK(call) check(call, __LINE__)

/* One in ten is dropped, as dropout has it. */
__global__ void drop(uint8_t *mask, uint32_t seed, int length)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        mask[i] = (((uint32_t)i + seed * 1000003u) * 2654435761u >> 8) % 10 != 0;
}

__global__ void apply(const uint8_t *mask, uint32_t *sums, int length)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length)
        sums[i] = sums[i] * 31u + mask[i];
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 1;
    uint8_t *masks[MASKS];
    uint32_t *sums, *host = (uint32_t *)malloc(LENGTH * sizeof *host), all = 0;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocAsync((void **)&sums, LENGTH * sizeof *sums, stream));
    CHECK(cudaMemsetAsync(sums, 0, LENGTH * sizeof *sums, stream));
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < MASKS; i++) {
            CHECK(cudaMallocAsync((void **)&masks[i], LENGTH, stream));
            drop<<<LENGTH / THREADS, THREADS, 0, stream>>>(masks[i], (uint32_t)(step * MASKS + i), LENGTH);
        }
        for (int i = MASKS; i-- > 0;) {
            apply<<<LENGTH / THREADS, THREADS, 0, stream>>>(masks[i], sums, LENGTH);
            CHECK(cudaFreeAsync(masks[i], stream));
        }
    }
    CHECK(cudaMemcpyAsync(host, sums, LENGTH * sizeof *sums, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < LENGTH; i++)
        all = all * 31u + host[i];
    printf("sums 0x%08x\n", all);
    return 0;
}
