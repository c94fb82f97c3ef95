/* cubin.h - machine code that a program itself provides, as made by ptxas: a cubin, which is an ELF file.
 *
 * Compilers that run in the program (Triton, NVRTC) make such images while it runs. Two images may have kernels of the
 * same name that do different things, so the table of layouts lists them by name and image: NAME@HASH, the FNV-1a hash
 * of the whole file in 16 digits. A kernel that the table lacks has the parameters that the file contains, and counts as
 * reading and writing all tensors that it is given; this is reported once. With SIMGPU_IMAGES=FOLDER each image is
 * written there as HASH.cubin, for making a table, and nothing is reported. */
#ifndef SIMGPU_DRIVER_CUBIN_H
#define SIMGPU_DRIVER_CUBIN_H
#include <cuda.h>
#include <stdbool.h>

#include "../image.h"

/* Returns true if the bytes begin like a cubin, and the settings accept machine code. */
bool cubin_takes(const void *candidate);
/* Gets an image of its kernels and variables, the same for each file, valid until the process ends.
 * CUDA_ERROR_INVALID_IMAGE: it cannot be read. */
CUresult cubin_load(const void *candidate, const struct simgpu_image **ret_image);
#endif
