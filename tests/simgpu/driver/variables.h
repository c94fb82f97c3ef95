/* variables.h - the variables of device programs: each module that is loaded from an image has its own.
 *
 * Kernels are host functions that know a variable by one address, its home, for good. So the variables of one module of an
 * image live at home, and those of every other one in memory of their own, which changes places with what is at home
 * while a kernel of that module runs. The first to be loaded lives at home, from beginning to end. */
#ifndef SIMGPU_DRIVER_VARIABLES_H
#define SIMGPU_DRIVER_VARIABLES_H
#include <stdint.h>

#include "../image.h"

struct context;
struct variables;

/* Aligned as any variable of a device program may be; to be freed. NULL: no memory. */
void *variable_memory(uint64_t bytes);

/* As they were in the image before any module of it changed them; part of the device's memory from here on. NULL: no
 * memory, or there are none. One holder. */
struct variables *variables_create(struct context *context, const struct simgpu_image *image);

/* They are no memory of the device's any more; kernels that are to run yet still find them. */
void variables_close(struct variables *variables);

struct variables *variables_hold(struct variables *variables); /* both: NULL is fine */
void variables_let_go(struct variables *variables);

/* Where the one is that the image has as number `index`. */
uint64_t variables_address(const struct variables *variables, uint32_t index);

/* Before a kernel of the module runs, and behind it. NULL is fine. */
void variables_change_places(struct variables *variables);
#endif
