/* legal.cu - kinds of layers whose outputs can be made anew, given the right care for what each of them is about. */
#include "elementwise.h"
#include "launch.h"
#include "layer.h"

__global__ void plain_kernel(const float *__restrict__ x, const float *__restrict__ weights, float *__restrict__ y,
                             int columns, size_t rows)
{
    ROWS (r, rows)
        LANES (c, columns)
            y[r * columns + c] = SQUASHED(x[r * columns + c] * weights[c] + 0.25f);
}
SIMGPU_FOOTPRINT(plain_kernel, (const float *x, const float *weights, float *y, int columns, size_t rows),
                 5.0 * rows * columns, R(x, rows *columns), R(weights, columns), W(y, rows *columns))

void plain(const tensor &x, const tensor &weights, const tensor &y)
{
    plain_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), weights.data(), y.data(),
                                                                              (int)x.columns, x.rows);
    CHECK_LAUNCH(plain_kernel);
}

tensor plain(forward_part &f, const tensor &x, const tensor &weights)
{
    tensor y = f.output();
    plain(x, weights, y);
    return y;
}

tensor forward_plain(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = plain(f, x, weights);
    f.keep(y, true, [=](const tensor &to) { plain(x, weights, to); });
    return y;
}

/* --- several producers one after another; what lies between is freed at once --- */

tensor forward_chain(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor before = plain(f, plain(f, x, weights), weights), y = plain(f, before, weights);
    f.keep(y, true, [=](const tensor &to) { plain(before, weights, to); });
    return y;
}

/* --- variables of the module that no parameter shows --- */

__device__ float global_gain = 1.0f;
#define TABLE 16
__constant__ float global_table[TABLE] = {0.125f, -0.25f};

__global__ void global_kernel(const float *__restrict__ x, const float *__restrict__ weights, float *__restrict__ y,
                              int columns, size_t rows)
{
    ROWS (r, rows)
        LANES (c, columns)
            y[r * columns + c] = SQUASHED(x[r * columns + c] * weights[c] * global_gain + global_table[c % TABLE]);
}
SIMGPU_FOOTPRINT(global_kernel, (const float *x, const float *weights, float *y, int columns, size_t rows),
                 6.0 * rows * columns, R(x, rows *columns), R(weights, columns), W(y, rows *columns))

void change_globals(int step)
{
    float gain = 1.0f + 0.125f * (float)(step % 5), table[TABLE];
    for (int i = 0; i < TABLE; i++)
        table[i] = 0.25f * (float)((i + step) % 7) - 0.75f;
    CHECK(cudaMemcpyToSymbolAsync(global_gain, &gain, sizeof gain, 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    CHECK(cudaMemcpyToSymbolAsync(global_table, table, sizeof table, 0, cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE))); /* until then the values are not to go away */
}

static void launch_global(const tensor &x, const tensor &weights, const tensor &y)
{
    global_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), weights.data(), y.data(),
                                                                               (int)x.columns, x.rows);
    CHECK_LAUNCH(global_kernel);
}

tensor forward_global(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    launch_global(x, weights, y);
    f.keep(y, true, [=](const tensor &to) { launch_global(x, weights, to); });
    return y;
}

/* --- a tensor that is changed in place after it was made --- */

__global__ void shrink_kernel(float *__restrict__ y, size_t n)
{
    SPAN (i, n)
        y[i] = SQUASHED(1.5f * y[i]);
}
SIMGPU_FOOTPRINT(shrink_kernel, (float *y, size_t n), 4.0 * n, RW(y, n))

static void shrink(const tensor &y)
{
    shrink_kernel<<<blocks_for(y.count()), THREADS, 0, stream_of(COMPUTE)>>>(y.data(), y.count());
    CHECK_LAUNCH(shrink_kernel);
}

tensor forward_in_place(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = plain(f, x, weights);
    shrink(y);
    f.keep(y, true, shrink);
    return y;
}

/* --- addresses inside a struct --- */

struct operands {
    int columns;
    const float *x, *weights;
    float scale;
    float *y;
    size_t rows;
};

__global__ void struct_kernel(struct operands o)
{
    ROWS (r, o.rows)
        LANES (c, o.columns)
            o.y[r * o.columns + c] = SQUASHED(o.x[r * o.columns + c] * o.weights[c] * o.scale);
}
SIMGPU_FOOTPRINT(struct_kernel, (struct operands o), 4.0 * o.rows * o.columns, R(o.x, o.rows *o.columns),
                 R(o.weights, o.columns), W(o.y, o.rows *o.columns))

static void launch_struct(const tensor &x, const tensor &weights, const tensor &y)
{
    struct operands o = {(int)x.columns, x.data(), weights.data(), 1.75f, y.data(), x.rows};
    struct_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(o);
    CHECK_LAUNCH(struct_kernel);
}

tensor forward_struct(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    launch_struct(x, weights, y);
    f.keep(y, true, [=](const tensor &to) { launch_struct(x, weights, to); });
    return y;
}

/* --- copies and sets as producers --- */

static void copy(const tensor &from, const tensor &to)
{
    CHECK(cudaMemcpyAsync(to.data(), from.data(), to.bytes(), cudaMemcpyDeviceToDevice, stream_of(COMPUTE)));
}

tensor forward_copy(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    copy(x, y);
    f.keep(y, true, [=](const tensor &to) { copy(x, to); });
    return plain(f, y, weights);
}

static void set(const tensor &to)
{
    CHECK(cudaMemsetAsync(to.data(), 0x3e, to.bytes(), stream_of(COMPUTE))); /* all numbers 0.186 */
}

tensor forward_set(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor constant = f.output(), y = plain(f, x, weights);
    set(constant);
    f.keep(constant, true, set);
    return sum_of(y, constant);
}

/* --- two outputs, one of which is another before the first is used again --- */

__global__ void two_outputs_kernel(const float *__restrict__ x, const float *__restrict__ weights, float *__restrict__ y,
                                   float *__restrict__ other, int columns, size_t rows)
{
    ROWS (r, rows)
        LANES (c, columns) {
            float product = x[r * columns + c] * weights[c];
            y[r * columns + c] = SQUASHED(product);
            other[r * columns + c] = SQUASHED(product - 0.5f);
        }
}
SIMGPU_FOOTPRINT(two_outputs_kernel,
                 (const float *x, const float *weights, float *y, float *other, int columns, size_t rows),
                 7.0 * rows * columns, R(x, rows *columns), R(weights, columns), W(y, rows *columns),
                 W(other, rows *columns))

static void launch_two_outputs(const tensor &x, const tensor &weights, const tensor &y, const tensor &other)
{
    two_outputs_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), weights.data(), y.data(),
                                                                                    other.data(), (int)x.columns, x.rows);
    CHECK_LAUNCH(two_outputs_kernel);
}

tensor forward_two_outputs(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output(), other = f.output();
    launch_two_outputs(x, weights, y, other);
    f.keep(y, true, [=](const tensor &to) { launch_two_outputs(x, weights, to, tensor(to.rows, to.columns)); });
    blend(other, y);
    f.keep(other, true, [=](const tensor &to) { blend(to, y); });
    return plain(f, other, weights);
}

/* --- a kernel that leaves one of its tensors alike for many steps, and then does not: clipping does that --- */

#define LEFT_ALIKE_FOR 24 /* steps */

__global__ void scale_kernel(const float *__restrict__ x, float *__restrict__ scaled, float *__restrict__ y, float scale,
                             size_t n)
{
    SPAN (i, n) {
        y[i] = SQUASHED(x[i] + scaled[i]);
        scaled[i] *= scale;
    }
}
SIMGPU_FOOTPRINT(scale_kernel, (const float *x, float *scaled, float *y, float scale, size_t n), 5.0 * n, R(x, n),
                 RW(scaled, n), W(y, n))

tensor forward_scale(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    if (!f.scaled) {
        f.scaled = f.output();
        fill_random(f.scaled, 1, 3);
    }
    const float scale = f.number < LEFT_ALIKE_FOR ? 1.0f : 0.5f;
    scale_kernel<<<blocks_for(y.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), f.scaled.data(), y.data(), scale,
                                                                            y.count());
    CHECK_LAUNCH(scale_kernel);
    f.keep(y, true, nullptr);
    return plain(f, y, weights);
}
