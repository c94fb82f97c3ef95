/* elementwise.cu - kernels that treat every element by itself, sums over columns, and the rows of a table. */
#include "elementwise.h"
#include "launch.h"
#include "random.h"

__global__ void fill_kernel(float *__restrict__ out, float value, size_t n)
{
    SPAN (i, n)
        out[i] = value;
}
SIMGPU_FOOTPRINT(fill_kernel, (float *out, float value, size_t n), 0, W(out, n))

void fill(const tensor &out, float value, enum role role)
{
    fill_kernel<<<blocks_for(out.count()), THREADS, 0, stream_of(role)>>>(out.data(), value, out.count());
    CHECK_LAUNCH(fill_kernel);
}

__global__ void fill_random_kernel(float *__restrict__ out, float limit, uint64_t seed, size_t n)
{
    SPAN (i, n)
        out[i] = (random_unit(seed, i) * 2.0f - 1.0f) * limit;
}
SIMGPU_FOOTPRINT(fill_random_kernel, (float *out, float limit, uint64_t seed, size_t n), 10.0 * n, W(out, n))

void fill_random(const tensor &out, float limit, uint64_t seed)
{
    fill_random_kernel<<<blocks_for(out.count()), THREADS, 0, stream_of(COMPUTE)>>>(out.data(), limit, seed << 32,
                                                                                    out.count());
    CHECK_LAUNCH(fill_random_kernel);
}

__global__ void sum_kernel(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ out, size_t n)
{
    SPAN (i, n)
        out[i] = a[i] + b[i];
}
SIMGPU_FOOTPRINT(sum_kernel, (const float *a, const float *b, float *out, size_t n), 1.0 * n, R(a, n), R(b, n), W(out, n))

tensor sum_of(const tensor &a, const tensor &b, enum role role)
{
    tensor out(a.rows, a.columns, role);
    sum_kernel<<<blocks_for(a.count()), THREADS, 0, stream_of(role)>>>(a.data(), b.data(), out.data(), a.count());
    CHECK_LAUNCH(sum_kernel);
    return out;
}

__global__ void add_to_kernel(float *__restrict__ sum, const float *__restrict__ a, size_t n)
{
    SPAN (i, n)
        sum[i] += a[i];
}
SIMGPU_FOOTPRINT(add_to_kernel, (float *sum, const float *a, size_t n), 1.0 * n, RW(sum, n), R(a, n))

void add_to(const tensor &sum, const tensor &a, enum role role)
{
    add_to_kernel<<<blocks_for(a.count()), THREADS, 0, stream_of(role)>>>(sum.data(), a.data(), a.count());
    CHECK_LAUNCH(add_to_kernel);
}

__global__ void relu_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n)
        y[i] = x[i] < 0.0f ? 0.0f : x[i]; /* lets a NaN through */
}
SIMGPU_FOOTPRINT(relu_kernel, (const float *x, float *y, size_t n), 1.0 * n, R(x, n), W(y, n))

__global__ void relu_gradient_kernel(const float *__restrict__ y, const float *__restrict__ dy, float *__restrict__ dx,
                                     size_t n)
{
    SPAN (i, n)
        dx[i] = y[i] == 0.0f ? 0.0f : dy[i];
}
SIMGPU_FOOTPRINT(relu_gradient_kernel, (const float *y, const float *dy, float *dx, size_t n), 1.0 * n, R(y, n), R(dy, n),
                 W(dx, n))

__global__ void relu_in_place_kernel(float *__restrict__ x, size_t n)
{
    SPAN (i, n)
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
}
SIMGPU_FOOTPRINT(relu_in_place_kernel, (float *x, size_t n), 1.0 * n, RW(x, n))

__global__ void relu_gradient_in_place_kernel(const float *__restrict__ y, float *__restrict__ dy, size_t n)
{
    SPAN (i, n)
        dy[i] = y[i] == 0.0f ? 0.0f : dy[i];
}
SIMGPU_FOOTPRINT(relu_gradient_in_place_kernel, (const float *y, float *dy, size_t n), 1.0 * n, R(y, n), RW(dy, n))

/* x times the normal distribution's share below x, by the usual approximation with tanh. */
#define GELU_A 0.7978845608f /* sqrt(2 / pi) */
#define GELU_B 0.044715f

__global__ void gelu_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n) {
        float t = hyperbolic_tangent(GELU_A * (x[i] + GELU_B * x[i] * x[i] * x[i]));
        y[i] = 0.5f * x[i] * (1.0f + t);
    }
}
SIMGPU_FOOTPRINT(gelu_kernel, (const float *x, float *y, size_t n), 30.0 * n, R(x, n), W(y, n))

static ON_DEVICE inline float gelu_gradient(float x, float dy)
{
    float square = x * x;
    float t = hyperbolic_tangent(GELU_A * (x + GELU_B * square * x));
    float dt = (1.0f - t * t) * GELU_A * (1.0f + 3.0f * GELU_B * square);
    return dy * 0.5f * (1.0f + t + x * dt);
}

__global__ void gelu_gradient_kernel(const float *__restrict__ x, const float *__restrict__ dy, float *__restrict__ dx,
                                     size_t n)
{
    SPAN (i, n)
        dx[i] = gelu_gradient(x[i], dy[i]);
}
SIMGPU_FOOTPRINT(gelu_gradient_kernel, (const float *x, const float *dy, float *dx, size_t n), 40.0 * n, R(x, n), R(dy, n),
                 W(dx, n))

__global__ void gelu_gradient_in_place_kernel(const float *__restrict__ x, float *__restrict__ dy, size_t n)
{
    SPAN (i, n)
        dy[i] = gelu_gradient(x[i], dy[i]);
}
SIMGPU_FOOTPRINT(gelu_gradient_in_place_kernel, (const float *x, float *dy, size_t n), 40.0 * n, R(x, n), RW(dy, n))

tensor activate(enum activation kind, const tensor &x)
{
    tensor y(x.rows, x.columns);
    if (kind == RELU)
        relu_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    else
        gelu_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(activate);
    return y;
}

tensor activation_gradient(enum activation kind, const tensor &saved, const tensor &dy)
{
    tensor dx(dy.rows, dy.columns);
    size_t n = dy.count();
    if (kind == RELU)
        relu_gradient_kernel<<<blocks_for(n), THREADS, 0, stream_of(COMPUTE)>>>(saved.data(), dy.data(), dx.data(), n);
    else
        gelu_gradient_kernel<<<blocks_for(n), THREADS, 0, stream_of(COMPUTE)>>>(saved.data(), dy.data(), dx.data(), n);
    CHECK_LAUNCH(activation_gradient);
    return dx;
}

void relu_in_place(const tensor &x)
{
    relu_in_place_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), x.count());
    CHECK_LAUNCH(relu_in_place_kernel);
}

void activation_gradient_in_place(enum activation kind, const tensor &saved, const tensor &dy)
{
    size_t n = dy.count();
    if (kind == RELU)
        relu_gradient_in_place_kernel<<<blocks_for(n), THREADS, 0, stream_of(COMPUTE)>>>(saved.data(), dy.data(), n);
    else
        gelu_gradient_in_place_kernel<<<blocks_for(n), THREADS, 0, stream_of(COMPUTE)>>>(saved.data(), dy.data(), n);
    CHECK_LAUNCH(activation_gradient_in_place);
}

/* On a GPU a block sums 32 columns at a time: 32 groups of rows each by itself, then the groups in order. */
__global__ void column_sums_kernel(const float *__restrict__ x, float *__restrict__ sums, int rows, int columns)
{
#ifdef SIMGPU
    for (int c = 0; c < columns; c++)
        sums[c] = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            sums[c] += x[(size_t)r * columns + c];
#else
    __shared__ float part[32][33];
    int lane = threadIdx.x % 32, group = threadIdx.x / 32;
    for (int first = blockIdx.x * 32; first < columns; first += gridDim.x * 32) {
        int c = first + lane;
        float sum = 0;
        for (int r = group; r < rows && c < columns; r += 32)
            sum += x[(size_t)r * columns + c];
        part[group][lane] = sum;
        __syncthreads();
        for (int g = 1; g < 32 && group == 0; g++)
            sum += part[g][lane];
        if (group == 0 && c < columns)
            sums[c] = sum;
        __syncthreads();
    }
#endif
}
SIMGPU_FOOTPRINT(column_sums_kernel, (const float *x, float *sums, int rows, int columns), (double)rows *columns,
                 R(x, (size_t)rows *columns), W(sums, columns))

tensor column_sums(const tensor &x, enum role role)
{
    tensor sums(1, x.columns, role);
    column_sums_kernel<<<blocks_for_columns(x.columns), WIDE_THREADS, 0, stream_of(role)>>>(x.data(), sums.data(),
                                                                                            (int)x.rows, (int)x.columns);
    CHECK_LAUNCH(column_sums_kernel);
    return sums;
}

__global__ void gather_rows_kernel(const float *__restrict__ table, const int *__restrict__ which, float *__restrict__ out,
                                   int rows, int columns, int table_rows)
{
    (void)table_rows; /* for the footprint */
    ROWS (r, (size_t)rows)
        LANES (c, columns)
            out[r * columns + c] = table[(size_t)which[r] * columns + c];
}
SIMGPU_FOOTPRINT(gather_rows_kernel,
                 (const float *table, const int *which, float *out, int rows, int columns, int table_rows), 0,
                 R(table, (size_t)table_rows *columns), R(which, rows), W(out, (size_t)rows *columns))

tensor gather_rows(const tensor &table, const indices &which)
{
    tensor out(which.rows, table.columns);
    gather_rows_kernel<<<blocks_for_rows(out.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        table.data(), which.data(), out.data(), (int)out.rows, (int)out.columns, (int)table.rows);
    CHECK_LAUNCH(gather_rows_kernel);
    return out;
}

/* One team per row of the table walks over all indices; on the host a single walk does for all rows. */
__global__ void gather_rows_gradient_kernel(const float *__restrict__ dy, const int *__restrict__ which,
                                            float *__restrict__ dtable, int rows, int columns, int table_rows)
{
#ifdef SIMGPU
    for (size_t i = 0; i < (size_t)table_rows * columns; i++)
        dtable[i] = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            dtable[(size_t)which[r] * columns + c] += dy[(size_t)r * columns + c];
#else
    ROWS (t, (size_t)table_rows)
        LANES (c, columns) {
            float sum = 0;
            for (int r = 0; r < rows; r++)
                if (which[r] == (int)t)
                    sum += dy[(size_t)r * columns + c];
            dtable[t * columns + c] = sum;
        }
#endif
}
SIMGPU_FOOTPRINT(gather_rows_gradient_kernel,
                 (const float *dy, const int *which, float *dtable, int rows, int columns, int table_rows),
                 (double)rows *columns, R(dy, (size_t)rows *columns), R(which, rows), W(dtable, (size_t)table_rows *columns))

tensor gather_rows_gradient(const tensor &dy, const indices &which, size_t table_rows, enum role role)
{
    tensor dtable(table_rows, dy.columns, role);
    gather_rows_gradient_kernel<<<blocks_for_rows(table_rows), THREADS, 0, stream_of(role)>>>(
        dy.data(), which.data(), dtable.data(), (int)dy.rows, (int)dy.columns, (int)table_rows);
    CHECK_LAUNCH(gather_rows_gradient_kernel);
    return dtable;
}

__global__ void position_numbers_kernel(int *__restrict__ out, int sequence, size_t n)
{
    SPAN (i, n)
        out[i] = (int)(i % sequence);
}
SIMGPU_FOOTPRINT(position_numbers_kernel, (int *out, int sequence, size_t n), 0, W(out, n))

indices position_numbers(size_t sequences, size_t sequence)
{
    indices out(sequences * sequence, 1);
    position_numbers_kernel<<<blocks_for(out.count()), THREADS, 0, stream_of(COMPUTE)>>>(out.data(), (int)sequence,
                                                                                         out.count());
    CHECK_LAUNCH(position_numbers_kernel);
    return out;
}
