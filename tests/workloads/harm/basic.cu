/* basic.cu - what harm does beside its kinds of layers. */
#include "layer.h"

__global__ void plain_kernel(const uint32_t *x, size_t nx, const uint32_t *w, size_t nw, uint32_t *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[WRAPPED(i, nx)], w[WRAPPED(i, nw)]);
}
SIMGPU_FOOTPRINT(plain_kernel, (const uint32_t *x, size_t nx, const uint32_t *w, size_t nw, uint32_t *y, size_t n), EACH *n,
                 R(x, nx < n ? nx : n), R(w, nw < n ? nw : n), W(y, n))

void plain(const words &x, const words &w, const words &y)
{
    LAUNCH(plain_kernel, y.count(), x.data(), x.count(), w.data(), w.count(), y.data(), y.count());
}

__global__ void update_kernel(uint32_t *w, size_t n, const uint32_t *g, size_t ng)
{
    SPAN (i, n)
        w[i] = MIXED(w[i], g[WRAPPED(i, ng)]);
}
SIMGPU_FOOTPRINT(update_kernel, (uint32_t * w, size_t n, const uint32_t *g, size_t ng), EACH *n, RW(w, n),
                 R(g, ng < n ? ng : n))

void update(const words &w, const words &g)
{
    LAUNCH(update_kernel, w.count(), w.data(), w.count(), g.data(), g.count());
}

__global__ void fill_kernel(uint32_t *y, size_t n, uint32_t seed)
{
    SPAN (i, n)
        y[i] = MIXED(seed * 2654435761u, (uint32_t)i * 2246822519u);
}
SIMGPU_FOOTPRINT(fill_kernel, (uint32_t * y, size_t n, uint32_t seed), 10.0 * n, W(y, n))

void fill(const words &y, uint32_t seed)
{
    LAUNCH(fill_kernel, y.count(), y.data(), y.count(), seed);
}
