/* globals_parts.h - what the readers of the forms of images have in common. */
#ifndef SPILLWAY_SHIM_GLOBALS_PARTS_H
#define SPILLWAY_SHIM_GLOBALS_PARTS_H
#include "globals.h"

struct spw_image_part { /* of an image, or all of it */
    const char *bytes;
    size_t count;
};

/* NULL, or why not, as of spw_globals_list(). Names are added to what is listed already. */
const char *spw_globals_of_cubin(struct spw_globals *globals, struct spw_image_part file);
const char *spw_globals_of_ptx(struct spw_globals *globals, struct spw_image_part text);

/* The cubin says itself that it is for that architecture. */
bool spw_globals_cubin_is_for(struct spw_image_part file, uint32_t architecture);

/* A name that ends with its length or a 0. */
const char *spw_globals_add(struct spw_globals *globals, const char *name, size_t length, bool is_constant);

/* A kernel calls a function that it does not have: NULL where this keeps nothing that outlives a launch. */
const char *spw_globals_calls(const char *name, size_t length);
#endif
