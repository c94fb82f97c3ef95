/* callgraph.h - which kernels of a cubin may print, by themselves or through the functions that they call.
 *
 * What the assembler and the linker say of it is all read, and any of it is enough:
 *
 *     .nv.callgraph       calls, addresses of functions that are taken, and calls through a pointer: these may reach all
 *     .nv.info.KERNEL     the functions of others that the kernel may come to call
 *     relocations         of the code, and of the constants that are the code's own
 *
 * Functions that lie in one section of code count as one. A kernel of which nothing is said may print. Where something is
 * not as it is known to be, kernels that print cannot be told from others. */
#ifndef SPILLWAY_SHIM_CALLGRAPH_H
#define SPILLWAY_SHIM_CALLGRAPH_H
#include "cubin.h"

/* Some function of it calls others through a pointer, or leaves the address of one where others find it. Of code that was
 * not linked with other code nothing is said, and there a pointer is the number of a function, the same in each load. */
bool spw_callgraph_has_pointers(const struct spw_cubin *cubin);

/* For a cubin that refers to a function that prints: adds the kernels to what is listed. NULL, or why not, as of
 * spw_globals_list(). */
const char *spw_callgraph_list_printing(struct spw_globals *globals, const struct spw_cubin *cubin);
#endif
