/* ptx.h - PTX text as a device program: accepted if each of its kernels has a twin. */
#ifndef SIMGPU_DRIVER_PTX_H
#define SIMGPU_DRIVER_PTX_H
#include <cuda.h>

#include "../image.h"

/* Gets an image of the kernels of PTX text, to be freed. CUDA_ERROR_INVALID_IMAGE: it is no PTX text.
 * CUDA_ERROR_INVALID_PTX, with a message on stderr: it cannot be read, or one of its kernels has no twin, or a twin with
 * other parameters. */
CUresult ptx_load(const void *candidate, struct simgpu_image **ret_image);
#endif
