/* variables.h - the variables of device programs: each module that is loaded from an image has its own.
 *
 * Kernels are host functions that know a variable by one permanent address, its home. So the variables of one module of
 * an image live at home, and those of every other one in separate memory, which is swapped with the contents at home
 * while a kernel of that module runs. The module that is loaded first lives at home until it is unloaded. */
#ifndef SIMGPU_DRIVER_VARIABLES_H
#define SIMGPU_DRIVER_VARIABLES_H
#include <stdint.h>

#include "../image.h"

struct context;
struct variables;

/* Allocates memory that is aligned for any variable of a device program; to be freed. NULL: no memory. */
void *variable_memory(uint64_t bytes);

/* Creates the variables with the values that they had in the image before any module of it changed them, as part of the
 * device's memory. NULL: no memory, or there are none. One reference. */
struct variables *variables_create(struct context *context, const struct simgpu_image *image);

/* Removes them from the device's memory; kernels that are still to run find them nevertheless. */
void variables_close(struct variables *variables);

struct variables *variables_hold(struct variables *variables); /* both: NULL is allowed */
void variables_let_go(struct variables *variables);

/* Returns the address of the variable with number `index` in the image. */
uint64_t variables_address(const struct variables *variables, uint32_t index);

/* To be called before and after a kernel of the module runs. NULL is allowed. */
void variables_change_places(struct variables *variables);
#endif
