/* casts.h - recognises the parameters of PyTorch's element-wise kernels that say between which types they convert.
 *
 * Kernels that convert take two structs by value as their last parameters (ATen/native/cuda/MemoryAccess.cuh):
 *
 *     LoadWithCast<n>, StoreWithCast<n>    type[n], a byte each   element_bytes[n], 4 bytes each
 *
 * These never hold an address, whatever they look like. With n = 1 they are as long as an address, and three of their bytes
 * are never filled in; where the driver has memory at 12 GiB and above, a size of 4 looks like an address. They are
 * recognised by the kernel's name, which tells n, and by their exact sizes. */
#ifndef SPILLWAY_SHIM_CASTS_H
#define SPILLWAY_SHIM_CASTS_H
#include "param.h"
#include <stdint.h>

/* Returns a bit for each parameter that is one of these, for the kernel of that name (NULL: unknown). */
uint64_t spw_casts_recognise(const char *name, const struct spw_param *params, unsigned count);
#endif
