/* tensormap.c - a hash table from 128-byte tensor map values to the addresses that they hide. */
#include "tensormap.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    CUdeviceptr base; /* 0: free */
    unsigned char value[SPW_TENSORMAP_BYTES];
};

atomic_uint spw_tensormap_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the table; a leaf */
static struct entry *entries;                             /* a power of two of them, at most half in use */
static size_t entry_mask;

_Static_assert(sizeof(CUtensorMap) == SPW_TENSORMAP_BYTES, "a tensor map is 128 bytes");

static uint64_t hash(const void *value)
{
    uint64_t words[SPW_TENSORMAP_BYTES / 8], h = 0;
    memcpy(words, value, sizeof words);
    for (unsigned i = 0; i < SPW_TENSORMAP_BYTES / 8; i++)
        h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
    return h;
}

/* The entry that holds the value, or the free one where it belongs. */
static struct entry *find_locked(struct entry *table, size_t mask, const void *value)
{
    for (uint64_t i = hash(value);; i++) {
        struct entry *e = &table[i & mask];
        if (!e->base || memcmp(e->value, value, SPW_TENSORMAP_BYTES) == 0)
            return e;
    }
}

static int grow_locked(void)
{
    size_t slots = entries ? 2 * (entry_mask + 1) : 64;
    struct entry *table = calloc(slots, sizeof *table);
    if (!table)
        return -ENOMEM;
    for (size_t i = 0; entries && i <= entry_mask; i++)
        if (entries[i].base)
            *find_locked(table, slots - 1, entries[i].value) = entries[i];
    free(entries);
    entries = table;
    entry_mask = slots - 1;
    return 0;
}

static int remember_locked(const CUtensorMap *map, CUdeviceptr base)
{
    unsigned count = atomic_load_explicit(&spw_tensormap_count, memory_order_relaxed);
    if (count >= SPW_TENSORMAP_MAX)
        return -ENOBUFS;
    if (!entries || 2 * (count + 1) > entry_mask + 1) {
        int r = grow_locked();
        if (r < 0)
            return r;
    }
    struct entry *e = find_locked(entries, entry_mask, map);
    if (!e->base) {
        memcpy(e->value, map, SPW_TENSORMAP_BYTES);
        atomic_store_explicit(&spw_tensormap_count, count + 1, memory_order_relaxed);
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
    pthread_mutex_lock(&mutex);
    int r = remember_locked(map, base);
    pthread_mutex_unlock(&mutex);
    return r;
}

CUdeviceptr spw_tensormap_base(const void *window)
{
    if (!spw_tensormap_any())
        return 0;
    pthread_mutex_lock(&mutex);
    CUdeviceptr base = entries ? find_locked(entries, entry_mask, window)->base : 0;
    pthread_mutex_unlock(&mutex);
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
