/* globals_parts.c - the list of the names that were found, and what calls mean. */
#include "globals_parts.h"

#include <stdlib.h>
#include <string.h>

#include "course/grow.h"

static const char no_memory[] = "there was no memory to list them";

const char *spw_globals_add(struct spw_globals *g, const char *name, size_t length, bool is_constant)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (strncmp(g->list[i].name, name, length) == 0 && strlen(g->list[i].name) == strnlen(name, length)) {
            g->list[i].is_constant &= is_constant;
            return NULL;
        }
    if (g->count == SPW_GLOBALS_MAX)
        return "there are too many";
    if (SPW_GROW(g->list, g->room, g->count + 1) < 0)
        return no_memory;
    g->list[g->count] = (struct spw_global){strndup(name, length), is_constant};
    if (!g->list[g->count].name)
        return no_memory;
    g->count++;
    return NULL;
}

void spw_globals_finish(struct spw_globals *g)
{
    for (uint32_t i = 0; i < g->count; i++)
        free(g->list[i].name);
    free(g->list);
    *g = (struct spw_globals){0};
}

/* Of what the documentation says that kernels may call, these leave something behind. */
const char *spw_globals_calls(const char *name, size_t length)
{
    static const struct {
        const char *name, *why;
    } calls[] = {{"malloc", "its kernels allocate memory by themselves"},
                 {"free", "its kernels allocate memory by themselves"},
                 {"vprintf", "its kernels print"}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (strlen(calls[i].name) == length && memcmp(calls[i].name, name, length) == 0)
            return calls[i].why;
    return NULL;
}
