/* globals_cubin.h - lists the variables of a cubin, and those of its kernels that may print. */
#ifndef SPILLWAY_SHIM_GLOBALS_CUBIN_H
#define SPILLWAY_SHIM_GLOBALS_CUBIN_H
#include "globals_parts.h"

/* Adds names to the list. Returns NULL, or the reason as spw_globals_list() does. */
const char *spw_globals_of_cubin(struct spw_globals *globals, struct spw_image_part file);

/* Returns true if the cubin itself states that it is for that architecture. */
bool spw_globals_cubin_is_for(struct spw_image_part file, uint32_t architecture);
#endif
