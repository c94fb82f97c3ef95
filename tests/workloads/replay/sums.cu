/* sums.cu - what the backward part of replay does with a tensor. */
#include "sums.h"
#include "launch.h"
#include "layer.h"
#include <algorithm>

/* Sums of integers are the same in any order. */
__global__ void take_sum_kernel(const uint32_t *__restrict__ words, size_t n, unsigned long long *sum)
{
    unsigned long long own = 0;
    SPAN (i, n)
        own += (words[i] + 1ull) * (2 * i + 0x9e3779b97f4a7c15ull);
    atomicAdd(sum, own);
}
SIMGPU_FOOTPRINT(take_sum_kernel, (const uint32_t *words, size_t n, unsigned long long *sum), 4.0 * n, R(words, n),
                 RW(sum, 1))

void take_sum(const tensor &of, unsigned long long *sum)
{
    const unsigned blocks = std::min(blocks_for(of.count()), 512u);
    take_sum_kernel<<<blocks, THREADS, 0, stream_of(COMPUTE)>>>((const uint32_t *)of.data(), of.count(), sum);
    CHECK_LAUNCH(take_sum_kernel);
}

__global__ void product_kernel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out, size_t n)
{
    SPAN (i, n)
        out[i] = a[i] * b[i];
}
SIMGPU_FOOTPRINT(product_kernel, (const float *a, const float *b, float *out, size_t n), 1.0 * n, R(a, n), R(b, n),
                 W(out, n))

tensor product_of(const tensor &a, const tensor &b)
{
    tensor out(a.rows, a.columns);
    product_kernel<<<blocks_for(a.count()), THREADS, 0, stream_of(COMPUTE)>>>(a.data(), b.data(), out.data(), a.count());
    CHECK_LAUNCH(product_kernel);
    return out;
}

__global__ void mixed_kernel(const float *__restrict__ gradient, const float *__restrict__ value, float *__restrict__ out,
                             size_t n)
{
    SPAN (i, n)
        out[i] = 0.9f * gradient[i] + 0.1f * value[i];
}
SIMGPU_FOOTPRINT(mixed_kernel, (const float *gradient, const float *value, float *out, size_t n), 3.0 * n, R(gradient, n),
                 R(value, n), W(out, n))

tensor mixed(const tensor &gradient, const tensor &value)
{
    tensor out(value.rows, value.columns);
    mixed_kernel<<<blocks_for(out.count()), THREADS, 0, stream_of(COMPUTE)>>>(gradient.data(), value.data(), out.data(),
                                                                              out.count());
    CHECK_LAUNCH(mixed_kernel);
    return out;
}

__global__ void update_kernel(float *__restrict__ weights, const float *__restrict__ gradient, float share, size_t n)
{
    SPAN (i, n)
        weights[i] -= 0.125f * SQUASHED(share * gradient[i]) + 0.03125f * (weights[i] - 1.5f);
}
SIMGPU_FOOTPRINT(update_kernel, (float *weights, const float *gradient, float share, size_t n), 6.0 * n, RW(weights, n),
                 R(gradient, n))

void update(const tensor &weights, const tensor &gradient, size_t rows)
{
    update_kernel<<<blocks_for(weights.count()), THREADS, 0, stream_of(COMPUTE)>>>(weights.data(), gradient.data(),
                                                                                   1.0f / (float)rows, weights.count());
    CHECK_LAUNCH(update_kernel);
}
