/* folder.h - remembers the folder in which the process was started, to which the user's relative paths refer. */
#ifndef SPILLWAY_SHIM_FOLDER_H
#define SPILLWAY_SHIM_FOLDER_H
#include <stdbool.h>
#include <stddef.h>

/* Remembers the current folder. Called once, before main(), so that the program cannot have changed it. */
void spw_folder_remember(void);

/* Stores `path` as it was meant at the start: unchanged if it is absolute or nothing is remembered, else below the
 * remembered folder. Returns false, with ret_path unchanged, if that does not fit into `size` bytes. */
bool spw_folder_at_start(const char *path, char *ret_path, size_t size);
#endif
