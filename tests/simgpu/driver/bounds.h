/* bounds.h - enforces what kernels declare, for SIMGPU_BOUNDS: it is a fault if a kernel with a footprint touches a page of
 * device memory that it does not declare, or writes a byte that it does not declare to write.
 *
 * A GPU reports nothing if a kernel writes outside its own tensors but within some allocation; other tensors are then
 * wrong. */
#ifndef SIMGPU_DRIVER_BOUNDS_H
#define SIMGPU_DRIVER_BOUNDS_H
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

/* Returns true if the kernel's declarations are enforced. */
bool bounds_apply(const struct op *op);

/* To be called around the kernel: leaves open the whole pages that it declares, and opens everything again. *ret_stray is
 * the first byte on those pages that the kernel has written without declaring it. Returns false if there is none. The
 * driver's lock is held throughout. */
void bounds_begin(const struct op *op);
bool bounds_end(uint64_t *ret_stray);
#endif
