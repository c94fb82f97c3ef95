/* failing-memory.h - allocations fail when a test says so, and are counted.
 *
 * Of malloc(), calloc(), realloc(), reallocarray() and free(), as the program itself and what is linked into it call them;
 * `malloc` and `free` handed to a library by address count too. Whatever depends on `failing_memory` has all this. */
#ifndef SPILLWAY_TESTS_UNIT_FAILING_MEMORY_H
#define SPILLWAY_TESTS_UNIT_FAILING_MEMORY_H
#include <stdbool.h>

/* So many calls succeed; from then on all fail, or only the next one does. Negative: none fails. */
void memory_fails_after(long calls);
void memory_fails_once_after(long calls);
/* None fails any more; whether one has. */
bool memory_is_back(void);

/* Blocks that there are: those that were handed out, less those that were given back. */
long memory_blocks(void);
#endif
