/* globals.h - lists the variables that the kernels of an image may use without being given their address, and the kernels
 * that may print.
 *
 *     cubin        an ELF file: the symbols in its sections .nv.global* (variables) and .nv.constant3 (constants)
 *     PTX          its declarations of .global and .const
 *     fat binary   all of the above that it holds, compressed (Zstandard, LZ4) or not
 *
 * Which kernels may print is said by the call graph of a cubin (callgraph.h), and by the code of functions in PTX.
 *
 * How a fat binary is laid out is not documented, but for its frame. What is read of it proves itself: its parts fill it
 * exactly, and each one turns out to be PTX or a cubin of the length that was said. Whatever is otherwise cannot be listed.
 * Names of all parts are listed that a device of the machine may take: the driver knows which of them there are. For which
 * architecture a cubin is, the fat binary says, and the cubin itself; where they do not say the same it is listed.
 *
 * Nothing outside of the image is read, however damaged it is. No state, any thread. */
#ifndef SPILLWAY_SHIM_GLOBALS_H
#define SPILLWAY_SHIM_GLOBALS_H
#include "globals_parts.h"

/* NULL: these are all that there are, to be finished. Else why they cannot be listed, and *ret is empty; completes "the
 * variables of a module are not known: ". `architectures`: those of which parts are taken (architectures.h); NULL: of all.
 */
const char *spw_globals_list(const void *image, size_t bytes, const bool *architectures, struct spw_globals *ret);
#endif
