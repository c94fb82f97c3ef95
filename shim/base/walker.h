/* walker.h - libunwind, which walks stacks: the machine's, else the one that came with the library. */
#ifndef SPILLWAY_SHIM_WALKER_H
#define SPILLWAY_SHIM_WALKER_H

/* Writes the return addresses of the calling thread's stack, the innermost first; how many, negative on failure. */
typedef int spw_walker(void **ret_addresses, int room);

/* Opens it: by name, as the loader finds it, else the file of that name in the folder of the library at the path `beside`
 * (NULL: none). It stays open, in a name space where nobody else finds it: its _Unwind_* would take the place of the
 * compiler's for the program's exceptions. NULL where there is none. */
spw_walker *spw_walker_open(const char *beside);
#endif
