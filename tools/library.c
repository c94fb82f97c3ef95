/* library.c - finds libspillway.so for a command that was built or installed together with it. */
#include "commands.h"
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int find_library(char *ret_path, unsigned long size)
{
    char exe[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    char *slash = NULL;
    if (length > 0) {
        exe[length] = 0;
        slash = strrchr(exe, '/');
    }
    if (slash) {
        *slash = 0;
        /* Beside it in a build folder; below the same prefix when installed; where it was to be installed. */
        static const char *const places[] = {"/../shim/libspillway.so", "/../" SPILLWAY_LIBDIR "/libspillway.so"};
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            char path[PATH_MAX * 2], real_path[PATH_MAX];
            snprintf(path, sizeof(path), "%s%s", exe, places[i]);
            if (realpath(path, real_path) && access(real_path, R_OK) == 0)
                return (unsigned long)snprintf(ret_path, size, "%s", real_path) < size;
        }
    }
    return 0;
}
