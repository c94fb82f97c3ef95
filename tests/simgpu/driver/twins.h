/* twins.h - kernels that programs bring as PTX, written again in C: the simulated device cannot read machine code, so it
 * knows these by name. */
#ifndef SIMGPU_DRIVER_TWINS_H
#define SIMGPU_DRIVER_TWINS_H
#include "../image.h"
#include <stdbool.h>

/* The kernel that stands for the .entry of that name; NULL: there is none. */
const struct simgpu_kernel *twin_find(const char *name, size_t length);

/* True for such a one: spillway brings them, no program that it runs does. */
bool twin_is(const struct simgpu_kernel *kernel);
bool twin_looks(const struct simgpu_kernel *kernel); /* spillway_seek */
#endif
