/* file.h - reads a file into memory. */
#ifndef SIMGPU_DRIVER_FILE_H
#define SIMGPU_DRIVER_FILE_H

/* Returns the file's contents followed by a 0, to be freed. NULL: errno says why. */
char *file_read(const char *path);
#endif
