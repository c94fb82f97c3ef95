/* identities.c - handles by hash. */
#include "identities.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM            1
#define uthash_nonfatal_oom(element) ((element)->id = 0)
#include <uthash.h>

struct key {
    uint64_t handle, owner;
};

struct spw_identity {
    struct key key;
    uint32_t id; /* 0: could not be kept */
    UT_hash_handle hh;
};

static struct spw_identity *find(struct spw_identities *set, struct key key)
{
    struct spw_identity *i;
    HASH_FIND(hh, set->by_handle, &key, sizeof(key), i);
    return i;
}

uint32_t spw_identity_of(struct spw_identities *set, const void *handle, uint64_t owner, bool *ret_new)
{
    struct key key = {(uint64_t)(uintptr_t)handle, owner};
    struct spw_identity *i = find(set, key);
    *ret_new = false;
    if (i)
        return i->id;
    i = calloc(1, sizeof(*i));
    if (!i)
        return 0;
    i->key = key;
    i->id = set->last + 1;
    HASH_ADD(hh, set->by_handle, key, sizeof(key), i);
    if (i->id == 0) {
        free(i);
        return 0;
    }
    *ret_new = true;
    return ++set->last;
}

uint32_t spw_identity_find(struct spw_identities *set, const void *handle, uint64_t owner)
{
    struct spw_identity *i = find(set, (struct key){(uint64_t)(uintptr_t)handle, owner});
    return i ? i->id : 0;
}

void spw_identity_gone(struct spw_identities *set, const void *handle, uint64_t owner)
{
    struct spw_identity *i = find(set, (struct key){(uint64_t)(uintptr_t)handle, owner});
    if (!i)
        return;
    HASH_DEL(set->by_handle, i);
    free(i);
}

void spw_identities_clear(struct spw_identities *set)
{
    struct spw_identity *i, *next;
    HASH_ITER(hh, set->by_handle, i, next)
    {
        HASH_DEL(set->by_handle, i);
        free(i);
    }
}
