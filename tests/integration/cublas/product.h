/* product.h - the kernel that the stand-in for cuBLAS makes products by, in modules of their own: replays in one module come
 * one after another anyway. */
#ifndef CUBLAS_PRODUCT_H
#define CUBLAS_PRODUCT_H
#include <cuda_runtime.h>

struct operands {
    const float *a, *b;
    float *c;
    int count;
    int *counter; /* in the workspace; or NULL */
    int counters; /* 1 where there is one */
};

#ifdef SIMGPU
#define PRODUCT_FOOTPRINT(name) \
    SIMGPU_FOOTPRINT(name, (struct operands o), 1.0 * o.count, R(o.a, o.count), R(o.b, o.count), W(o.c, o.count), \
                     RW(o.counter, o.counters))
#else
#define PRODUCT_FOOTPRINT(name)
#endif

#define PRODUCT(name) \
    extern "C" __global__ void name(struct operands o) \
    { \
        if (threadIdx.x || blockIdx.x) \
            return; \
        const int before = o.counters ? (*o.counter)++ : 0; \
        for (int i = 0; i < o.count; i++) \
            o.c[i] = o.a[i] * o.b[i] + o.b[(i * 7 + 3) % o.count] * 0.25f + 17 * before; \
    } \
    PRODUCT_FOOTPRINT(name)

void launch_other_product(cudaStream_t stream, struct operands o);
#endif
