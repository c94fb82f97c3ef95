/* elementwise.h - tells which of their tensors PyTorch's element-wise kernels write.
 *
 * Such a kernel gets its tensors as one array of addresses, and its type only says that they are char pointers. PyTorch
 * puts the result first and the inputs behind it (aten/src/ATen/native/cuda/CUDALoops.cuh, launch_vectorized_kernel() and
 * launch_unrolled_kernel()); kernels with several results have other names. A kernel is recognised by its mangled name, the
 * type of the array in that name, and the sizes of its parameters. */
#ifndef SPILLWAY_SHIM_ELEMENTWISE_H
#define SPILLWAY_SHIM_ELEMENTWISE_H
#include "layout.h"

/* Returns the index of the parameter that is the array: its first address is written, the others are only read. Negative:
 * it is no such kernel. */
int spw_elementwise_tensors(const char *name, const struct spw_param *params, unsigned count);
#endif
