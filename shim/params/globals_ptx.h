/* globals_ptx.h - reads the variables of PTX, and which of its kernels may print. */
#ifndef SPILLWAY_SHIM_GLOBALS_PTX_H
#define SPILLWAY_SHIM_GLOBALS_PTX_H
#include "globals_parts.h"

/* NULL, or why not, as of spw_globals_list(). Names are added to what is listed already. */
const char *spw_globals_of_ptx(struct spw_globals *globals, struct spw_image_part text);
#endif
