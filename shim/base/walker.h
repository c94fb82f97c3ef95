/* walker.h - opens libunwind, which walks stacks: the machine's own, or the one that came with the library. */
#ifndef SPILLWAY_SHIM_WALKER_H
#define SPILLWAY_SHIM_WALKER_H

/* Writes the return addresses of the calling thread's stack, the innermost first. Returns how many, or a negative number on
 * failure. */
typedef int spw_walker(void **ret_addresses, int room);

/* Opens libunwind: by name, as the loader finds it, or else the file of that name in the folder of the library at the path
 * `beside` (NULL: none). It stays open, and its symbols are local to us (RTLD_LOCAL), since its _Unwind_* functions would
 * otherwise replace the compiler's for the program's exceptions. Returns NULL if there is none. */
spw_walker *spw_walker_open(const char *beside);
#endif
