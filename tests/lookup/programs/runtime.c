/* runtime.c - a program of the CUDA runtime, which it is linked with: allocates, fills, copies. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    static char bytes[4096];
    void *p = NULL;
    cudaError_t r = cudaMalloc(&p, sizeof(bytes));
    if (r == cudaSuccess)
        r = cudaMemsetAsync(p, 0, sizeof(bytes), 0);
    if (r == cudaSuccess)
        r = cudaMemcpyAsync(p, bytes, sizeof(bytes), cudaMemcpyHostToDevice, 0);
    if (r == cudaSuccess)
        r = cudaFree(p);
    printf("result %d\n", (int)r);
    return r == cudaSuccess ? 0 : 1;
}
