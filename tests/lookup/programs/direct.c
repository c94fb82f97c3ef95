/* direct.c - reaches the driver by names that the loader binds: built as a program (with DT_NEEDED libcuda.so.1) and as a
 * library that programs open. */
#include <cuda.h>
#include <stdio.h>

int reach_driver(void);
int reach_driver(void)
{
    CUdeviceptr p = 0;
    CUresult r = cuInit(0);
    if (r == CUDA_SUCCESS)
        r = cuMemAlloc_v2(&p, 64 << 20);
    if (r == CUDA_SUCCESS)
        r = cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    printf("result %d\n", (int)r);
    return r == CUDA_SUCCESS ? 0 : 1;
}

#ifdef PROGRAM
int main(void)
{
    return reach_driver();
}
#endif
