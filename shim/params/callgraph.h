/* callgraph.h - finds the kernels of a cubin that may print, by themselves or through functions that they call.
 *
 * Everything that the assembler and the linker state is read, and any statement of it is enough:
 *
 *     .nv.callgraph       calls, addresses of functions that are taken, and calls through pointers, which may reach all
 *     .nv.info.KERNEL     the functions of others that the kernel may come to call
 *     relocations         of the code, and of the constants that belong to the code
 *
 * Functions in one section of code count as one. A kernel about which nothing is stated may print. If the file is not of
 * the known form, the kernels that print cannot be told from the others. */
#ifndef SPILLWAY_SHIM_CALLGRAPH_H
#define SPILLWAY_SHIM_CALLGRAPH_H
#include "cubin.h"

/* Returns true if a function of the cubin calls others through a pointer, or leaves the address of a function where others
 * find it. Code that was not linked with other code states nothing; there a pointer is the number of a function, the same
 * in each load. */
bool spw_callgraph_has_pointers(const struct spw_cubin *cubin);

/* For a cubin that refers to a function that prints: adds the kernels that may print to the list. Returns NULL, or the
 * reason as spw_globals_list() does. */
const char *spw_callgraph_list_printing(struct spw_globals *globals, const struct spw_cubin *cubin);
#endif
