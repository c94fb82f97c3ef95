/* twin_attrs.h - attributes that functions and kernels of the program's were told, for those of the same name in a twin. */
#ifndef SPILLWAY_SHIM_TWIN_ATTRS_H
#define SPILLWAY_SHIM_TWIN_ATTRS_H
#include <cuda.h>
#include <stdbool.h>

/* The twin is told what the original was; both are CUkernels where `is_kernel`, and in the current context. What a kernel's
 * function was told goes before what the kernel was. 0 or a failure of the driver. */
int spw_twin_attrs_copy(CUfunction original, CUfunction twin, bool is_kernel);
#endif
