/* host_multiply.cpp - the matrix product of the simulated device: a block of b is packed so that its rows lie close
 * together, then a few rows of c at a time are kept in vector registers.
 *
 * Vectors run along the columns, so each element is the same sequence of products and sums whatever their width, and
 * the bits are the same with and without AVX2. */
#include "tile.h"

#define DEPTH 256 /* rows of b that are packed at once */

/* Eight columns; operations on it become one AVX instruction, or two of SSE. */
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* c[ROWS][columns] += alpha * a[ROWS][depth] * packed[depth][VECTORS]. */
template <int ROWS, int VECTORS>
INLINE void strip(int depth, float alpha, const float *a, long a_row, long a_column, const float *packed, float *c,
                  long c_row, int columns)
{
    vector sum[ROWS][VECTORS] = {};
    const vector *b = (const vector *)packed;

    for (int k = 0; k < depth; k++)
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < VECTORS; v++)
                sum[i][v] += a[i * a_row + k * a_column] * b[k * VECTORS + v];

    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < VECTORS; v++) {
            float *to = c + i * c_row + v * 8;
            if (v * 8 + 8 <= columns)
                *(vector *)to += alpha * sum[i][v];
            else
                for (int j = 0; v * 8 + j < columns; j++)
                    to[j] += alpha * sum[i][v][j];
        }
}

/* Copies `columns` of b, filling up with zeros to whole vectors. */
template <int VECTORS> INLINE void pack(int depth, const float *b, long b_row, long b_column, int columns, float *packed)
{
    for (int k = 0; k < depth; k++)
        for (int j = 0; j < VECTORS * 8; j++)
            packed[k * VECTORS * 8 + j] = j < columns ? b[k * b_row + j * b_column] : 0.0f;
}

template <int ROWS, int VECTORS>
INLINE void multiply_in_strips(int m, int n, int k, float alpha, const float *a, long a_row, long a_column, const float *b,
                               long b_row, long b_column, float *c, long c_row)
{
    float packed[DEPTH * VECTORS * 8] __attribute__((aligned(64)));

    for (int first = 0; first < k; first += DEPTH) {
        int depth = k - first < DEPTH ? k - first : DEPTH;
        for (int j = 0; j < n; j += VECTORS * 8) {
            int i = 0;
            pack<VECTORS>(depth, b + first * b_row + j * b_column, b_row, b_column, n - j, packed);
            for (; i + ROWS <= m; i += ROWS)
                strip<ROWS, VECTORS>(depth, alpha, a + i * a_row + first * a_column, a_row, a_column, packed,
                                     c + i * c_row + j, c_row, n - j);
            for (; i < m; i++)
                strip<1, VECTORS>(depth, alpha, a + i * a_row + first * a_column, a_row, a_column, packed, c + i * c_row + j,
                                  c_row, n - j);
        }
    }
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void multiply_avx2(int m, int n, int k, float alpha, const float *a, long a_row,
                                                          long a_column, const float *b, long b_row, long b_column, float *c,
                                                          long c_row)
{
    multiply_in_strips<6, 2>(m, n, k, alpha, a, a_row, a_column, b, b_row, b_column, c, c_row);
}
#endif

static void multiply_anywhere(int m, int n, int k, float alpha, const float *a, long a_row, long a_column, const float *b,
                              long b_row, long b_column, float *c, long c_row)
{
    multiply_in_strips<4, 1>(m, n, k, alpha, a, a_row, a_column, b, b_row, b_column, c, c_row);
}

void host_multiply(int m, int n, int k, float alpha, const float *a, long a_row, long a_column, const float *b, long b_row,
                   long b_column, float *c, long c_row)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) {
        multiply_avx2(m, n, k, alpha, a, a_row, a_column, b, b_row, b_column, c, c_row);
        return;
    }
#endif
    multiply_anywhere(m, n, k, alpha, a, a_row, a_column, b, b_row, b_column, c, c_row);
}
