/* cublas.cu - stands in for cuBLAS: one product, by a kernel whose type says nothing of what it does with its tensors. */
#include <cstdint>
#include <cuda_runtime.h>

struct operands {
    const float *a, *b;
    float *c;
    int count;
};

extern "C" __global__ void simple_product(struct operands o)
{
    if (threadIdx.x || blockIdx.x)
        return;
    for (int i = 0; i < o.count; i++)
        o.c[i] = o.a[i] * o.b[i] + o.b[(i * 7 + 3) % o.count] * 0.25f;
}
#ifdef SIMGPU
SIMGPU_FOOTPRINT(simple_product, (struct operands o), 1.0 * o.count, R(o.a, o.count), R(o.b, o.count), W(o.c, o.count))
#endif

extern "C" __attribute__((visibility("default"))) int cublasSgemm_v2(void *handle, int ta, int tb, int m, int n, int k,
                                                                     const float *alpha, const float *a, int lda,
                                                                     const float *b, int ldb, const float *beta, float *c,
                                                                     int ldc)
{
    const struct operands o = {a, b, c, m * n};
    simple_product<<<1, 1, 0, (cudaStream_t)handle>>>(o);
    return cudaGetLastError() == cudaSuccess ? 0 : 13;
}

/* The same, past whoever stands in front of the call. */
extern "C" __attribute__((visibility("default"))) int product_past_the_call(void *handle, const float *a, const float *b,
                                                                            float *c, int count)
{
    const struct operands o = {a, b, c, count};
    simple_product<<<1, 1, 0, (cudaStream_t)handle>>>(o);
    return cudaGetLastError() == cudaSuccess ? 0 : 13;
}
