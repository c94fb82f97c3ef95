/* bounds.h - holds kernels to what they declare, for SIMGPU_BOUNDS: a kernel with a footprint that touches a page of a
 * device's memory that it does not declare to touch, or writes a byte that it does not declare to write, is a fault.
 *
 * A GPU says nothing where a kernel writes beside its own tensors but within some allocation: other tensors are wrong then.
 */
#ifndef SIMGPU_DRIVER_BOUNDS_H
#define SIMGPU_DRIVER_BOUNDS_H
#include <stdbool.h>
#include <stdint.h>

#include "op.h"

/* Whether this kernel is held to anything. */
bool bounds_apply(const struct op *op);

/* Around it: leaves open what it declares, whole pages, and opens everything again. *ret_stray is the first byte that the
 * kernel has written on those pages and not declared. False: there is none. The driver's lock is held throughout. */
void bounds_begin(const struct op *op);
bool bounds_end(uint64_t *ret_stray);
#endif
