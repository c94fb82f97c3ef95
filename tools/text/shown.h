/* shown.h - formats figures and names for people and programs; the same in every form of every command. */
#ifndef SPILLWAY_TOOLS_SHOWN_H
#define SPILLWAY_TOOLS_SHOWN_H
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Format "5.2 GiB", "312 bytes"; "1.2 ms". In the caller's buffer of at least 32 bytes, which they return. */
const char *shown_bytes(uint64_t bytes, char *buffer);
const char *shown_time(uint64_t ns, char *buffer);

/* Returns a name as JSON. Names come from another process, so bytes that are not UTF-8 are shown one by one. NULL becomes
 * "". */
json_t *shown_string(const char *s);

/* Returns 0 if the stream has taken everything that was written to it, else the negative errno of the failure. */
int shown_end(FILE *to);
#endif
