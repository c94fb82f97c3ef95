/* function_attrs.c - a hash table of what was told last: for each function and matter one value. */
#include "function_attrs.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct told {
    const void *whose;
    uint64_t value;
    unsigned what; /* plus 1; 0: nothing here */
};

enum { FIRST = 256, MOST = 1 << 20 };

static struct told *table;
static size_t size, used; /* the size is a power of two, and at most half of it is used */

static struct told *place_of(const void *whose, unsigned what)
{
    size_t at = (((uintptr_t)whose ^ (uint64_t)what << 32) * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    for (;; at++) {
        struct told *t = &table[at & (size - 1)];
        if (!t->what || (t->whose == whose && t->what == what + 1))
            return t;
    }
}

static bool grow(void)
{
    struct told *old = table;
    const size_t old_size = size, wanted = size ? 2 * size : FIRST;
    struct told *bigger = wanted <= MOST ? calloc(wanted, sizeof(*bigger)) : NULL;
    if (!bigger)
        return false;
    table = bigger;
    size = wanted;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].what)
            *place_of(old[i].whose, old[i].what - 1) = old[i];
    free(old);
    return true;
}

bool spw_function_attrs_differs(const void *whose, unsigned what, uint64_t value)
{
    if (2 * (used + 1) > size && !grow())
        return true;
    struct told *t = place_of(whose, what);
    if (t->what && t->value == value)
        return false;
    used += !t->what;
    *t = (struct told){whose, value, what + 1};
    return true;
}

void spw_function_attrs_reset(void)
{
    free(table);
    table = NULL;
    size = used = 0;
}
