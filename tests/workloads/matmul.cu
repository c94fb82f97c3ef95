/* matmul.cu - matrix products of any layout. */
#include "matmul.h"
#include "tile.h"

/* Elements from the first to the last that an operand of `rows` x `columns` matrices covers. */
[[maybe_unused]] static inline size_t extent(const struct product &p, const struct layout &l, int rows, int columns)
{
    return (size_t)((p.outer - 1) * l.outer + (p.inner - 1) * l.inner + (rows - 1) * l.row + (columns - 1) * l.column + 1);
}

__global__ void multiply_kernel(struct product p, const float *a, const float *b, const float *bias, float *c)
{
#ifdef SIMGPU
    for (int batch = 0; batch < p.outer * p.inner; batch++) {
        int outer = batch / p.inner, inner = batch % p.inner;
        float *to = c + outer * p.c.outer + inner * p.c.inner;
        for (int i = 0; i < p.m && !p.accumulate; i++)
            for (int j = 0; j < p.n; j++)
                to[i * p.c.row + j] = bias ? bias[j] : 0.0f;
        host_multiply(p.m, p.n, p.k, p.alpha, a + outer * p.a.outer + inner * p.a.inner, p.a.row, p.a.column,
                      b + outer * p.b.outer + inner * p.b.inner, p.b.row, p.b.column, to, p.c.row);
    }
#else
    int across = tiles(p.n), each = across * tiles(p.m);
    for (int tile = blockIdx.x; tile < each * p.outer * p.inner; tile += gridDim.x) {
        int outer = tile / each / p.inner, inner = tile / each % p.inner, place = tile % each;
        const float *from_a = a + outer * p.a.outer + inner * p.a.inner, *from_b = b + outer * p.b.outer + inner * p.b.inner;
        float *to = c + outer * p.c.outer + inner * p.c.inner;
        multiply_tile(
            p.m, p.n, p.k, place / across * TILE, place % across * TILE, p.a.column == 1, p.b.column == 1,
            [&](int row, int depth) { return from_a[row * p.a.row + depth * p.a.column]; },
            [&](int depth, int column) { return from_b[depth * p.b.row + column * p.b.column]; },
            [&](int row, int column, float sum) {
                float *place = to + row * p.c.row + column;
                *place = p.alpha * sum + (p.accumulate ? *place : bias ? bias[column] : 0.0f);
            });
    }
#endif
}
SIMGPU_FOOTPRINT(multiply_kernel, (struct product p, const float *a, const float *b, const float *bias, float *c),
                 2.0 * p.m * p.n * p.k * p.outer * p.inner, R(a, extent(p, p.a, p.m, p.k)), R(b, extent(p, p.b, p.k, p.n)),
                 R(bias, bias ? p.n : 0), W(c, p.accumulate ? 0 : extent(p, p.c, p.m, p.n)),
                 RW(c, p.accumulate ? extent(p, p.c, p.m, p.n) : 0))

void multiply(const struct product &p, const float *a, const float *b, const float *bias, float *c, enum role role)
{
    size_t tile_count = (size_t)((p.m + 63) / 64) * ((p.n + 63) / 64) * p.outer * p.inner;
    multiply_kernel<<<blocks_for(tile_count, 1), THREADS, 0, stream_of(role)>>>(p, a, b, bias, c);
    CHECK_LAUNCH(multiply_kernel);
}

/* The layouts of a matrix kept row by row, and of its transpose. */
static struct layout by_rows(const tensor &t)
{
    return {(long)t.columns, 1, 0, 0};
}

static struct layout transposed(const tensor &t)
{
    return {1, (long)t.columns, 0, 0};
}

tensor times(const tensor &a, const tensor &b, const tensor &bias, enum role role)
{
    tensor c(a.rows, b.columns, role);
    multiply({(int)c.rows, (int)c.columns, (int)a.columns, 1, 1, 1.0f, 0, by_rows(a), by_rows(b), by_rows(c)}, a.data(),
             b.data(), bias.data(), c.data(), role);
    return c;
}

void add_times(const tensor &sum, const tensor &a, const tensor &b, enum role role)
{
    multiply({(int)sum.rows, (int)sum.columns, (int)a.columns, 1, 1, 1.0f, 1, by_rows(a), by_rows(b), by_rows(sum)},
             a.data(), b.data(), nullptr, sum.data(), role);
}

tensor times_transposed(const tensor &a, const tensor &b, enum role role)
{
    tensor c(a.rows, b.rows, role);
    multiply({(int)c.rows, (int)c.columns, (int)a.columns, 1, 1, 1.0f, 0, by_rows(a), transposed(b), by_rows(c)}, a.data(),
             b.data(), nullptr, c.data(), role);
    return c;
}

tensor transposed_times(const tensor &a, const tensor &b, enum role role)
{
    tensor c(a.columns, b.columns, role);
    multiply({(int)c.rows, (int)c.columns, (int)a.rows, 1, 1, 1.0f, 0, transposed(a), by_rows(b), by_rows(c)}, a.data(),
             b.data(), nullptr, c.data(), role);
    return c;
}
