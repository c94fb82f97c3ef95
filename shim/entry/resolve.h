/* resolve.h - exchanges the addresses that the driver's cuGetProcAddress() returns for those of our wrappers.
 *
 * Only the driver decides which variant of a call a program gets (its version, its per-thread form): it is asked first,
 * with the program's own arguments, and its answer is looked up by address. */
#ifndef SPILLWAY_SHIM_RESOLVE_H
#define SPILLWAY_SHIM_RESOLVE_H
#include "driver.h"

/* Notes the driver's address of each line of calls.h. Called once, before the driver counts as open. */
void spw_resolve_learn(void);

/* Returns the function to hand to the program in place of `real`, which the driver answered for (name, version, flags): our
 * wrapper, or `real` itself if we have none. */
void *spw_resolve_exchange(void *real, const char *name, int version, cuuint64_t flags);
#endif
