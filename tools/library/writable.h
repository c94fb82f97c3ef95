/* writable.h - whether a file could be written, without leaving a trace of the question. */
#ifndef SPILLWAY_TOOLS_WRITABLE_H
#define SPILLWAY_TOOLS_WRITABLE_H
#include <stdint.h>

/* 0, or a negative errno. A file that is there stays as it is; one that had to be made for the question is removed. */
int can_write(const char *path);

/* The same for a file that may be a link, a pipe or a device: those are the user's own, and taken to be meant. */
int can_write_to(const char *path);

/* The bytes that the file system of the path's folder has left for this user. 0, or a negative errno. */
int room_left(const char *path, uint64_t *ret_bytes);
#endif
