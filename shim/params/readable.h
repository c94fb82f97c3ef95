/* readable.h - demangles names of kernels for messages. */
#ifndef SPILLWAY_SHIM_READABLE_H
#define SPILLWAY_SHIM_READABLE_H
#include <cuda.h>
#include <stddef.h>

/* Looks whether the program has loaded a C++ library, which can demangle names. Takes the loader's lock, so the caller must
 * not hold any of ours: a library that is being loaded may call the driver. */
void spw_readable_look_for_library(void);

/* Writes to `buffer`, of `size` > 0 bytes, the function's name without its parameters if a C++ library was found, else the
 * mangled name. Returns `buffer`. Needs no lock. */
const char *spw_readable_name(CUfunction f, char *buffer, size_t size);

/* The same for a symbol. */
const char *spw_readable_symbol(const char *symbol, char *buffer, size_t size);
#endif
