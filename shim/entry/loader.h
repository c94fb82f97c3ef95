/* loader.h - the C library's dlsym(), past ours and any other library's. */
#ifndef SPILLWAY_SHIM_LOADER_H
#define SPILLWAY_SHIM_LOADER_H
#include "ours.h"

/* Sanitizers ask before their shadow memory is there: what runs by then is not instrumented. */
#define SPW_BARE __attribute__((no_sanitize("address", "thread", "undefined")))

typedef void *spw_look_up(void *handle, const char *name);

spw_look_up *spw_loader(void) SPW_OURS;

/* What the loader finds, without ours in its place, nor another preloaded library's. RTLD_NEXT means after this library. */
void *spw_lookups_of_loader(void *handle, const char *name) SPW_OURS;
#endif
