/* twins.h - kernels that programs provide as PTX, rewritten in C: the simulated device cannot execute machine code, so it
 * knows these by name. */
#ifndef SIMGPU_DRIVER_TWINS_H
#define SIMGPU_DRIVER_TWINS_H
#include "../image.h"
#include <stdbool.h>

/* Returns the kernel for the .entry of that name; NULL: there is none. */
const struct simgpu_kernel *twin_find(const char *name, size_t length);

/* Returns true for such a kernel: spillway provides them, and no program that it runs does. */
bool twin_is(const struct simgpu_kernel *kernel);
bool twin_looks(const struct simgpu_kernel *kernel); /* spillway_seek */
#endif
