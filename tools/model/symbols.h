/* symbols.h - shows addresses of a traced process as text. */
#ifndef SPILLWAY_TOOLS_SYMBOLS_H
#define SPILLWAY_TOOLS_SYMBOLS_H
#include "model.h"

struct symbols;

/* Borrows the modules. Returns NULL without memory; then every address is shown as a number. */
struct symbols *symbols_create(const struct model_module *modules, uint32_t count);
void symbols_destroy(struct symbols *symbols); /* NULL is allowed */

/* Returns "function (file.c:12)" if the file is still the one that was traced (the build ids are compared) and has debug
 * information; "function+0x12 in libx.so" with symbols only; else "libx.so+0x1234". The text is kept until `symbols` is
 * destroyed. A return address stands for the call before it. */
const char *symbols_text(struct symbols *symbols, uint64_t address);
#endif
