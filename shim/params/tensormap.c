/* tensormap.c - a hash table from 128-byte tensor map values to the addresses in them. */
#include "tensormap.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, bytes, value) ((value) = hash(key))
#include "tables.h"
#include "lock.h"

struct entry {
    unsigned char value[SPW_TENSORMAP_BYTES];
    CUdeviceptr base;
    bool lost;
    UT_hash_handle hh;
};

atomic_uint spw_tensormap_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the table; a leaf */
static struct entry *entries;

_Static_assert(sizeof(CUtensorMap) == SPW_TENSORMAP_BYTES, "a tensor map is 128 bytes");

static unsigned hash(const void *value)
{
    uint64_t words[SPW_TENSORMAP_BYTES / 8], h = 0;
    memcpy(words, value, sizeof words);
    for (unsigned i = 0; i < SPW_TENSORMAP_BYTES / 8; i++)
        h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
    return (unsigned)h;
}

static struct entry *find_locked(const void *value)
{
    struct entry *e;
    HASH_FIND(hh, entries, value, SPW_TENSORMAP_BYTES, e);
    return e;
}

static int remember_locked(const CUtensorMap *map, CUdeviceptr base)
{
    if (spw_tensormap_count >= SPW_TENSORMAP_MAX)
        return -ENOBUFS;
    struct entry *e = find_locked(map);
    if (!e) {
        e = calloc(1, sizeof(*e));
        if (!e)
            return -ENOMEM;
        memcpy(e->value, map, SPW_TENSORMAP_BYTES);
        SPW_TABLE_ADD(entries, value, e);
        if (!e)
            return -ENOMEM;
        atomic_fetch_add_explicit(&spw_tensormap_count, 1, memory_order_relaxed);
    }
    e->base = base;
    return 0;
}

static bool shows(const CUtensorMap *map, CUdeviceptr base)
{
    CUdeviceptr words[SPW_TENSORMAP_BYTES / 8];
    memcpy(words, map, sizeof words);
    for (unsigned i = 0; i < SPW_TENSORMAP_BYTES / 8; i++)
        if (words[i] == base)
            return true;
    return false;
}

int spw_tensormap_made(const CUtensorMap *map, CUdeviceptr base)
{
    if (!base || shows(map, base))
        return 0;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    int r = remember_locked(map, base);
    spw_mutex_unlock(&mutex);
    return r;
}

CUdeviceptr spw_tensormap_base(const void *window)
{
    if (!spw_tensormap_any())
        return 0;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    const struct entry *e = find_locked(window);
    CUdeviceptr base = e ? e->base : 0;
    spw_mutex_unlock(&mutex);
    return base;
}

int spw_tensormap_scan(const void *source, size_t bytes, unsigned step, CUdeviceptr *hits, unsigned n, unsigned room)
{
    const char *at = source;
    for (; bytes >= SPW_TENSORMAP_BYTES; at += step, bytes -= step) {
        CUdeviceptr base = spw_tensormap_base(at);
        if (!base)
            continue;
        if (n == room)
            return -E2BIG;
        hits[n++] = base;
    }
    return (int)n;
}
