/* alias_map.c - counts, for each piece of memory, the addresses that gave it up and where it is still mapped. */
#include "alias_map.h"

#include <errno.h>
#include <stdlib.h>

#include "tables.h"

struct spw_alias {
    CUmemGenericAllocationHandle handle;
    struct spw_deferred_unmap *newest;
    uint32_t count; /* number of such addresses */
    bool is_released, lost;
    UT_hash_handle hh;
};

static struct spw_alias *find(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle)
{
    struct spw_alias *alias;
    HASH_FIND(hh, a->table, &handle, sizeof(handle), alias);
    return alias;
}

static struct spw_alias *find_or_add(struct spw_alias_map *a, CUmemGenericAllocationHandle handle)
{
    struct spw_alias *alias = find(a, handle);
    if (!alias)
        SPW_TABLE_NEW(a->table, handle, alias, .handle = handle);
    return alias;
}

int spw_alias_map_add(struct spw_alias_map *a, CUmemGenericAllocationHandle handle, struct spw_deferred_unmap *stale)
{
    struct spw_alias *alias = find_or_add(a, handle);
    if (!alias)
        return -ENOMEM;
    alias->newest = stale;
    alias->count++;
    return 0;
}

bool spw_alias_map_remove(struct spw_alias_map *a, CUmemGenericAllocationHandle handle,
                          const struct spw_deferred_unmap *stale)
{
    struct spw_alias *alias = find(a, handle);
    if (!alias)
        return false;
    if (alias->newest == stale)
        alias->newest = NULL;
    if (--alias->count)
        return false;
    const bool is_released = alias->is_released;
    SPW_TABLE_REMOVE(a->table, alias);
    return is_released;
}

struct spw_deferred_unmap *spw_alias_map_newest(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle)
{
    const struct spw_alias *alias = find(a, handle);
    return alias ? alias->newest : NULL;
}

bool spw_alias_map_has(const struct spw_alias_map *a, CUmemGenericAllocationHandle handle)
{
    return a->table && find(a, handle);
}

bool spw_alias_map_defer_release(struct spw_alias_map *a, CUmemGenericAllocationHandle handle)
{
    struct spw_alias *alias = find(a, handle);
    if (alias)
        alias->is_released = true;
    return alias;
}

void spw_alias_map_reset(struct spw_alias_map *a)
{
    SPW_TABLE_FREE(a->table);
}
