/* squash.h - what layers puts between its products, in a module of its own for each tower: replays in one module come one
 * after another anyway. */
#ifndef LAYERS_SQUASH_H
#define LAYERS_SQUASH_H
#include <cuda_runtime.h>

#ifdef SIMGPU
#define SQUASH_FOOTPRINT(name) \
    SIMGPU_FOOTPRINT(name, (const float *z, float *x, int count), 1.0 * count, R(z, count), W(x, count))
#else
#define SQUASH_FOOTPRINT(name)
#endif

#define SQUASH(name) \
    __global__ void name(const float *z, float *x, int count) \
    { \
        if (threadIdx.x || blockIdx.x) \
            return; \
        for (int i = 0; i < count; i++) \
            x[i] = z[i] / (1 + (z[i] < 0 ? -z[i] : z[i])); \
    } \
    SQUASH_FOOTPRINT(name)

void launch_other_squash(cudaStream_t stream, const float *z, float *x, int count);
#endif
