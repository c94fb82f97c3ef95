/* find.h - where the real libcuda.so.1 may be, in the order in which the loader would look. */
#ifndef SPILLWAY_SHIM_FIND_H
#define SPILLWAY_SHIM_FIND_H
#include <stdbool.h>
#include <stddef.h>

/* Calls `try_file` with the absolute path of one candidate after the other until it returns true: SPILLWAY_DRIVER alone
 * if it is set, else the entries of LD_LIBRARY_PATH, the loader's cache, and the usual folders. Never a copy of
 * spillway itself, never a toolkit's stub. Returns whether one was taken. */
bool spw_find_driver(bool (*try_file)(const char *path, void *data), void *data);

/* Finds `name` in an image of the loader's cache (the format of glibc 2.2 and later): the nth library of that name built for
 * this machine. NULL when there are fewer, or the image is damaged. Borrowed from the image. */
const char *spw_find_in_cache(const void *image, size_t size, const char *name, unsigned nth);
#endif
