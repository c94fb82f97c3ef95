/* normalize.cu - layer normalisation (over each row) and batch normalisation (over each column). */
#include "normalize.h"
#include "launch.h"

#define SMALLEST_VARIANCE 1e-5f

__global__ void layer_normalize_kernel(const float *__restrict__ x, const float *__restrict__ scale,
                                       const float *__restrict__ shift, float *__restrict__ y, float *__restrict__ mean,
                                       float *__restrict__ inverse, int rows, int columns)
{
    ROWS (r, (size_t)rows) {
        const float *from = x + r * columns;
        float sum = 0, squares = 0;
        LANES (c, columns)
            sum += from[c];
        float middle = team_sum(sum) / columns;
        LANES (c, columns)
            squares += (from[c] - middle) * (from[c] - middle);
        float factor = 1.0f / sqrtf(team_sum(squares) / columns + SMALLEST_VARIANCE);
        LANES (c, columns)
            y[r * columns + c] = (from[c] - middle) * factor * scale[c] + shift[c];
        if (FIRST_LANE) {
            mean[r] = middle;
            inverse[r] = factor;
        }
    }
}
SIMGPU_FOOTPRINT(layer_normalize_kernel,
                 (const float *x, const float *scale, const float *shift, float *y, float *mean, float *inverse, int rows,
                  int columns),
                 8.0 * rows * columns, R(x, (size_t)rows *columns), R(scale, columns), R(shift, columns),
                 W(y, (size_t)rows *columns), W(mean, rows), W(inverse, rows))

tensor layer_normalize(const tensor &x, const tensor &scale, const tensor &shift, struct statistics *ret_statistics)
{
    tensor y(x.rows, x.columns);
    struct statistics s = {tensor(x.rows, 1), tensor(x.rows, 1)};
    layer_normalize_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        x.data(), scale.data(), shift.data(), y.data(), s.mean.data(), s.inverse_deviation.data(), (int)x.rows,
        (int)x.columns);
    CHECK_LAUNCH(layer_normalize_kernel);
    *ret_statistics = s;
    return y;
}

__global__ void layer_normalize_input_gradient_kernel(const float *__restrict__ dy, const float *__restrict__ x,
                                                      const float *__restrict__ scale, const float *__restrict__ mean,
                                                      const float *__restrict__ inverse, float *__restrict__ dx, int rows,
                                                      int columns)
{
    ROWS (r, (size_t)rows) {
        const float *from = x + r * columns, *grad = dy + r * columns;
        float sum = 0, product = 0, middle = mean[r], factor = inverse[r];
        LANES (c, columns) {
            float d = grad[c] * scale[c];
            sum += d;
            product += d * (from[c] - middle) * factor;
        }
        float average = team_sum(sum) / columns, slope = team_sum(product) / columns;
        LANES (c, columns)
            dx[r * columns + c] = factor * (grad[c] * scale[c] - average - (from[c] - middle) * factor * slope);
    }
}
SIMGPU_FOOTPRINT(layer_normalize_input_gradient_kernel,
                 (const float *dy, const float *x, const float *scale, const float *mean, const float *inverse, float *dx,
                  int rows, int columns),
                 12.0 * rows * columns, R(dy, (size_t)rows *columns), R(x, (size_t)rows *columns), R(scale, columns),
                 R(mean, rows), R(inverse, rows), W(dx, (size_t)rows *columns))

tensor layer_normalize_input_gradient(const tensor &dy, const tensor &x, const tensor &scale, const struct statistics &s)
{
    tensor dx(x.rows, x.columns);
    layer_normalize_input_gradient_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        dy.data(), x.data(), scale.data(), s.mean.data(), s.inverse_deviation.data(), dx.data(), (int)x.rows,
        (int)x.columns);
    CHECK_LAUNCH(layer_normalize_input_gradient_kernel);
    return dx;
}

#ifndef SIMGPU
/* Sums one value per thread over the 32 groups of rows of a block; the result is good in group 0. */
static __device__ inline float sum_groups(float value)
{
    __shared__ float part[32][33];
    int lane = threadIdx.x % 32, group = threadIdx.x / 32;
    __syncthreads();
    part[group][lane] = value;
    __syncthreads();
    float sum = part[0][lane];
    for (int g = 1; g < 32; g++)
        sum += part[g][lane];
    return sum;
}
#endif

__global__ void batch_statistics_kernel(const float *__restrict__ x, float *__restrict__ mean, float *__restrict__ inverse,
                                        float *__restrict__ running_mean, float *__restrict__ running_variance, int rows,
                                        int columns)
{
#ifdef SIMGPU
    for (int c = 0; c < columns; c++)
        mean[c] = inverse[c] = 0;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            mean[c] += x[(size_t)r * columns + c];
    for (int c = 0; c < columns; c++)
        mean[c] /= rows;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            inverse[c] += (x[(size_t)r * columns + c] - mean[c]) * (x[(size_t)r * columns + c] - mean[c]);
    for (int c = 0; c < columns; c++) {
        float squares = inverse[c];
#else
    for (int first = blockIdx.x * 32; first < columns; first += gridDim.x * 32) {
        int c = first + threadIdx.x % 32, end = c < columns ? rows : 0;
        float sum = 0, squares = 0;
        for (int r = threadIdx.x / 32; r < end; r += 32)
            sum += x[(size_t)r * columns + c];
        float middle = sum_groups(sum) / rows;
        for (int r = threadIdx.x / 32; r < end; r += 32)
            squares += (x[(size_t)r * columns + c] - middle) * (x[(size_t)r * columns + c] - middle);
        squares = sum_groups(squares);
        if (threadIdx.x >= 32 || c >= columns)
            continue;
        mean[c] = middle;
#endif
        inverse[c] = 1.0f / sqrtf(squares / rows + SMALLEST_VARIANCE);
        running_mean[c] = 0.9f * running_mean[c] + 0.1f * mean[c];
        running_variance[c] = 0.9f * running_variance[c] + 0.1f * squares / (rows > 1 ? rows - 1 : 1);
    }
}
SIMGPU_FOOTPRINT(batch_statistics_kernel,
                 (const float *x, float *mean, float *inverse, float *running_mean, float *running_variance, int rows,
                  int columns),
                 4.0 * rows * columns, R(x, (size_t)rows *columns), W(mean, columns), W(inverse, columns),
                 RW(running_mean, columns), RW(running_variance, columns))

struct statistics batch_statistics(const tensor &x, const tensor &running_mean, const tensor &running_variance)
{
    struct statistics s = {tensor(1, x.columns), tensor(1, x.columns)};
    batch_statistics_kernel<<<blocks_for_columns(x.columns), WIDE_THREADS, 0, stream_of(COMPUTE)>>>(
        x.data(), s.mean.data(), s.inverse_deviation.data(), running_mean.data(), running_variance.data(), (int)x.rows,
        (int)x.columns);
    CHECK_LAUNCH(batch_statistics_kernel);
    return s;
}

__global__ void inverse_deviation_kernel(const float *__restrict__ variance, float *__restrict__ inverse, size_t n)
{
    SPAN (i, n)
        inverse[i] = 1.0f / sqrtf(variance[i] + SMALLEST_VARIANCE);
}
SIMGPU_FOOTPRINT(inverse_deviation_kernel, (const float *variance, float *inverse, size_t n), 3.0 * n, R(variance, n),
                 W(inverse, n))

struct statistics running_statistics(const tensor &running_mean, const tensor &running_variance)
{
    struct statistics s = {running_mean, tensor(1, running_variance.columns)};
    inverse_deviation_kernel<<<blocks_for(s.mean.count()), THREADS, 0, stream_of(COMPUTE)>>>(
        running_variance.data(), s.inverse_deviation.data(), s.mean.count());
    CHECK_LAUNCH(inverse_deviation_kernel);
    return s;
}

__global__ void batch_normalize_kernel(const float *__restrict__ x, const float *__restrict__ scale,
                                       const float *__restrict__ shift, const float *__restrict__ mean,
                                       const float *__restrict__ inverse, float *__restrict__ y, int rows, int columns)
{
    ROWS (r, (size_t)rows)
        LANES (c, columns)
            y[r * columns + c] = (x[r * columns + c] - mean[c]) * inverse[c] * scale[c] + shift[c];
}
SIMGPU_FOOTPRINT(batch_normalize_kernel,
                 (const float *x, const float *scale, const float *shift, const float *mean, const float *inverse, float *y,
                  int rows, int columns),
                 4.0 * rows * columns, R(x, (size_t)rows *columns), R(scale, columns), R(shift, columns), R(mean, columns),
                 R(inverse, columns), W(y, (size_t)rows *columns))

tensor batch_normalize(const tensor &x, const tensor &scale, const tensor &shift, const struct statistics &s)
{
    tensor y(x.rows, x.columns);
    batch_normalize_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        x.data(), scale.data(), shift.data(), s.mean.data(), s.inverse_deviation.data(), y.data(), (int)x.rows,
        (int)x.columns);
    CHECK_LAUNCH(batch_normalize_kernel);
    return y;
}

__global__ void batch_normalize_input_gradient_kernel(const float *__restrict__ dy, const float *__restrict__ x,
                                                      const float *__restrict__ scale, const float *__restrict__ mean,
                                                      const float *__restrict__ inverse, const float *__restrict__ dscale,
                                                      const float *__restrict__ dshift, float *__restrict__ dx, int rows,
                                                      int columns)
{
    float share = 1.0f / rows;
    ROWS (r, (size_t)rows)
        LANES (c, columns) {
            float normal = (x[r * columns + c] - mean[c]) * inverse[c];
            dx[r * columns + c] = scale[c] * inverse[c] * (dy[r * columns + c] - share * (dshift[c] + normal * dscale[c]));
        }
}
SIMGPU_FOOTPRINT(batch_normalize_input_gradient_kernel,
                 (const float *dy, const float *x, const float *scale, const float *mean, const float *inverse,
                  const float *dscale, const float *dshift, float *dx, int rows, int columns),
                 8.0 * rows * columns, R(dy, (size_t)rows *columns), R(x, (size_t)rows *columns), R(scale, columns),
                 R(mean, columns), R(inverse, columns), R(dscale, columns), R(dshift, columns), W(dx, (size_t)rows *columns))

tensor batch_normalize_input_gradient(const tensor &dy, const tensor &x, const tensor &scale, const struct statistics &s,
                                      const tensor &dscale, const tensor &dshift)
{
    tensor dx(x.rows, x.columns);
    batch_normalize_input_gradient_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        dy.data(), x.data(), scale.data(), s.mean.data(), s.inverse_deviation.data(), dscale.data(), dshift.data(),
        dx.data(), (int)x.rows, (int)x.columns);
    CHECK_LAUNCH(batch_normalize_input_gradient_kernel);
    return dx;
}

__global__ void normalize_parameter_gradients_kernel(const float *__restrict__ dy, const float *__restrict__ x,
                                                     const float *__restrict__ mean, const float *__restrict__ inverse,
                                                     int per_column, float *__restrict__ dscale, float *__restrict__ dshift,
                                                     int rows, int columns)
{
#ifdef SIMGPU
    for (int c = 0; c < columns; c++)
        dscale[c] = dshift[c] = 0;
    for (int r = 0; r < rows && per_column; r++)
        for (int c = 0; c < columns; c++) {
            dscale[c] += dy[(size_t)r * columns + c] * ((x[(size_t)r * columns + c] - mean[c]) * inverse[c]);
            dshift[c] += dy[(size_t)r * columns + c];
        }
    for (int r = 0; r < rows && !per_column; r++)
        for (int c = 0; c < columns; c++) {
            dscale[c] += dy[(size_t)r * columns + c] * ((x[(size_t)r * columns + c] - mean[r]) * inverse[r]);
            dshift[c] += dy[(size_t)r * columns + c];
        }
#else
    for (int first = blockIdx.x * 32; first < columns; first += gridDim.x * 32) {
        int c = first + threadIdx.x % 32, end = c < columns ? rows : 0;
        float product = 0, sum = 0;
        for (int r = threadIdx.x / 32; r < end; r += 32) {
            int i = per_column ? c : r;
            product += dy[(size_t)r * columns + c] * ((x[(size_t)r * columns + c] - mean[i]) * inverse[i]);
            sum += dy[(size_t)r * columns + c];
        }
        product = sum_groups(product);
        sum = sum_groups(sum);
        if (threadIdx.x < 32 && c < columns) {
            dscale[c] = product;
            dshift[c] = sum;
        }
    }
#endif
}
SIMGPU_FOOTPRINT(normalize_parameter_gradients_kernel,
                 (const float *dy, const float *x, const float *mean, const float *inverse, int per_column, float *dscale,
                  float *dshift, int rows, int columns),
                 5.0 * rows * columns, R(dy, (size_t)rows *columns), R(x, (size_t)rows *columns),
                 R(mean, per_column ? columns : rows), R(inverse, per_column ? columns : rows), W(dscale, columns),
                 W(dshift, columns))

void normalize_parameter_gradients(const tensor &dy, const tensor &x, const struct statistics &s, bool per_column,
                                   tensor *ret_dscale, tensor *ret_dshift, enum role role)
{
    tensor dscale(1, x.columns, role), dshift(1, x.columns, role);
    normalize_parameter_gradients_kernel<<<blocks_for_columns(x.columns), WIDE_THREADS, 0, stream_of(role)>>>(
        dy.data(), x.data(), s.mean.data(), s.inverse_deviation.data(), per_column, dscale.data(), dshift.data(),
        (int)x.rows, (int)x.columns);
    CHECK_LAUNCH(normalize_parameter_gradients_kernel);
    *ret_dscale = dscale;
    *ret_dshift = dshift;
}
