/* dropout.cu - zeroes a random share of all numbers. */
#include "dropout.h"
#include "launch.h"
#include "random.h"

__global__ void drop_kernel(const float *__restrict__ x, float *__restrict__ y, float share, float factor, uint64_t seed,
                            uint64_t first, size_t n)
{
    SPAN (i, n)
        y[i] = random_unit(seed, first + i) < share ? 0.0f : x[i] * factor;
}
SIMGPU_FOOTPRINT(drop_kernel, (const float *x, float *y, float share, float factor, uint64_t seed, uint64_t first, size_t n),
                 12.0 * n, R(x, n), W(y, n))

__global__ void drop_and_note_kernel(const float *__restrict__ x, float *__restrict__ y, unsigned char *__restrict__ mask,
                                     float share, float factor, uint64_t seed, uint64_t first, size_t n)
{
    SPAN (i, n) {
        mask[i] = random_unit(seed, first + i) >= share;
        y[i] = mask[i] ? x[i] * factor : 0.0f;
    }
}
SIMGPU_FOOTPRINT(drop_and_note_kernel,
                 (const float *x, float *y, unsigned char *mask, float share, float factor, uint64_t seed, uint64_t first,
                  size_t n),
                 12.0 * n, R(x, n), W(y, n), W(mask, n))

__global__ void drop_gradient_kernel(const float *__restrict__ dy, const unsigned char *__restrict__ mask,
                                     float *__restrict__ dx, float factor, size_t n)
{
    SPAN (i, n)
        dx[i] = mask[i] ? dy[i] * factor : 0.0f;
}
SIMGPU_FOOTPRINT(drop_gradient_kernel, (const float *dy, const unsigned char *mask, float *dx, float factor, size_t n),
                 1.0 * n, R(dy, n), R(mask, n), W(dx, n))

static float factor_of(const struct drawing &d)
{
    return 1.0f / (1.0f - d.share);
}

tensor drop(const struct drawing &d, const tensor &x)
{
    tensor y(x.rows, x.columns);
    drop_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), d.share, factor_of(d), d.seed,
                                                                           d.first, x.count());
    CHECK_LAUNCH(drop_kernel);
    return y;
}

tensor drop(const struct drawing &d, const tensor &x, mask *ret_mask)
{
    tensor y(x.rows, x.columns);
    mask m(x.rows, x.columns);
    drop_and_note_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(
        x.data(), y.data(), m.data(), d.share, factor_of(d), d.seed, d.first, x.count());
    CHECK_LAUNCH(drop_and_note_kernel);
    *ret_mask = m;
    return y;
}

tensor drop_gradient(const struct drawing &d, const mask &m, const tensor &dy)
{
    tensor dx(dy.rows, dy.columns);
    drop_gradient_kernel<<<blocks_for(dy.count()), THREADS, 0, stream_of(COMPUTE)>>>(dy.data(), m.data(), dx.data(),
                                                                                     factor_of(d), dy.count());
    CHECK_LAUNCH(drop_gradient_kernel);
    return dx;
}
