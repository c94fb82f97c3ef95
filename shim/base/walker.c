/* walker.c - opens libunwind. */
#include "walker.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME "libunwind.so.8"

static void *open_beside(const char *beside)
{
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    char path[PATH_MAX];
    if (!slash || (size_t)snprintf(path, sizeof(path), "%.*s/" NAME, (int)(slash - beside), beside) >= sizeof(path))
        return NULL;
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

spw_walker *spw_walker_open(const char *beside)
{
    void *library = dlopen(NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_beside(beside);
    return library ? (spw_walker *)(uintptr_t)dlsym(library, "unw_backtrace") : NULL;
}
