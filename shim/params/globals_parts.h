/* globals_parts.h - a list of the variables of an image, and what the readers of the forms of images have in common. */
#ifndef SPILLWAY_SHIM_GLOBALS_PARTS_H
#define SPILLWAY_SHIM_GLOBALS_PARTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_image_part { /* of an image, or all of it */
    const char *bytes;
    size_t count;
};

#define SPW_GLOBALS_MAX          4096                /* names */
#define SPW_GLOBALS_MAX_PRINTING 16384               /* kernels that may print, and what they call for it */
#define SPW_GLOBALS_MAX_PART     ((size_t)256 << 20) /* bytes of a part of a fat binary, unpacked */

struct spw_global {
    char *name;
    bool is_constant; /* kernels cannot write it */
};

struct spw_globals {
    struct spw_global *list; /* no name twice */
    uint32_t count, room;
    uint64_t *printing; /* hashes of the names of kernels that may print, in order */
    uint32_t printing_count, printing_room;
    bool calls_pointers; /* some function calls others by addresses, which may lie in variables */
};

void spw_globals_finish(struct spw_globals *globals);

/* A name that ends with its length or a 0. What no kernel writes, though it does not lie in constant memory, is a constant
 * too: literals of the compiler, the tables of CUDA's libraries, objects of its C++ libraries that have no state. */
const char *spw_globals_add(struct spw_globals *globals, const char *name, size_t length, bool is_constant);

/* The texts of Triton's assertions, provided that the image has first values for them: constants too. */
bool spw_globals_is_text(const char *name, size_t length);

/* A kernel calls a function that it does not have: NULL where this keeps nothing that outlives a launch. Who prints leaves
 * nothing that others can read, so that this is a matter of the kernel alone: the functions below. */
const char *spw_globals_calls(const char *name, size_t length);

/* What keeps kernels that print from being told from others. */
extern const char spw_globals_unknown_printing[];

/* A function of that name which the image does not have prints. */
bool spw_globals_is_print(const char *name, size_t length);

/* The kernel, or function that it may call, may print. One that has its name's hash by chance is taken for it. */
const char *spw_globals_add_printing(struct spw_globals *globals, const char *name, size_t length);
bool spw_globals_may_print(const struct spw_globals *globals, const char *name, size_t length);
#endif
