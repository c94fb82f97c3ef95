/* symbols.h - addresses of a traced process as people read them. */
#ifndef SPILLWAY_TOOLS_SYMBOLS_H
#define SPILLWAY_TOOLS_SYMBOLS_H
#include "model.h"

struct symbols;

/* Borrows the modules. NULL: no memory; then every address is shown as a number. */
struct symbols *symbols_create(const struct model_module *modules, uint32_t count);
void symbols_destroy(struct symbols *symbols); /* NULL is fine */

/* "function (file.c:12)" where the file is still what was traced (its build id is compared) and has debug information;
 * "function+0x12 in libx.so" with symbols only; "libx.so+0x1234" otherwise. Kept until destroyed. A return address is
 * taken for the call before it. */
const char *symbols_text(struct symbols *symbols, uint64_t address);
#endif
