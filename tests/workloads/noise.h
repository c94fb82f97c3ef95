/* noise.h - work that belongs to no step: now and then a few kernels on tensors of their own, somewhere in the middle.
 *
 * It changes no result. What watches the program sees operations that it has not seen at this place before. */
#ifndef WORKLOADS_NOISE_H
#define WORKLOADS_NOISE_H
#include <stdint.h>

/* A training step begins. `wanted`: it gets noise, at one of the places that the step before had, chosen by `seed`. */
void noise_begin_step(bool wanted, uint64_t seed);
/* A place where noise may come: between two operations of a training step. */
void noise_here(void);
#endif
