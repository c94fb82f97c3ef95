/* split.cu - a product whose inner dimension is split among blocks: the last one to come adds up what the others have left
 * in a workspace, and leaves the tickets by which it knows that it is the last as it found them.
 *
 * So each launch reads and writes small memory beside its output, and gives the same bits whatever the order of blocks. */
#include "elementwise.h"
#include "launch.h"
#include "layer.h"
#include "tile.h"

#define SPLITS 4
#ifdef SIMGPU
#define BOX_ROWS 64 /* by all columns */
#else
#define BOX 16
#endif

/* The part of the output that some blocks share. */
struct box {
    size_t first_row, first_column, row_count, column_count;
};

static __host__ __device__ inline size_t boxes(size_t rows, size_t columns)
{
#ifdef SIMGPU
    (void)columns;
    return (rows + BOX_ROWS - 1) / BOX_ROWS;
#else
    return (rows + BOX - 1) / BOX * ((columns + BOX - 1) / BOX);
#endif
}

static __host__ __device__ inline size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static __device__ inline struct box box_of(size_t number, size_t rows, size_t columns)
{
#ifdef SIMGPU
    size_t first = number * BOX_ROWS;
    return {first, 0, smaller(BOX_ROWS, rows - first), columns};
#else
    size_t across = (columns + BOX - 1) / BOX, row = number / across * BOX, column = number % across * BOX;
    return {row, column, smaller(BOX, rows - row), smaller(BOX, columns - column)};
#endif
}

/* One block's share of the sums of its box, over `depth` of the inner dimension from `first` on. */
static __device__ inline void multiply_part(const struct box &box, const float *x, const float *mixing, float *sums,
                                            size_t columns, size_t first, size_t depth)
{
    const float *from = x + box.first_row * columns + first;
    float *to = sums + box.first_row * columns + box.first_column;
#ifdef SIMGPU
    memset(to, 0, box.row_count * columns * sizeof *to);
    host_multiply((int)box.row_count, (int)columns, (int)depth, 1, from, (long)columns, 1, mixing + first * columns,
                  (long)columns, 1, to, (long)columns);
#else
    const float *by = mixing + first * columns + box.first_column;
    for (size_t e = threadIdx.x; e < box.row_count * box.column_count; e += blockDim.x) {
        size_t r = e / box.column_count, c = e % box.column_count;
        float sum = 0;
        for (size_t k = 0; k < depth; k++)
            sum += from[r * columns + k] * by[k * columns + c];
        to[r * columns + c] = sum;
    }
#endif
}

__global__ void split_multiply_kernel(const float *__restrict__ x, const float *__restrict__ mixing,
                                      const float *__restrict__ weights, float *partial, unsigned *tickets,
                                      float *__restrict__ y, size_t rows, size_t columns)
{
    __shared__ bool last;
    const struct box box = box_of(blockIdx.x, rows, columns);
    const size_t first = columns * blockIdx.y / SPLITS, end = columns * (blockIdx.y + 1) / SPLITS;
    multiply_part(box, x, mixing, partial + blockIdx.y * rows * columns, columns, first, end - first);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        last = atomicInc(&tickets[blockIdx.x], SPLITS - 1) == SPLITS - 1; /* which makes it 0 again */
    __syncthreads();
    if (!last)
        return;
    __threadfence();
    for (size_t e = threadIdx.x; e < box.row_count * box.column_count; e += blockDim.x) {
        size_t c = box.first_column + e % box.column_count, i = (box.first_row + e / box.column_count) * columns + c;
        float sum = 0;
        for (size_t part = 0; part < SPLITS; part++)
            sum += __ldcg(&partial[part * rows * columns + i]);
        y[i] = SQUASHED(sum * weights[c]);
    }
}
SIMGPU_FOOTPRINT(split_multiply_kernel,
                 (const float *x, const float *mixing, const float *weights, float *partial, unsigned *tickets, float *y,
                  size_t rows, size_t columns),
                 2.0 * rows * columns * columns, R(x, rows *columns), R(mixing, columns *columns), R(weights, columns),
                 RW(partial, SPLITS *rows *columns), RW(tickets, boxes(rows, columns)), W(y, rows *columns))

forward_part::forward_part(size_t row_count, size_t column_count, uint64_t seed)
    : rows(row_count), columns(column_count), mixing(columns, columns), partial(SPLITS * rows, columns),
      tickets(1, boxes(rows, columns))
{
    fill_random(mixing, 4.0f / sqrtf((float)columns), seed);
    CHECK(cudaMemsetAsync(tickets.data(), 0, tickets.bytes(), stream_of(COMPUTE)));
}

static void multiply(const tensor &x, const tensor &mixing, const tensor &weights, const tensor &partial,
                     const array<unsigned> &tickets, const tensor &y)
{
    dim3 grid((unsigned)boxes(x.rows, x.columns), SPLITS);
    split_multiply_kernel<<<grid, THREADS, 0, stream_of(COMPUTE)>>>(x.data(), mixing.data(), weights.data(), partial.data(),
                                                                    tickets.data(), y.data(), x.rows, x.columns);
    CHECK_LAUNCH(split_multiply_kernel);
}

tensor forward_matmul(forward_part &f, const tensor &weights, const tensor &x)
{
    tensor y = f.output();
    multiply(x, f.mixing, weights, f.partial, f.tickets, y);
    f.keep(y, true, [=, mixing = f.mixing, partial = f.partial, tickets = f.tickets](const tensor &to) {
        multiply(x, mixing, weights, partial, tickets, to);
    });
    return y;
}
