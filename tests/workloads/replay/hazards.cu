/* hazards.cu - kinds of layers where, once an output was made, somebody changes what it was made of. Each output is the same
 * in every run, and would be another if the last operation that made it was launched again by itself. */
#include "elementwise.h"
#include "launch.h"
#include "layer.h"

/* --- the input is updated in place --- */

tensor forward_updated(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor input = plain(f, x, weights), y = plain(f, input, weights);
    f.keep(y, true, [=](const tensor &to) { plain(input, weights, to); });
    blend(input, x);
    f.keep(input, true, nullptr);
    return plain(f, y, weights);
}

/* --- the input is freed, and what is allocated next, often at its address, holds something else --- */

tensor forward_reused(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y;
    {
        tensor input = plain(f, x, weights);
        y = plain(f, input, weights);
    }
    tensor other = f.output();
    fill(other, 0.5f + (float)f.number);
    f.keep(y, true, nullptr);
    f.keep(other, true, nullptr);
    return plain(f, y, weights);
}

/* --- a part of the input is written by another stream, in few steps, long after the first --- */

#define ASIDE_FROM  15 /* steps */
#define ASIDE_EVERY 3

tensor forward_aside(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor input = plain(f, x, weights), y = plain(f, input, weights);
    f.keep(y, true, [=](const tensor &to) { plain(input, weights, to); });
    if (f.number >= ASIDE_FROM && f.number % ASIDE_EVERY == 0) {
        order_after(COMPUTE, COPY);
        fill(input.slice(f.rows / 4, f.rows / 2), 0.25f * (float)(f.number % 5), COPY);
        input.used_for(COPY);
        order_after(COPY, COMPUTE);
    }
    f.keep(input, true, nullptr);
    return plain(f, y, weights);
}

/* --- the host writes, in stream order, what the kernel reads where it is: in the host's memory --- */

__global__ void told_kernel(const float *__restrict__ x, const float *__restrict__ told, float *__restrict__ y, int columns,
                            size_t rows)
{
    ROWS (r, rows)
        LANES (c, columns)
            y[r * columns + c] = SQUASHED(x[r * columns + c] + told[c]);
}
SIMGPU_FOOTPRINT(told_kernel, (const float *x, const float *told, float *y, int columns, size_t rows), 3.0 * rows * columns,
                 R(x, rows *columns), R(told, columns), W(y, rows *columns))

struct telling {
    float *to, value;
    size_t columns;
};

static void tell(void *what)
{
    struct telling *t = (struct telling *)what;
    for (size_t i = 0; i < t->columns; i++)
        t->to[i] = t->value + 0.125f * (float)(i % 3);
    delete t;
}

static void launch_told(const tensor &x, const float *told, const tensor &y)
{
    told_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), told, y.data(), (int)x.columns,
                                                                             x.rows);
    CHECK_LAUNCH(told_kernel);
}

tensor forward_told(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    if (!f.told)
        CHECK(cudaHostAlloc((void **)&f.told, f.columns * sizeof(float), cudaHostAllocMapped));
    const float value = 0.25f * (float)(++f.times_told % 7);
    CHECK(cudaLaunchHostFunc(stream_of(COMPUTE), tell, new telling{f.told, value, f.columns}));
    launch_told(x, f.told, y);
    const float *told = f.told;
    f.keep(y, true, [=](const tensor &to) { launch_told(x, told, to); });
    return plain(f, y, weights);
}
