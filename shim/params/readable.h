/* readable.h - names of kernels as people write them, for messages. */
#ifndef SPILLWAY_SHIM_READABLE_H
#define SPILLWAY_SHIM_READABLE_H
#include <cuda.h>
#include <stddef.h>

/* The function's name without its parameters, where the program has a C++ library that can read it; else as the image has
 * it. Answers `buffer`, whose `size` is not 0. No lock needed. */
const char *spw_readable_name(CUfunction f, char *buffer, size_t size);

/* The same of a symbol that is in `buffer` already. */
void spw_readable_make(char *buffer, size_t size);
#endif
