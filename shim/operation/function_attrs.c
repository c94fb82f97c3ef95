/* function_attrs.c - keeps the last value of each setting of each function. */
#include "function_attrs.h"

#include <stddef.h>
#include <stdlib.h>

#include "tables.h"

struct told {
    struct key {
        uint64_t whose, what; /* without padding, which would be compared */
    } key;
    uint64_t value;
    bool is_told, lost;
    UT_hash_handle hh;
};

enum { MOST = 1 << 19 };

static struct told *table;

static struct told *find_or_add(struct key key)
{
    struct told *t;
    HASH_FIND(hh, table, &key, sizeof(key), t);
    if (!t && HASH_COUNT(table) < MOST)
        SPW_TABLE_NEW(table, key, t, .key = key);
    return t;
}

bool spw_function_attrs_differs(const void *whose, unsigned what, uint64_t value)
{
    struct told *t = find_or_add((struct key){(uint64_t)(uintptr_t)whose, what});
    if (t && t->is_told && t->value == value)
        return false;
    if (t) {
        t->is_told = true;
        t->value = value;
    }
    return true;
}

void spw_function_attrs_reset(void)
{
    SPW_TABLE_FREE(table);
}
