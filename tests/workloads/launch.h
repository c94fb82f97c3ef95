/* launch.h - how kernels divide their work, on a GPU and on the simulated device.
 *
 * A kernel gives the same result for every grid. On a GPU, SPAN strides over the grid and ROWS gives each warp a row;
 * on the simulated device, where one host thread runs a launch, both give a thread one contiguous stretch, so that
 * the loops inside vectorise. Sums are always made in the same order. */
#ifndef WORKLOADS_LAUNCH_H
#define WORKLOADS_LAUNCH_H
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef SIMGPU
#define SIMGPU_FOOTPRINT(...) /* cost and footprint of a kernel matter to the simulated device alone */
#endif

#ifdef SIMGPU
#define THREADS      1
#define WIDE_THREADS 1
#define ON_DEVICE
#else
#define THREADS      256  /* per block; eight rows for kernels that take a row per warp */
#define WIDE_THREADS 1024 /* of kernels that sum columns: 32 columns by 32 groups of rows */
#define ON_DEVICE    __host__ __device__
#endif

#ifdef SIMGPU
/* for (each i below n that is this thread's) */
#define SPAN(i, n) \
    for (size_t i = (n)*thread_number() / thread_total(), i##_end = (n) * (thread_number() + 1) / thread_total(); \
         i < i##_end; i++)
/* for (each row below n that is this team's); inside, LANES(i, n) shares a row among the team. */
#define ROWS(row, n) SPAN (row, n)
#define LANES(i, n)  for (int i = 0; i < (n); i++)
#define FIRST_LANE   true

/* Macros would not do: the names stand for variables of the thread. */
#define thread_number() ((size_t)blockIdx.x * blockDim.x + threadIdx.x)
#define thread_total()  ((size_t)gridDim.x * blockDim.x)

/* A team is one thread. */
static inline float team_sum(float value)
{
    return value;
}

static inline float team_max(float value)
{
    return value;
}
#else
#define SPAN(i, n) \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (size_t)gridDim.x * blockDim.x)
#define ROWS(row, n) \
    for (size_t row = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; row < (n); \
         row += (size_t)gridDim.x * blockDim.x / 32)
#define LANES(i, n) for (int i = threadIdx.x % 32; i < (n); i += 32)
#define FIRST_LANE  (threadIdx.x % 32 == 0)

static __device__ inline float team_sum(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

static __device__ inline float team_max(float value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, distance));
    return value;
}
#endif

/* The place of element i in a tensor of n that begins again behind its end. To divide takes longer than all else there. */
#define WRAPPED(i, n) ((i) < (n) ? (i) : (i) % (n))

/* Blocks for n elements, or for n rows, or for n blocks' worth of work. */
static inline unsigned blocks_for(size_t n, size_t each = THREADS)
{
#ifdef SIMGPU
    (void)n, (void)each;
    return 1;
#else
    size_t blocks = (n + each - 1) / each;
    return (unsigned)(blocks < 1 ? 1 : blocks > 16384 ? 16384 : blocks);
#endif
}

static inline unsigned blocks_for_rows(size_t rows)
{
    return blocks_for(rows, THREADS / 32 + (THREADS < 32));
}

static inline unsigned blocks_for_columns(size_t columns)
{
    return blocks_for(columns, 32);
}

/* e to the x, correct to a few units in the last place, in operations that every compiler can vectorise. */
static ON_DEVICE inline float exponential(float x)
{
    x = x > 87.0f ? 87.0f : x;
    x = x < -87.0f ? -87.0f : x;
    const float rounder = 12582912.0f; /* 1.5 * 2^23: adding it leaves an integer */
    float n = (x * 1.44269504f + rounder) - rounder;
    float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    int32_t bits = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static ON_DEVICE inline float sigmoid(float x)
{
    return 1.0f / (1.0f + exponential(-x));
}

static ON_DEVICE inline float hyperbolic_tangent(float x)
{
    return 1.0f - 2.0f / (exponential(2.0f * x) + 1.0f);
}
#endif
