/* loader.c - finds the C library's dlsym(), which can only be asked for by its version. */
#include "loader.h"

#include <dlfcn.h>
#include <stddef.h>

#if defined(__x86_64__)
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST_VERSION "GLIBC_2.17"
#endif

/* Set once, to the same value by all threads. */
static spw_look_up *of_library;

SPW_BARE spw_look_up *spw_loader(void)
{
    spw_look_up *found = __atomic_load_n(&of_library, __ATOMIC_ACQUIRE);
    if (!found) {
        found = (spw_look_up *)dlvsym(RTLD_NEXT, "dlsym", FIRST_VERSION);
        __atomic_store_n(&of_library, found, __ATOMIC_RELEASE);
    }
    return found;
}

SPW_BARE void *spw_lookups_of_loader(void *handle, const char *name)
{
    return spw_loader()(handle, name);
}
