/* cubin.h - machine code that a program brings by itself, as ptxas makes it: a cubin, which is an ELF file.
 *
 * Compilers that run in the program (Triton, NVRTC) make such images while it runs. Two may have kernels of one name that do
 * different things, so the table of layouts has them by name and image: NAME@HASH, the FNV-1a hash of the whole file in 16
 * digits. A kernel that the table lacks has the parameters that the file tells, and is taken to read and write all tensors
 * that it is given, which is said once. With SIMGPU_IMAGES=FOLDER each image is put there as HASH.cubin, for whoever makes a
 * table, and nothing is said. */
#ifndef SIMGPU_DRIVER_CUBIN_H
#define SIMGPU_DRIVER_CUBIN_H
#include <cuda.h>
#include <stdbool.h>

#include "../image.h"

/* Whether it begins like one, and the settings have machine code taken. */
bool cubin_takes(const void *candidate);
/* An image of its kernels and variables, the same for each file, good until the process ends. CUDA_ERROR_INVALID_IMAGE: it
 * can't be read. */
CUresult cubin_load(const void *candidate, const struct simgpu_image **ret_image);
#endif
