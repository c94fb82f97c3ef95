/* matmul.h - matrix products of any layout: c = alpha * a * b (+ bias of each column) (+ c), many at once. */
#ifndef WORKLOADS_MATMUL_H
#define WORKLOADS_MATMUL_H
#include "array.h"

/* Where an operand's elements lie: element (row, column) of matrix (outer, inner) is at the sum of index times stride. */
struct layout {
    long row, column, outer, inner;
};

struct product {
    int m, n, k;      /* c is m x n, a is m x k, b is k x n */
    int outer, inner; /* this many products: outer * inner, at least 1 each */
    float alpha;
    int accumulate;        /* add to what c holds */
    struct layout a, b, c; /* c.column is 1 */
};

/* `bias` has n elements, or is NULL. */
void multiply(const struct product &p, const float *a, const float *b, const float *bias, float *c, enum role role);

tensor times(const tensor &a, const tensor &b, const tensor &bias, enum role role);  /* a b + bias */
void add_times(const tensor &sum, const tensor &a, const tensor &b, enum role role); /* sum += a b */
tensor times_transposed(const tensor &a, const tensor &b, enum role role);           /* a b' */
tensor transposed_times(const tensor &a, const tensor &b, enum role role);           /* a' b */
#endif
