/* function_attrs.h - remembers the settings that the program last made for its functions beside what each launch says
 * itself: attributes, cache and shared memory configurations. The caller holds the engine lock. */
#ifndef SPILLWAY_SHIM_FUNCTION_ATTRS_H
#define SPILLWAY_SHIM_FUNCTION_ATTRS_H
#include <stdbool.h>
#include <stdint.h>

/* Notes that the program sets `what` to `value` for a function, kernel or context (`whose`; NULL: whatever context is
 * current). `what` is a number that tells the calls and attributes apart. Returns false if this is the value that was set
 * last. Returns true the first time, and always if there is no memory for the note. */
bool spw_function_attrs_differs(const void *whose, unsigned what, uint64_t value);

void spw_function_attrs_reset(void); /* forgets everything */
#endif
