/* readable.h - names of kernels as people write them, for messages. */
#ifndef SPILLWAY_SHIM_READABLE_H
#define SPILLWAY_SHIM_READABLE_H
#include <cuda.h>
#include <stddef.h>

/* Looks whether the program has a C++ library by now, which can read names. The loader's lock is taken: to be called with
 * none of ours held, since a library that is being loaded may call the driver. */
void spw_readable_look_for_library(void);

/* The function's name without its parameters, where a C++ library was found; else as the image has it. Answers `buffer`,
 * whose `size` is not 0. No lock needed. */
const char *spw_readable_name(CUfunction f, char *buffer, size_t size);

/* The same of a symbol. */
const char *spw_readable_symbol(const char *symbol, char *buffer, size_t size);
#endif
