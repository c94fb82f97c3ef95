/* folder.h - the folder that the process was started in, from which the user's relative paths are meant. */
#ifndef SPILLWAY_SHIM_FOLDER_H
#define SPILLWAY_SHIM_FOLDER_H
#include <stdbool.h>
#include <stddef.h>

/* Remembers the current folder. Called once, before main(), so that the program cannot have changed it. */
void spw_folder_remember(void);

/* `path` as it was meant at the start: itself when it is absolute or nothing is remembered, else below the remembered
 * folder. False, with ret_path unchanged, when that does not fit into `size` bytes. */
bool spw_folder_at_start(const char *path, char *ret_path, size_t size);
#endif
