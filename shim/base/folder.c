/* folder.c - keeps the name of the folder in which the process was started. */
#include "folder.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char start[PATH_MAX]; /* "": unknown; constant once main() runs */

void spw_folder_remember(void)
{
    if (!getcwd(start, sizeof(start)) || start[0] != '/') /* an unreachable folder has no absolute name */
        start[0] = 0;
}

bool spw_folder_at_start(const char *path, char *ret_path, size_t size)
{
    bool as_it_is = path[0] == '/' || !start[0];
    size_t needed = strlen(path) + (as_it_is ? 0 : strlen(start) + 1);
    if (needed >= size)
        return false;
    snprintf(ret_path, size, "%s%s%s", as_it_is ? "" : start, as_it_is ? "" : "/", path);
    return true;
}
