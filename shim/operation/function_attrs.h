/* function_attrs.h - what the program has told the driver about how its functions are to run, as far as a launch does not
 * say it itself: attributes, cache and shared memory configurations. Engine lock. */
#ifndef SPILLWAY_SHIM_FUNCTION_ATTRS_H
#define SPILLWAY_SHIM_FUNCTION_ATTRS_H
#include <stdbool.h>
#include <stdint.h>

/* The function, kernel or context (NULL: the current one, whichever that is) is told `value` of the matter `what`, a number
 * that tells calls and attributes apart. False: that is what it was told last. What is told for the first time differs, and
 * all of it does where there is no memory. */
bool spw_function_attrs_differs(const void *whose, unsigned what, uint64_t value);

void spw_function_attrs_reset(void); /* forgets everything */
#endif
