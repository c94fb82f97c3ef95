/* writable.h - checks whether a file could be written, without leaving anything behind. */
#ifndef SPILLWAY_TOOLS_WRITABLE_H
#define SPILLWAY_TOOLS_WRITABLE_H
#include <stdint.h>

/* Returns 0 or a negative errno. An existing file is not changed; one that had to be created for the check is removed. */
int can_write(const char *path);

/* Does the same for a file that may be a link, a pipe or a device: the user named it, so it is accepted. */
int can_write_to(const char *path);

/* Gets the bytes that this user has left on the file system of the path's folder. Returns 0 or a negative errno. */
int room_left(const char *path, uint64_t *ret_bytes);
#endif
