/* find.h - looks for the real libcuda.so.1 in the order in which the loader would look. */
#ifndef SPILLWAY_SHIM_FIND_H
#define SPILLWAY_SHIM_FIND_H
#include <stdbool.h>
#include <stddef.h>

/* Calls `try_file` with the absolute path of one candidate after the other until it returns true: with SPILLWAY_DRIVER
 * alone if that is set, else with the entries of LD_LIBRARY_PATH, the loader's cache, and the usual folders. Copies of
 * spillway and a toolkit's stub are skipped. Returns true if one was taken. */
bool spw_find_driver(bool (*try_file)(const char *path, void *data), void *data);

/* Finds the nth library called `name` that is built for this machine, in an image of the loader's cache (the format of
 * glibc 2.2 and later). The result points into the image. NULL if there are fewer, or the image is damaged. */
const char *spw_find_in_cache(const void *image, size_t size, const char *name, unsigned nth);
#endif
