/* exports.h - lists the names that a library exports, from its symbol table in memory. */
#ifndef SPILLWAY_TOOLS_EXPORTS_H
#define SPILLWAY_TOOLS_EXPORTS_H
#include <link.h>
#include <stdbool.h>

struct exports {
    const ElfW(Sym) * symbols;
    const char *strings;
    unsigned long next, count;
};

/* Begins to read a library opened with dlopen(), which must stay open. Returns false if it has no symbol table of a known
 * kind. */
bool exports_read(void *handle, struct exports *ret_exports);

/* Returns the next name, which belongs to the library, or NULL after the last. */
const char *exports_next(struct exports *exports);
#endif
