/* elementwise.h - kernels that treat every element by itself, and sums over columns. All run on COMPUTE unless told. */
#ifndef WORKLOADS_ELEMENTWISE_H
#define WORKLOADS_ELEMENTWISE_H
#include "array.h"

enum activation { RELU, GELU };

void fill(const tensor &out, float value, enum role role = COMPUTE);
/* Uniformly between -limit and limit; the same for the same seed on every device. */
void fill_random(const tensor &out, float limit, uint64_t seed);
tensor sum_of(const tensor &a, const tensor &b, enum role role = COMPUTE);
void add_to(const tensor &sum, const tensor &a, enum role role = COMPUTE);

tensor activate(enum activation kind, const tensor &x);
/* `saved` is the input for GELU and the output for RELU: what the gradient is computed from. */
tensor activation_gradient(enum activation kind, const tensor &saved, const tensor &dy);
/* The same bits, over x and over dy. */
void relu_in_place(const tensor &x);
void activation_gradient_in_place(enum activation kind, const tensor &saved, const tensor &dy);

tensor column_sums(const tensor &x, enum role role);

/* Rows of the table, one for each index. */
tensor gather_rows(const tensor &table, const indices &which);
/* The table's gradient; each of its rows is summed in the order of the indices. */
tensor gather_rows_gradient(const tensor &dy, const indices &which, size_t table_rows, enum role role);

/* 0 to sequence - 1, `sequences` times over: the position of each token in its sequence. */
indices position_numbers(size_t sequences, size_t sequence);
#endif
