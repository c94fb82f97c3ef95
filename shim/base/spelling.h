/* spelling.h - how far a name that somebody typed is from one that there is. */
#ifndef SPILLWAY_SHIM_SPELLING_H
#define SPILLWAY_SHIM_SPELLING_H
#include <stddef.h>

/* How many letters must change, come or go to make one name the other; of longer names the first 63 letters of b count. */
unsigned spw_spelling_distance(const char *a, size_t a_length, const char *b, size_t b_length);
#endif
