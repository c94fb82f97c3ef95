/* replay.cu - question 10: which kernels of a training step may be run again to recompute what they wrote? Each is run,
 * then its outputs are filled with one pattern and it is run again, and with another pattern again: equal hashes both
 * times mean that it overwrites its outputs completely, reads nothing of them, and is deterministic. The kernels are
 * ours, written as frameworks write theirs, and cuBLAS' where it is installed. */
#include "blas.h"
#include "busy.cuh"

static const int width = 1024, rows = 2048; /* of a matrix; 8 MiB of floats */
static const size_t count = (size_t)width * rows, bytes = count * sizeof(float), row_bytes = width * sizeof(float);

/* ---- kernels ---- */

#define EACH(i, n) \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += (size_t)gridDim.x * blockDim.x)

static __global__ void gelu(float *out, const float *in, size_t n)
{
    EACH(i, n) out[i] = 0.5f * in[i] * (1 + tanhf(0.797885f * (in[i] + 0.044715f * in[i] * in[i] * in[i])));
}

static __global__ void relu_in_place(float *x, size_t n)
{
    EACH(i, n) x[i] = fmaxf(x[i], 0.0f);
}

static __global__ void add_into(float *sum, const float *x, size_t n)
{
    EACH(i, n) sum[i] += x[i];
}

static __global__ void dropout(float *out, const float *in, size_t n, unsigned seed)
{
    EACH(i, n)
    {
        unsigned h = ((unsigned)i ^ seed) * 2654435761u;
        h = (h ^ (h >> 15)) * 2246822519u;
        out[i] = (h >> 31) ? in[i] * 2 : 0;
    }
}

/* Writes every second element only, as a kernel over a strided view does. */
static __global__ void half_copy(float *out, const float *in, size_t n)
{
    EACH(i, n / 2) out[2 * i] = in[i];
}

static __global__ void softmax(float *out, const float *in, int n_rows, int n)
{
    __shared__ float part[256];
    for (int row = blockIdx.x; row < n_rows; row += gridDim.x) {
        const float *x = in + (size_t)row * n;
        float most = -1e30f, sum = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            most = fmaxf(most, x[i]);
        part[threadIdx.x] = most;
        __syncthreads();
        for (int half = blockDim.x / 2; half; half /= 2) {
            if (threadIdx.x < half)
                part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
            __syncthreads();
        }
        most = part[0];
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            sum += expf(x[i] - most);
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int half = blockDim.x / 2; half; half /= 2) {
            if (threadIdx.x < half)
                part[threadIdx.x] += part[threadIdx.x + half];
            __syncthreads();
        }
        sum = part[0];
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            out[(size_t)row * n + i] = expf(x[i] - most) / sum;
    }
}

/* One thread per column, rows in order: a deterministic reduction, as bias gradients are made. */
static __global__ void column_sum(float *out, const float *in, int n_rows, int n)
{
    EACH(column, (size_t)n)
    {
        float sum = 0;
        for (int row = 0; row < n_rows; row++)
            sum += in[(size_t)row * n + column];
        out[column] = sum;
    }
}

/* Into sums that were set to zero before: the order of the additions is the hardware's. */
static __global__ void column_sum_atomic(float *out, const float *in, int n_rows, int n)
{
    EACH(i, (size_t)n_rows * n) atomicAdd(&out[i % n], in[i]);
}

static __global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k)
{
    EACH(i, (size_t)m * n)
    {
        float sum = 0;
        for (int j = 0; j < k; j++)
            sum += a[i / n * k + j] * b[(size_t)j * n + i % n];
        c[i] = sum;
    }
}

static __global__ void adam(float *parameter, float *mean, float *variance, const float *gradient, size_t n)
{
    EACH(i, n)
    {
        mean[i] = 0.9f * mean[i] + 0.1f * gradient[i];
        variance[i] = 0.999f * variance[i] + 0.001f * gradient[i] * gradient[i];
        parameter[i] -= 1e-3f * mean[i] / (sqrtf(variance[i]) + 1e-8f);
    }
}

/* Gradient of an embedding: rows are added where the tokens say. */
static __global__ void scatter_add(float *table, const float *gradient, size_t n)
{
    EACH(i, n) atomicAdd(&table[(i * 2654435761u) % n], gradient[i]);
}

/* ---- the test ---- */

#define BUFFERS 4
static float *buffer[BUFFERS];
static unsigned long long *hash_word;
static cudaStream_t stream;
static blas_handle blas_state;

static __global__ void fill_random(float *x, size_t n, unsigned seed)
{
    EACH(i, n)
    {
        unsigned h = ((unsigned)i + seed * 7919u) * 2654435761u;
        h = (h ^ (h >> 16)) * 2246822519u;
        unsigned word = __float_as_uint((float)((h ^ (h >> 13)) & 0xffffff) / 8388608.0f - 1.0f);
        x[i] = __uint_as_float((word & 0xffff0000u) | (word >> 16)); /* two bf16 of that value, too */
    }
}

/* The sum over the words of a mix of place and value: equal for equal bytes, whatever the order of addition. */
static __global__ void hash_kernel(const unsigned long long *x, size_t n, unsigned long long *sum)
{
    unsigned long long mine = 0;
    EACH(i, n)
    {
        unsigned long long h = (x[i] ^ (i * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
        h = (h ^ (h >> 29)) * 0x94d049bb133111ebull;
        mine += h ^ (h >> 32);
    }
    atomicAdd(sum, mine);
}

static unsigned long long hash_of(const float *x, size_t size)
{
    unsigned long long hash = 0;
    busy_check(cudaMemsetAsync(hash_word, 0, sizeof(*hash_word), stream), "cudaMemsetAsync");
    hash_kernel<<<512, 256, 0, stream>>>((const unsigned long long *)x, size / 8, hash_word);
    busy_check(cudaMemcpyAsync(&hash, hash_word, sizeof(hash), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    busy_check(cudaStreamSynchronize(stream), "a kernel");
    return hash;
}

#define ON 512, 256, 0, stream
static float *const *const x = buffer; /* x[0], x[1]…: what the kernels work on, x[0] always written */

static CUdeviceptr at(int i)
{
    return ADDRESS(buffer[i]);
}

/* As a framework does it: the gradient is set to zero, then scattered into. */
static void clear_and_scatter(void)
{
    busy_check(cudaMemsetAsync(x[0], 0, bytes, stream), "cudaMemsetAsync");
    scatter_add<<<ON>>>(x[0], x[1], count);
}

static const struct trial {
    const char *name;
    int expected; /* 1 replayable, 0 not, -1 nobody knows before */
    void (*launch)(void);
    size_t output_bytes; /* of x[0]; 0: all of it */
    int needs_blas;
} trials[] = {
    {"gelu", 1, [] { gelu<<<ON>>>(x[0], x[1], count); }},
    {"relu_in_place", 0, [] { relu_in_place<<<ON>>>(x[0], count); }},
    {"accumulate", 0, [] { add_into<<<ON>>>(x[0], x[1], count); }},
    {"dropout", 1, [] { dropout<<<ON>>>(x[0], x[1], count, 1234); }},
    {"strided_copy", 0, [] { half_copy<<<ON>>>(x[0], x[1], count); }},
    {"softmax", 1, [] { softmax<<<ON>>>(x[0], x[1], rows, width); }},
    {"column_sum", 1, [] { column_sum<<<ON>>>(x[0], x[1], rows, width); }, row_bytes},
    {"column_sum_atomic", 0, [] { column_sum_atomic<<<ON>>>(x[0], x[1], rows, width); }, row_bytes},
    {"matmul", 1, [] { matmul<<<ON>>>(x[0], x[1], x[2], rows, width, 256); }},
    {"adam", 0, [] { adam<<<ON>>>(x[0], x[1], x[2], x[3], count); }},
    {"scatter_add", 0, [] { scatter_add<<<ON>>>(x[0], x[1], count); }},
    {"memset_and_scatter_add", -1, clear_and_scatter},
    {"cublas_sgemm", -1, [] { blas_float_product(blas_state, 1024, at(1), at(2), at(0)); }, 1024 * 1024 * 4, 1},
    {"cublas_bf16", -1, [] { blas_bf16_product(blas_state, 2048, 1024, at(1), at(2), at(0)); }, 2048 * 2048 * 2, 1},
    {"cublas_bf16_long_sum", -1, [] { blas_bf16_product(blas_state, 128, 16384, at(1), at(2), at(0)); }, 128 * 128 * 2, 1},
};

/* How much of a buffer counts: of the output only what the trial says, as if its allocation were no larger. */
static size_t bytes_of(const struct trial *trial, int i)
{
    return i == 0 && trial->output_bytes ? trial->output_bytes : bytes;
}

/* 1 when both replays gave the hashes of the true run; *ret_written is how many buffers it wrote. */
static int is_replayable(const struct trial *trial, int *ret_written)
{
    unsigned long long before[BUFFERS], after[BUFFERS];
    for (int i = 0; i < BUFFERS; i++) {
        fill_random<<<ON>>>(buffer[i], count, (unsigned)i);
        before[i] = hash_of(buffer[i], bytes_of(trial, i));
    }
    trial->launch();
    *ret_written = 0;
    for (int i = 0; i < BUFFERS; i++) {
        after[i] = hash_of(buffer[i], bytes_of(trial, i));
        *ret_written += after[i] != before[i];
    }
    int same = *ret_written > 0;
    for (int pattern = 0; pattern < 2; pattern++) {
        for (int i = 0; i < BUFFERS; i++)
            if (after[i] != before[i])
                busy_check(cudaMemsetAsync(buffer[i], pattern ? 0xff : 0, bytes_of(trial, i), stream), "cudaMemsetAsync");
        trial->launch();
        for (int i = 0; i < BUFFERS; i++)
            same = same && hash_of(buffer[i], bytes_of(trial, i)) == after[i];
    }
    return same;
}

int main(void)
{
    int tried = 0, replayable = 0, surprises = 0;
    char names[512] = "";
    probe_start("replay", 10);
    busy_check(cudaStreamCreate(&stream), "making a stream"); /* blocking: cuBLAS works on stream 0 here */
    busy_check(cudaMalloc(&hash_word, sizeof(*hash_word)), "cudaMalloc");
    for (int i = 0; i < BUFFERS; i++)
        busy_check(cudaMalloc(&buffer[i], bytes), "cudaMalloc");
    int has_blas = blas_open() && blas.create(&blas_state) == 0;
    probe_figure("has_cublas", has_blas);

    for (size_t i = 0; i < sizeof(trials) / sizeof(*trials); i++) {
        const struct trial *trial = &trials[i];
        if (trial->needs_blas && !has_blas)
            continue;
        int written, yes = is_replayable(trial, &written);
        probe_figure(trial->name, yes);
        probe_figure_at(written, "%s/buffers_written", trial->name);
        tried++;
        replayable += yes;
        surprises += trial->expected >= 0 && trial->expected != yes;
        if (yes)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", trial->name);
    }
    hash_of(buffer[0], bytes);
    double before_us = probe_now_us();
    for (int i = 0; i < 20; i++)
        hash_kernel<<<512, 256, 0, stream>>>((const unsigned long long *)buffer[0], bytes / 8, hash_word);
    busy_check(cudaStreamSynchronize(stream), "hashing");
    probe_figure("hash_gb_per_s", 20 * (double)bytes / (probe_now_us() - before_us) * 1e-3);
    probe_figure("tried", tried);
    probe_figure("replayable", replayable);
    probe_figure("otherwise_than_expected", surprises);
    probe_answer("%d of %d kernels are replayable by the two-pattern test:%s; %d came out otherwise than their source says",
                 replayable, tried, names, surprises);
}
