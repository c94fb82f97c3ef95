/* globals_parts.h - the list of an image's variables, and what the readers of the forms of images have in common. */
#ifndef SPILLWAY_SHIM_GLOBALS_PARTS_H
#define SPILLWAY_SHIM_GLOBALS_PARTS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spw_image_part { /* a part of an image, or all of it */
    const char *bytes;
    size_t count;
};

#define SPW_GLOBALS_MAX          4096                /* names */
#define SPW_GLOBALS_MAX_PRINTING 16384               /* kernels that may print, and the functions through which they do */
#define SPW_GLOBALS_MAX_PART     ((size_t)256 << 20) /* size of an unpacked part of a fat binary */

struct spw_global {
    char *name;
    bool is_constant; /* kernels cannot write it */
};

struct spw_globals {
    struct spw_global *list; /* each name once */
    uint32_t count, room;
    uint64_t *printing; /* hashes of the names of kernels that may print, sorted */
    uint32_t printing_count, printing_room;
    bool calls_pointers; /* some function calls others by addresses, which may lie in variables */
};

void spw_globals_finish(struct spw_globals *globals);

/* Adds a name, which ends at its length or at a 0. Variables that no kernel writes count as constants even outside constant
 * memory: literals of the compiler, tables of CUDA's libraries, and stateless objects of its C++ libraries. */
const char *spw_globals_add(struct spw_globals *globals, const char *name, size_t length, bool is_constant);

/* Returns true for the texts of Triton's assertions. They are constants too, if the image has initial values for them. */
bool spw_globals_is_text(const char *name, size_t length);

/* A kernel calls this function, which its image does not contain. Returns NULL if the function keeps nothing that outlives
 * a launch, else the reason. Printing leaves nothing that others can read, so it concerns the kernel alone: see the
 * functions below. */
const char *spw_globals_calls(const char *name, size_t length);

/* The reason why the kernels that print cannot be told from the others. */
extern const char spw_globals_unknown_printing[];

/* Returns true if a function of that name, which the image does not contain, prints. */
bool spw_globals_is_print(const char *name, size_t length);

/* The first notes that a kernel, or a function that it may call, may print; the second asks. Another name with the same
 * hash counts as printing, too. */
const char *spw_globals_add_printing(struct spw_globals *globals, const char *name, size_t length);
bool spw_globals_may_print(const struct spw_globals *globals, const char *name, size_t length);
#endif
