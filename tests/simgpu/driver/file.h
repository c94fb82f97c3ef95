/* file.h - a file's contents in memory. */
#ifndef SIMGPU_DRIVER_FILE_H
#define SIMGPU_DRIVER_FILE_H

/* The file with a 0 behind it, to be freed. NULL: errno says why. */
char *file_read(const char *path);
#endif
