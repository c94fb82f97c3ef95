/* counted.cu - asks the device for known numbers of things, a round of them for each number on the command line. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void add_one(int *values, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        values[i] += 1;
}

static void check(cudaError_t result)
{
    if (result == cudaSuccess)
        return;
    printf("%s\n", cudaGetErrorString(result));
    exit(1);
}

/* 3 allocations and frees, 4 launches, 2 fills, 4 copies of 256 KiB. */
static void round_of_work()
{
    enum { COUNT = 65536, BYTES = COUNT * sizeof(int) };
    static int host[COUNT];
    int *a, *b, *c;
    check(cudaMalloc(&a, BYTES));
    check(cudaMalloc(&b, 8 * BYTES));
    check(cudaMallocAsync(&c, BYTES, 0));
    check(cudaMemset(a, 0, BYTES));
    check(cudaMemsetAsync(c, 0, BYTES, 0));
    check(cudaMemcpy(b, host, BYTES, cudaMemcpyHostToDevice));
    for (int i = 0; i < 4; i++)
        add_one<<<4, 256>>>(i % 2 ? a : b, COUNT);
    check(cudaGetLastError());
    check(cudaMemcpyAsync(c, a, BYTES, cudaMemcpyDeviceToDevice, 0));
    check(cudaMemcpyAsync(host, b, BYTES, cudaMemcpyDeviceToHost, 0));
    check(cudaMemcpy(host, c, BYTES, cudaMemcpyDefault));
    if (host[COUNT - 1] != 2) {
        printf("computed %d\n", host[COUNT - 1]);
        exit(1);
    }
    check(cudaFreeAsync(c, 0));
    check(cudaFree(b));
    check(cudaFree(a));
}

int main(int argc, char **argv)
{
    for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--)
        round_of_work();
    check(cudaDeviceSynchronize());
    return 0;
}
