/* globals_ptx.h - lists the variables of PTX, and those of its kernels that may print. */
#ifndef SPILLWAY_SHIM_GLOBALS_PTX_H
#define SPILLWAY_SHIM_GLOBALS_PTX_H
#include "globals_parts.h"

/* Adds names to the list. Returns NULL, or the reason as spw_globals_list() does. */
const char *spw_globals_of_ptx(struct spw_globals *globals, struct spw_image_part text);
#endif
