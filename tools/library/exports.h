/* exports.h - the names that a library exports, read from its symbol table in memory. */
#ifndef SPILLWAY_TOOLS_EXPORTS_H
#define SPILLWAY_TOOLS_EXPORTS_H
#include <link.h>
#include <stdbool.h>

struct exports {
    const ElfW(Sym) * symbols;
    const char *strings;
    unsigned long next, count;
};

/* Begins to read what dlopen() has returned; it must stay open. False when it has no table that is understood. */
bool exports_read(void *handle, struct exports *ret_exports);

/* The next name, NULL after the last. Borrowed from the library. */
const char *exports_next(struct exports *exports);
#endif
