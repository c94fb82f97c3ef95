/* names.c - a table from the serial of an allocation to its name. */
#include "names.h"

#include <errno.h>
#include <stdio.h>

#include "allocation.h"
#include "lock.h"
#include "tables.h"

struct entry {
    uint64_t serial;
    CUdeviceptr address;
    char name[SPW_NAME_BYTES];
    bool lost;
    UT_hash_handle hh;
};

static struct entry *entries; /* guarded by the engine lock; some may be of allocations that were freed */

static struct entry *find(uint64_t serial)
{
    struct entry *e;
    HASH_FIND(hh, entries, &serial, sizeof(serial), e);
    return e;
}

static bool is_alive(const struct entry *e, struct spw_allocation *ret_allocation)
{
    return spw_allocation_at_locked(e->address, ret_allocation) && ret_allocation->serial == e->serial;
}

static void forget_freed(void)
{
    struct spw_allocation a;
    struct entry *e, *next;
    HASH_ITER(hh, entries, e, next)
    if (!is_alive(e, &a))
        SPW_TABLE_REMOVE(entries, e);
}

int spw_names_set_locked(CUdeviceptr address, const char *name)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_allocation a;
    if (!spw_allocation_at_locked(address, &a))
        return -ENOENT;
    struct entry *e = find(a.serial);
    if (!*name) {
        if (e)
            SPW_TABLE_REMOVE(entries, e);
        return 0;
    }
    if (!e && HASH_COUNT(entries) >= SPW_NAMES)
        forget_freed();
    if (!e && HASH_COUNT(entries) >= SPW_NAMES)
        return -ENOSPC;
    if (!e)
        SPW_TABLE_NEW(entries, serial, e, .serial = a.serial, .address = a.address);
    if (!e)
        return -ENOMEM;
    snprintf(e->name, sizeof(e->name), "%s", name);
    return 0;
}

void spw_names_each_locked(void (*tell)(const struct spw_named *named, void *data), void *data)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    forget_freed();
    for (struct entry *e = entries; e; e = e->hh.next) {
        struct spw_allocation a;
        struct spw_object *o = spw_object_at_locked(e->address);
        if (!o || !is_alive(e, &a))
            continue;
        const struct spw_named named = {e->name, a.device, a.size_bytes, o->kind == SPW_KIND_BLOCK ? spw_block_of(o) : NULL};
        tell(&named, data);
    }
}

void spw_names_reset(void)
{
    SPW_TABLE_FREE(entries);
}
