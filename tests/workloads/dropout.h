/* dropout.h - zeroes a random share of all numbers, and makes the rest larger by as much, on COMPUTE.
 *
 * Which ones, a seed and a counter say that the kernels have as parameters: one random number for each number of x, from
 * `first` on. */
#ifndef WORKLOADS_DROPOUT_H
#define WORKLOADS_DROPOUT_H
#include "array.h"

using mask = array<unsigned char>; /* 0: has become 0 */

struct drawing {
    float share; /* that becomes 0 */
    uint64_t seed, first;
};

/* Of gradients, too: the same drawing hits the same places. */
tensor drop(const struct drawing &d, const tensor &x);
/* The same numbers, and which they were. */
tensor drop(const struct drawing &d, const tensor &x, mask *ret_mask);
tensor drop_gradient(const struct drawing &d, const mask &m, const tensor &dy);
#endif
