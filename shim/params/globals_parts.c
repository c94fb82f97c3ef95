/* globals_parts.c - the list of the names that were found, and what is known about some names. */
#include "globals_parts.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

static const char no_memory[] = "there was no memory to list them";

/* ---- variables that no kernel writes, though they lie where it could ---- */

static bool is(const char *name, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(name, text, length) == 0;
}

static bool begins(const char *name, size_t length, const char *text)
{
    return length >= strlen(text) && memcmp(name, text, strlen(text)) == 0;
}

/* Returns true for one of these names followed by a number. */
static bool is_numbered(const char *name, size_t length, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (begins(name, length, names[i]) && length > strlen(names[i]) &&
            strspn(name + strlen(names[i]), "0123456789") >= length - strlen(names[i]))
            return true;
    return false;
}

/* Returns true for what the compiler makes of literals, which have no name in the program: texts of assertions, names of
 * functions. */
static bool is_literal(const char *name, size_t length)
{
    static const char *const names[] = {"__unnamed_", "$str$", "_$_str_$_"};
    return is_numbered(name, length, names, sizeof(names) / sizeof(*names)) || is(name, length, "$str") ||
           is(name, length, "_$_str");
}

/* A program could have variables of these names, too: one without initial values is no text. */
bool spw_globals_is_text(const char *name, size_t length)
{
    static const char *const names[] = {"assertMessage_", "assertFile_", "assertFunc_"};
    return is_numbered(name, strnlen(name, length), names, sizeof(names) / sizeof(*names));
}

/* The tables of CUDA's mathematical functions and of cuRAND's generators (curand_precalc.h, curand_mrg32k3a.h). */
static bool is_table(const char *name, size_t length)
{
    static const char *const names[] = {"__cudart_i2opi_f",
                                        "__cudart_i2opi_d",
                                        "__cudart_sin_cos_coeffs",
                                        "precalc_xorwow_matrix",
                                        "precalc_xorwow_offset_matrix",
                                        "mrg32k3aM1",
                                        "mrg32k3aM2",
                                        "mrg32k3aM1SubSeq",
                                        "mrg32k3aM2SubSeq",
                                        "mrg32k3aM1Seq",
                                        "mrg32k3aM2Seq"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is(name, length, names[i]))
            return true;
    return false;
}

/* Returns the next part of a mangled name such as 4cuda3std, a length followed by letters. NULL: there is none. */
static const char *next_part(const char **at, const char *end, size_t *ret_length)
{
    size_t length = 0;
    while (*at < end && **at >= '0' && **at <= '9' && length < (size_t)(end - *at))
        length = length * 10 + (size_t)(*(*at)++ - '0');
    const char *part = *at;
    if (!length || length > (size_t)(end - part))
        return NULL;
    *ret_length = length;
    *at += length;
    return part;
}

/* The objects of cuda::std and thrust are function objects without a state, placeholders of arguments, and tags:
 * cuda::std::ranges::swap, thrust::placeholders::_1. They have no members. Each file has its own copies of some, in a part
 * that names the file. */
static bool is_stateless(const char *name, size_t length)
{
    const char *at = name + 3, *end = name + length, *part = NULL;
    size_t letters = 0;
    if (!begins(name, length, "_ZN"))
        return false;
    do
        part = next_part(&at, end, &letters);
    while (part && (begins(part, letters, "_INTERNAL_") || begins(part, letters, "_GLOBAL__N_")));
    if (part && is(part, letters, "cuda"))
        return (part = next_part(&at, end, &letters)) && is(part, letters, "std");
    return part && is(part, letters, "thrust");
}

static bool is_never_written(const char *name, size_t length)
{
    length = strnlen(name, length);
    return is_literal(name, length) || is_table(name, length) || is_stateless(name, length);
}

/* ---- the list ---- */

const char *spw_globals_add(struct spw_globals *g, const char *name, size_t length, bool is_constant)
{
    is_constant |= is_never_written(name, length);
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
    free(g->printing);
    *g = (struct spw_globals){0};
}

/* Of the functions that kernels may call according to the documentation, these leave something behind. */
const char *spw_globals_calls(const char *name, size_t length)
{
    static const struct {
        const char *name, *why;
    } calls[] = {{"malloc", "its kernels allocate memory by themselves"},
                 {"free", "its kernels allocate memory by themselves"}};
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (strlen(calls[i].name) == length && memcmp(calls[i].name, name, length) == 0)
            return calls[i].why;
    return NULL;
}

/* ---- kernels that print ---- */

const char spw_globals_unknown_printing[] = "some of its kernels print, and which of them is not known";

bool spw_globals_is_print(const char *name, size_t length)
{
    return is(name, length, "vprintf");
}

static uint64_t hash_of(const char *name, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Returns the index of the first one that is not less. */
static uint32_t place_of(const struct spw_globals *g, uint64_t hash)
{
    uint32_t low = 0, high = g->printing_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (g->printing[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool spw_globals_may_print(const struct spw_globals *g, const char *name, size_t length)
{
    const uint64_t hash = hash_of(name, length);
    const uint32_t place = place_of(g, hash);
    return place < g->printing_count && g->printing[place] == hash;
}

const char *spw_globals_add_printing(struct spw_globals *g, const char *name, size_t length)
{
    const uint64_t hash = hash_of(name, length);
    const uint32_t place = place_of(g, hash);
    if (place < g->printing_count && g->printing[place] == hash)
        return NULL;
    if (g->printing_count == SPW_GLOBALS_MAX_PRINTING)
        return "too many of its kernels print";
    if (SPW_GROW(g->printing, g->printing_room, g->printing_count + 1) < 0)
        return no_memory;
    memmove(&g->printing[place + 1], &g->printing[place], (g->printing_count++ - place) * sizeof(hash));
    g->printing[place] = hash;
    return NULL;
}
