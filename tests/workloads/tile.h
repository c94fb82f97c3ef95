/* tile.h - the inner part of every matrix product: a GPU's block computes a 64 x 64 tile through shared memory, the
 * host a few rows by a few vectors in registers. Each element is a sum over k in increasing order. */
#ifndef WORKLOADS_TILE_H
#define WORKLOADS_TILE_H
#include "launch.h"

#ifdef SIMGPU
/* c (m x n, rows c_row apart) = alpha * a * b + c, with a and b of any strides. */
void host_multiply(int m, int n, int k, float alpha, const float *a, long a_row, long a_column, const float *b, long b_row,
                   long b_column, float *c, long c_row);
#else
#define TILE       64
#define TILE_DEPTH 16

/* One tile of load_a (m x k) times load_b (k x n), handed to store element by element; for 256 threads of a block.
 * a_along_k and b_along_n say in which direction neighbouring threads find neighbouring addresses. */
template <class LoadA, class LoadB, class Store>
static __device__ inline void multiply_tile(int m, int n, int k, int first_row, int first_column, bool a_along_k,
                                            bool b_along_n, LoadA load_a, LoadB load_b, Store store)
{
    __shared__ float a[TILE_DEPTH][TILE + 1], b[TILE_DEPTH][TILE + 1];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};

    for (int first = 0; first < k; first += TILE_DEPTH) {
        for (int i = threadIdx.x; i < TILE * TILE_DEPTH; i += THREADS) {
            int row = a_along_k ? i / TILE_DEPTH : i % TILE, depth = a_along_k ? i % TILE_DEPTH : i / TILE;
            bool inside = first_row + row < m && first + depth < k;
            a[depth][row] = inside ? load_a(first_row + row, first + depth) : 0.0f;
        }
        for (int i = threadIdx.x; i < TILE * TILE_DEPTH; i += THREADS) {
            int column = b_along_n ? i % TILE : i / TILE_DEPTH, depth = b_along_n ? i / TILE : i % TILE_DEPTH;
            bool inside = first_column + column < n && first + depth < k;
            b[depth][column] = inside ? load_b(first + depth, first_column + column) : 0.0f;
        }
        __syncthreads();
        for (int depth = 0; depth < TILE_DEPTH; depth++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++)
                    sum[i][j] += a[depth][ty + 16 * i] * b[depth][tx + 16 * j];
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (first_row + ty + 16 * i < m && first_column + tx + 16 * j < n)
                store(first_row + ty + 16 * i, first_column + tx + 16 * j, sum[i][j]);
}

static __host__ __device__ inline int tiles(int n)
{
    return (n + TILE - 1) / TILE;
}
#endif
#endif
