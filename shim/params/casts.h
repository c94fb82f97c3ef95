/* casts.h - parameters of PyTorch's element-wise kernels that say between which types they convert.
 *
 * Two structs by value, the last parameters of a kernel that converts (ATen/native/cuda/MemoryAccess.cuh):
 *
 *     LoadWithCast<n>, StoreWithCast<n>    type[n], a byte each   element_bytes[n], 4 bytes each
 *
 * No address is in them, whatever they look like: with n = 1 they are as long as an address, three bytes of which nobody
 * fills in, and where the driver has memory at 12 GiB and above, a size of 4 is one. They are known by the kernel's name,
 * which tells n, and their exact sizes. */
#ifndef SPILLWAY_SHIM_CASTS_H
#define SPILLWAY_SHIM_CASTS_H
#include "param.h"
#include <stdint.h>

/* A bit for each parameter of the kernel of that name (NULL: not known) that is one of these. */
uint64_t spw_casts_recognise(const char *name, const struct spw_param *params, unsigned count);
#endif
