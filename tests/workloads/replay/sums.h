/* sums.h - what the backward part of replay does with a tensor. All of it gives the same bits on every grid. */
#ifndef REPLAY_SUMS_H
#define REPLAY_SUMS_H
#include "array.h"

/* *sum becomes a sum over the bits of all numbers and their places; it must be 0 before. */
void take_sum(const tensor &of, unsigned long long *sum);
/* Element by element. */
tensor product_of(const tensor &a, const tensor &b);
tensor mixed(const tensor &gradient, const tensor &value); /* 0.9 gradient + 0.1 value */
/* Moves weights a small way along their gradient, which is a sum over `rows`. */
void update(const tensor &weights, const tensor &gradient, size_t rows);
#endif
