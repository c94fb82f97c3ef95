/* globals_cubin.h - reads the variables of a cubin, and which of its kernels may print. */
#ifndef SPILLWAY_SHIM_GLOBALS_CUBIN_H
#define SPILLWAY_SHIM_GLOBALS_CUBIN_H
#include "globals_parts.h"

/* NULL, or why not, as of spw_globals_list(). Names are added to what is listed already. */
const char *spw_globals_of_cubin(struct spw_globals *globals, struct spw_image_part file);

/* The cubin says itself that it is for that architecture. */
bool spw_globals_cubin_is_for(struct spw_image_part file, uint32_t architecture);
#endif
