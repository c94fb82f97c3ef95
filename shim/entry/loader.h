/* loader.h - the C library's dlsym(), which is not ours nor that of any other library. */
#ifndef SPILLWAY_SHIM_LOADER_H
#define SPILLWAY_SHIM_LOADER_H
#include "ours.h"

/* Sanitizers call dlsym() before their shadow memory exists, so code that runs by then is not instrumented. */
#define SPW_BARE __attribute__((no_sanitize("address", "thread", "undefined")))

typedef void *spw_look_up(void *handle, const char *name);

spw_look_up *spw_loader(void) SPW_OURS;

/* Returns what the loader finds, without our functions or those of another preloaded library in its place. RTLD_NEXT means
 * after this library. */
void *spw_lookups_of_loader(void *handle, const char *name) SPW_OURS;
#endif
