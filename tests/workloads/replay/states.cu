/* states.cu - kinds of layers whose kernels leave something in variables of their module that later launches build on. Each
 * tensor is the same in every run, as long as nobody but the program launches them. */
#include "launch.h"
#include "layer.h"

/* True for one thread of the last block to come here, when all others have done what they do before. */
static __device__ inline bool is_last(unsigned *blocks_done)
{
    __syncthreads();
    if (threadIdx.x != 0)
        return false;
    __threadfence();
    return atomicInc(blocks_done, gridDim.x - 1) == gridDim.x - 1;
}

/* --- one kernel counts its launches, which what it makes does not depend on; what another one makes does --- */

__device__ unsigned tally_calls, tally_blocks_done;

__global__ void tally_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n)
        y[i] = SQUASHED(x[i] - 0.125f);
    if (is_last(&tally_blocks_done))
        tally_calls++;
}
SIMGPU_FOOTPRINT(tally_kernel, (const float *x, float *y, size_t n), 4.0 * n, R(x, n), W(y, n))

__global__ void tallied_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    const float tally = (float)(tally_calls % 64) / 64.0f;
    SPAN (i, n)
        y[i] = SQUASHED(x[i] + tally);
}
SIMGPU_FOOTPRINT(tallied_kernel, (const float *x, float *y, size_t n), 4.0 * n, R(x, n), W(y, n))

tensor forward_tally(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor counted = f.output(), y = f.output();
    tally_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), counted.data(), x.count());
    CHECK_LAUNCH(tally_kernel);
    tallied_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(counted.data(), y.data(), x.count());
    CHECK_LAUNCH(tallied_kernel);
    f.keep(counted, true, nullptr);
    f.keep(y, true, nullptr);
    return plain(f, y, weights);
}

/* --- random numbers from states that lie in a variable, and go on with each launch --- */

#define STATES 512

__device__ unsigned random_states[STATES], random_blocks_done;

__global__ void seed_states_kernel(unsigned seed)
{
    SPAN (i, STATES)
        random_states[i] = seed + 2654435761u * (unsigned)i;
}

static __device__ inline unsigned next_state(unsigned state)
{
    return state * 1664525u + 1013904223u;
}

__global__ void random_kernel(const float *__restrict__ x, float *__restrict__ y, size_t n)
{
    SPAN (i, n)
        y[i] = SQUASHED(x[i]) * (float)(next_state(random_states[i % STATES]) >> 24) / 256.0f;
    if (is_last(&random_blocks_done))
        for (unsigned i = 0; i < STATES; i++)
            random_states[i] = next_state(random_states[i]);
}
SIMGPU_FOOTPRINT(random_kernel, (const float *x, float *y, size_t n), 6.0 * n, R(x, n), W(y, n))

tensor forward_random(forward_part &f, const tensor &weights, const tensor &x)
{
    static bool is_seeded;
    if (!is_seeded) {
        seed_states_kernel<<<blocks_for(STATES), THREADS, 0, stream_of(COMPUTE)>>>(12345u);
        CHECK_LAUNCH(seed_states_kernel);
        is_seeded = true;
    }
    tensor y = f.output();
    random_kernel<<<blocks_for(x.count()), THREADS, 0, stream_of(COMPUTE)>>>(x.data(), y.data(), x.count());
    CHECK_LAUNCH(random_kernel);
    f.keep(y, true, nullptr);
    return plain(f, y, weights);
}
