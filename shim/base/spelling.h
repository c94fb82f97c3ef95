/* spelling.h - measures how far a typed name is from an existing one. */
#ifndef SPILLWAY_SHIM_SPELLING_H
#define SPILLWAY_SHIM_SPELLING_H
#include <stddef.h>

/* Returns how many letters have to be changed, added or removed to turn one name into the other. Of b, the first 63 letters
 * count. */
unsigned spw_spelling_distance(const char *a, size_t a_length, const char *b, size_t b_length);
#endif
