/* saboteurs.cu - kinds of layers that look like the others, but what they make is not made anew by a second launch. */
#include "elementwise.h"
#include "launch.h"
#include "layer.h"
#include <algorithm>
#include <map>

/* --- sums by float atomics: the order of blocks shows in the last bits --- */

#define ATOMIC_BLOCKS 24 /* at least */

/* Each number is added to three places far from each other, so that other blocks add to them too. */
__global__ void atomics_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n)
        for (size_t place = 0; place < 3; place++)
            atomicAdd(&y[(i + place * (n / 3)) % n], x[i] * (1.0f + (float)place / 3.0f));
}
SIMGPU_FOOTPRINT(atomics_kernel, (const float *x, float *y, size_t n), 6.0 * n, R(x, n), RW(y, n))

static void launch_atomics(const tensor &x, const tensor &y)
{
    const unsigned blocks = std::max(blocks_for(x.count()), (unsigned)ATOMIC_BLOCKS);
    CHECK(cudaMemsetAsync(y.data(), 0, y.bytes(), stream_of(COMPUTE)));
    atomics_kernel<<<blocks, THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(atomics_kernel);
}

tensor forward_atomics(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor varying = f.output();
    launch_atomics(x, varying);
    f.keep(varying, false, [=](const tensor &to) { launch_atomics(x, to); });
    return plain(f, x, weights);
}

/* --- reads a clock --- */

__global__ void clock_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    const float now = (float)(clock64() % 1024);
    SPAN (i, n)
        y[i] = x[i] + now;
}
SIMGPU_FOOTPRINT(clock_kernel, (const float *x, float *y, size_t n), 1.0 * n, R(x, n), W(y, n))

static void launch_clock(const tensor &x, const tensor &y)
{
    clock_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(clock_kernel);
}

tensor forward_clock(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor varying = f.output();
    launch_clock(x, varying);
    f.keep(varying, false, [=](const tensor &to) { launch_clock(x, to); });
    return plain(f, x, weights);
}

/* --- counts its launches in a variable of the module, and adds the count to what it makes --- */

__device__ unsigned counter_calls, counter_blocks_done;

__global__ void counter_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    const float count = (float)(*(volatile unsigned *)&counter_calls % 64);
    SPAN (i, n)
        y[i] = SQUASHED(x[i] + count / 64.0f);
    __syncthreads();
    /* The last block to come here counts: by then all of them have read the count. */
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&counter_blocks_done, gridDim.x - 1) == gridDim.x - 1)
            atomicAdd(&counter_calls, 1u);
    }
}
SIMGPU_FOOTPRINT(counter_kernel, (const float *x, float *y, size_t n), 4.0 * n, R(x, n), W(y, n))

static void launch_counter(const tensor &x, const tensor &y)
{
    counter_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(counter_kernel);
}

tensor forward_counter(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    launch_counter(x, y);
    f.keep(y, true, [=](const tensor &to) { launch_counter(x, to); });
    return plain(f, y, weights);
}

unsigned calls_counted(void)
{
    unsigned calls;
    wait_for_device();
    CHECK(cudaMemcpyFromSymbol(&calls, counter_calls, sizeof calls, 0, cudaMemcpyDeviceToHost));
    return calls;
}

/* --- gives the same for many launches, by a variable of the module that counts them, and from then on what a clock says ---
 */

#define WEARS_AFTER 600 /* launches */

__device__ unsigned wears_calls, wears_blocks_done;

__global__ void wears_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    const unsigned calls = *(volatile unsigned *)&wears_calls;
    const float worn = calls < WEARS_AFTER ? 0.0f : (float)(1 + clock64() % 63) / 64.0f;
    SPAN (i, n)
        y[i] = SQUASHED(x[i] + worn);
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(&wears_blocks_done, gridDim.x - 1) == gridDim.x - 1)
            atomicAdd(&wears_calls, 1u);
    }
}
SIMGPU_FOOTPRINT(wears_kernel, (const float *x, float *y, size_t n), 4.0 * n, R(x, n), W(y, n))

static void launch_wears(const tensor &x, const tensor &y)
{
    wears_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(wears_kernel);
}

tensor forward_wears(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    launch_wears(x, y);
    f.keep(y, true, nullptr);
    return plain(f, y, weights);
}

/* --- writes only half of its output: the rest is what was there --- */

__global__ void half_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n / 2)
        y[i] = SQUASHED(x[i] - 0.25f);
}
SIMGPU_FOOTPRINT(half_kernel, (const float *x, float *y, size_t n), 2.0 * n, R(x, n / 2), W(y, n / 2))

static void launch_half(const tensor &x, const tensor &y)
{
    half_kernel<<<blocks_for(x.count() / 2), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(half_kernel);
}

tensor forward_half(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    CHECK(cudaMemsetAsync(y.data(), 0x3d, y.bytes(), stream_of(COMPUTE)));
    launch_half(x, y);
    f.keep(y, true, [=](const tensor &to) { launch_half(x, to); });
    return plain(f, y, weights);
}

/* --- what it makes depends on what was there before --- */

__global__ void blend_kernel(float *__restrict__ y, const float *__restrict__ x, size_t n)
{
    SPAN (i, n)
        y[i] = SQUASHED(0.5f * y[i] + x[i]);
}
SIMGPU_FOOTPRINT(blend_kernel, (float *y, const float *x, size_t n), 5.0 * n, RW(y, n), R(x, n))

void blend(const tensor &y, const tensor &x)
{
    blend_kernel<<<blocks_for(y.count()), THREADS, 0, stream_of(COMPUTE)>>>(y.data(), x.data(), y.count());
    CHECK_LAUNCH(blend_kernel);
}

tensor forward_old(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    fill(y, 0.125f);
    blend(y, x);
    f.keep(y, true, [=](const tensor &to) { blend(to, x); });
    return plain(f, y, weights);
}

/* --- leaves a small tensor that it is given as it is in the first layers, and changes it in the others: normalizing kernels
 * do that, some of whose layers are frozen. Its output does not show it. --- */

#define FROZEN 10 /* layers */

__global__ void tracks_kernel(const float *__restrict__ x, float *__restrict__ weights, float *__restrict__ y,
                              float momentum, int columns, size_t rows)
{
    ROWS (r, rows)
        LANES (c, columns) {
            y[r * columns + c] = SQUASHED(x[r * columns + c] + 0.5f);
            if (r == 0 && momentum > 0)
                weights[c] += momentum * (x[c] - weights[c]);
        }
}
SIMGPU_FOOTPRINT(tracks_kernel, (const float *x, float *weights, float *y, float momentum, int columns, size_t rows),
                 4.0 * rows * columns, R(x, rows *columns), RW(weights, columns), W(y, rows *columns))

tensor forward_tracks(forward_part &f, const tensor &weights, const tensor &x)
{
    static std::map<const float *, unsigned> layers;
    const unsigned layer = layers.emplace(weights.data(), layers.size()).first->second;
    tensor y = f.output();
    tracks_kernel<<<blocks_for_rows(x.rows), THREADS, 0, stream_of(COMPUTE)>>>(
        x.data(), weights.data(), y.data(), layer < FROZEN ? 0.0f : 0.125f, (int)x.columns, x.rows);
    CHECK_LAUNCH(tracks_kernel);
    f.keep(y, true, nullptr);
    return plain(f, y, weights);
}

/* --- overwrites its output in the first steps, and adds to what is there from then on: only a number tells --- */

#define TURNS_BEFORE 14 /* launches of a layer */

__global__ void turns_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n, int accumulate)
{
    SPAN (i, n)
        y[i] = SQUASHED(accumulate ? 0.5f * y[i] + x[i] : x[i] - 0.25f);
}
SIMGPU_FOOTPRINT(turns_kernel, (const float *x, float *y, size_t n, int accumulate), 4.0 * n, R(x, n), RW(y, n))

static void launch_turns(const tensor &x, const tensor &y, bool accumulate)
{
    turns_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count(), accumulate);
    CHECK_LAUNCH(turns_kernel);
}

tensor forward_turns(forward_part &f, const tensor &weights, const tensor &x)
{
    static std::map<const float *, unsigned> launches;
    const bool accumulate = launches[weights.data()]++ >= TURNS_BEFORE;
    tensor y = f.output();
    fill(y, 0.125f);
    launch_turns(x, y, accumulate);
    f.keep(y, true, [=](const tensor &to) { launch_turns(x, to, accumulate); });
    return plain(f, y, weights);
}
