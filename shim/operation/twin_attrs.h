/* twin_attrs.h - copies the attributes that the program set for a function or kernel to the one of the same name in a
 * twin. */
#ifndef SPILLWAY_SHIM_TWIN_ATTRS_H
#define SPILLWAY_SHIM_TWIN_ATTRS_H
#include <cuda.h>
#include <stdbool.h>

/* Sets the twin's attributes to the original's. Both are CUkernels if `is_kernel`, and belong to the current context.
 * Attributes that were set for a kernel's function take precedence over those of the kernel. Returns 0 or a failure of the
 * driver. */
int spw_twin_attrs_copy(CUfunction original, CUfunction twin, bool is_kernel);
#endif
