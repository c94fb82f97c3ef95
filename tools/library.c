/* library.c - finds libspillway.so for a command that was built or installed together with it. */
#include "commands.h"
#include <limits.h>
#include <stdbool.h>
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
        /* Beside it in a build folder; below the same prefix, or in a folder of its own, when installed. */
        static const char *const places[] = {"/../shim/libspillway.so", "/../" SPILLWAY_LIBDIR "/libspillway.so"};
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            char path[PATH_MAX * 2], real_path[PATH_MAX];
            bool absolute = i == 1 && SPILLWAY_LIBDIR[0] == '/';
            snprintf(path, sizeof(path), "%s%s", absolute ? "" : exe,
                     absolute ? SPILLWAY_LIBDIR "/libspillway.so" : places[i]);
            if (realpath(path, real_path) && access(real_path, R_OK) == 0)
                return (unsigned long)snprintf(ret_path, size, "%s", real_path) < size;
        }
    }
    return 0;
}

int find_names_folder(const char *library, char *ret_path, unsigned long size)
{
    static const char *const folders[] = {"names", "spillway"}; /* in a build folder; installed */
    const char *slash = strrchr(library, '/');
    for (size_t i = 0; slash && i < sizeof(folders) / sizeof(folders[0]); i++) {
        char link[PATH_MAX * 2], real_path[PATH_MAX];
        int length = (int)(slash - library);
        snprintf(link, sizeof(link), "%.*s/%s/libcuda.so", length, library, folders[i]);
        if (realpath(link, real_path) && !strcmp(real_path, library))
            return (unsigned long)snprintf(ret_path, size, "%.*s/%s", length, library, folders[i]) < size;
    }
    return 0;
}
