/* globals.h - lists the variables that kernels of an image can use without being given an address, and the kernels that may
 * print.
 *
 *     cubin        an ELF file: the symbols in its sections .nv.global* (variables) and .nv.constant3 (constants)
 *     PTX          its declarations of .global and .const
 *     fat binary   all of the above that it holds, compressed (Zstandard, LZ4) or not
 *
 * Which kernels may print is stated by the call graph of a cubin (callgraph.h), and by the code of functions in PTX.
 *
 * The layout of a fat binary is not documented, except for its frame. So what is read of it is verified: its parts have to
 * fill it exactly, and each has to be PTX or a cubin of the stated length. An image that differs from that cannot be
 * listed. The list has the names of all parts that a device of the machine may take; the driver knows which of these exist.
 * The architecture of a cubin is stated by the fat binary and by the cubin itself; if they disagree, the cubin is listed.
 *
 * Nothing outside the image is read, however damaged it is. No state; any thread. */
#ifndef SPILLWAY_SHIM_GLOBALS_H
#define SPILLWAY_SHIM_GLOBALS_H
#include "globals_parts.h"

/* Returns NULL if *ret lists all of them; the caller releases it with spw_globals_finish(). Otherwise *ret is empty, and
 * the result is the reason, which completes "the variables of a module are not known: ". `architectures`: those whose parts
 * are listed (architectures.h); NULL: all. */
const char *spw_globals_list(const void *image, size_t bytes, const bool *architectures, struct spw_globals *ret);
#endif
