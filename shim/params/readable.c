/* readable.c - demangles kernels' names by the program's own C++ library. */
#include "readable.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

enum { LONG = 80 }; /* characters of a name in a message; longer ones are shortened */
enum {
    SYMBOL_BYTES = 4096
}; /* bytes of a symbol that are read: a truncated one cannot be demangled, and PyTorch's have
    * hundreds */

typedef char *demangle_fn(const char *symbol, char *buffer, size_t *length, int *status);

/* Cuts the name before the parameters of the function itself; those of templates and lambdas are in brackets of their
 * own. */
static void cut_parameters(char *name)
{
    int depth = 0;
    for (char *at = name; *at; at++) {
        depth += (*at == '<') - (*at == '>');
        if (*at == '(' && depth == 0 && strncmp(at, "(anonymous", 10) != 0) {
            *at = '\0';
            return;
        }
    }
}

/* Leaves out the arguments of a template if the name is long. */
static void cut_arguments(char *name)
{
    static const char left_out[] = "<...>";
    char *const begin = strlen(name) > LONG ? strchr(name, '<') : NULL;
    if (begin && strlen(begin) >= sizeof(left_out))
        memcpy(begin, left_out, sizeof(left_out));
}

static _Atomic(demangle_fn *) demangle; /* NULL: not found yet */

/* The C++ library may be visible to one of Python's modules only. Nothing is loaded that is not loaded already. */
void spw_readable_look_for_library(void)
{
    static const char name[] = "__cxa_demangle";
    if (demangle)
        return;
    void *found = dlsym(RTLD_DEFAULT, name);
    void *library = found ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (library) {
        found = dlsym(library, name);
        (void)dlclose(library); /* the module that loaded it keeps it: a C++ library is not unloaded */
    }
    demangle = (demangle_fn *)found;
}

const char *spw_readable_symbol(const char *symbol, char *buffer, size_t size)
{
    int status = -1;
    demangle_fn *const read = demangle;
    char *full = read && !strncmp(symbol, "_Z", 2) ? read(symbol, NULL, NULL, &status) : NULL;
    if (full && status == 0) {
        cut_parameters(full);
        cut_arguments(full);
        symbol = strncmp(full, "void ", 5) ? full : full + 5;
    }
    (void)snprintf(buffer, size, "%s", symbol);
    free(full);
    return buffer;
}

const char *spw_readable_name(CUfunction f, char *buffer, size_t size)
{
    char symbol[SYMBOL_BYTES];
    return spw_readable_symbol(spw_function_name(f, symbol, sizeof(symbol)), buffer, size);
}
