/* busy.cuh - kernels that keep the device busy, for probes that ask what goes on meanwhile. */
#ifndef SPILLWAY_TESTS_GPU_BUSY_CUH
#define SPILLWAY_TESTS_GPU_BUSY_CUH
#include "probe.h"

/* Reads and writes every word of `data` again and again until `us` microseconds have passed on the device. */
static __global__ void busy_kernel(unsigned *data, size_t words, unsigned long long us)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    size_t step = (size_t)gridDim.x * blockDim.x;
    do {
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += step)
            data[i] = data[i] * 1664525u + 1013904223u;
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < us * 1000ull);
}

static __global__ void tiny_kernel(unsigned *data)
{
    if (data && threadIdx.x == 0)
        *data += 1;
}

static void busy_check(cudaError_t result, const char *what)
{
    if (result != cudaSuccess)
        probe_give_up("%s gave %s", what, cudaGetErrorName(result));
}

/* Starts a kernel of about `us` microseconds that uses all of the block, on some of the multiprocessors. */
static PROBE_UNUSED void busy_start(cudaStream_t stream, struct probe_block block, unsigned long long us)
{
    busy_kernel<<<32, 256, 0, stream>>>((unsigned *)(uintptr_t)block.address, block.bytes / sizeof(unsigned), us);
    busy_check(cudaGetLastError(), "launching the busy kernel");
}
#endif
