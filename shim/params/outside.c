/* outside.c - remembers where addresses of outside memory were copied to, as a short sorted list of ranges. */
#include "outside.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena.h"
#include "ask.h"
#include "hostpool.h"
#include "lock.h"

enum { TIB_SHIFT = 40, STRETCH_BYTES = 512 }; /* bytes that are tested together */
enum {
    QUESTIONS = 64
}; /* driver queries for one copy; if more words look like addresses, the copy
    * counts */

struct place {
    CUdeviceptr low, high;
};

atomic_uint spw_outside_count;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct place places[SPW_OUTSIDE_MAX + 1]; /* sorted, with gaps between them */

/* ---- which words are such addresses ---- */

/* No device address is as small or as large as most numbers are. No program is given our own host memory, but a number
 * whose other half is left over from an old heap pointer often looks like an address there, since large pools lie near the
 * heap. */
static bool looks_like_one(CUdeviceptr word)
{
    return word >> 32 != 0 && word >> 57 == 0 && !spw_in_arena(word) && !spw_hostpool_is_ours((const void *)(uintptr_t)word);
}

bool spw_leads_outside(CUdeviceptr word)
{
    CUmemorytype type;
    return looks_like_one(word) &&
           SPW_ASK_QUIETLY(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) == CUDA_SUCCESS;
}

bool spw_leads_to_pageable_memory(CUdeviceptr word)
{
    unsigned char is_in_core;
    CUdevice device;
    int reaches = 0;
    void *page = (void *)(uintptr_t)(word & -(CUdeviceptr)sysconf(_SC_PAGESIZE));
    return looks_like_one(word) && mincore(page, 1, &is_in_core) == 0 &&
           SPW_ASK_QUIETLY(cuCtxGetDevice, &device) == CUDA_SUCCESS &&
           SPW_ASK_QUIETLY(cuDeviceGetAttribute, &reaches, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device) ==
               CUDA_SUCCESS &&
           reaches;
}

/* The first byte of such memory, and the last. */
static _Atomic CUdeviceptr lowest = UINT64_MAX, highest;

static void widen(CUdeviceptr first, CUdeviceptr last)
{
    CUdeviceptr now = atomic_load_explicit(&lowest, memory_order_relaxed);
    while (first < now && !atomic_compare_exchange_weak(&lowest, &now, first))
        ;
    now = atomic_load_explicit(&highest, memory_order_relaxed);
    while (last > now && !atomic_compare_exchange_weak(&highest, &now, last))
        ;
}

/* A bit for each TiB that holds any such memory; few words of data are addresses in these. */
static _Atomic uint64_t inhabited[(1 << (57 - TIB_SHIFT)) / 64];

void spw_outside_lies_at(CUdeviceptr address, size_t bytes)
{
    const CUdeviceptr end = address + (bytes ? bytes - 1 : 0);
    const uint64_t last = end >> TIB_SHIFT;
    widen(address, end);
    for (uint64_t i = address >> TIB_SHIFT; i <= last && i < sizeof(inhabited) * 8; i++)
        atomic_fetch_or_explicit(&inhabited[i / 64], UINT64_C(1) << i % 64, memory_order_relaxed);
}

static bool is_inhabited(CUdeviceptr word)
{
    const uint64_t i = word >> TIB_SHIFT;
    return i < sizeof(inhabited) * 8 && atomic_load_explicit(&inhabited[i / 64], memory_order_relaxed) >> i % 64 & 1;
}

bool spw_outside_extent(CUdeviceptr *ret_low, CUdeviceptr *ret_bytes)
{
    *ret_low = atomic_load_explicit(&lowest, memory_order_relaxed);
    *ret_bytes = atomic_load_explicit(&highest, memory_order_relaxed) - *ret_low + 1;
    return *ret_low != UINT64_MAX;
}

bool spw_outside_among(CUdeviceptr destination, const void *source, size_t bytes)
{
    CUdeviceptr low, extent;
    const char *from = source;
    unsigned asked = 0;
    if (!spw_outside_extent(&low, &extent))
        return false;
    for (size_t at = -destination % 8, next = at; at + 8 <= bytes; at += 8) {
        CUdeviceptr word;
        for (; at == next; next += STRETCH_BYTES)
            if (at + STRETCH_BYTES <= bytes && !spw_any_word_in(from + at, STRETCH_BYTES / 8, low, extent))
                at += STRETCH_BYTES;
        if (at + 8 > bytes)
            break;
        memcpy(&word, from + at, sizeof(word));
        if (__builtin_expect(!is_inhabited(word), 1) || !looks_like_one(word))
            continue;
        if (++asked > QUESTIONS || spw_leads_outside(word))
            return true;
    }
    return false;
}

/* ---- which ranges hold them ---- */

static unsigned count_locked(void)
{
    return atomic_load_explicit(&spw_outside_count, memory_order_relaxed);
}

/* Returns the index of the first range that ends behind `low`. */
static unsigned position_locked(CUdeviceptr low)
{
    unsigned i = 0;
    while (i < count_locked() && places[i].high <= low)
        i++;
    return i;
}

/* Replaces the ranges [first, first + gone) by `n` others. */
static void replace_locked(unsigned first, unsigned gone, const struct place *others, unsigned n)
{
    const unsigned count = count_locked();
    memmove(&places[first + n], &places[first + gone], (count - first - gone) * sizeof(*places));
    memcpy(&places[first], others, n * sizeof(*places));
    atomic_store_explicit(&spw_outside_count, count - gone + n, memory_order_relaxed);
}

/* Joins the two ranges with the smallest gap, which makes room for one more. */
static void merge_two_locked(void)
{
    unsigned best = 0;
    for (unsigned i = 1; i + 1 < count_locked(); i++)
        if (places[i + 1].low - places[i].high < places[best + 1].low - places[best].high)
            best = i;
    replace_locked(best, 2, &(struct place){places[best].low, places[best + 1].high}, 1);
}

/* [low, high) holds no such address any more. If it is the middle of a range and there is no room for two, the range stays
 * as it is. */
static void cut_locked(CUdeviceptr low, CUdeviceptr high)
{
    const unsigned first = position_locked(low);
    unsigned end = first, n = 0;
    struct place rest[2];
    while (end < count_locked() && places[end].low < high)
        end++;
    if (end == first)
        return;
    if (places[first].low < low)
        rest[n++] = (struct place){places[first].low, low};
    if (places[end - 1].high > high)
        rest[n++] = (struct place){high, places[end - 1].high};
    if (count_locked() - (end - first) + n <= SPW_OUTSIDE_MAX)
        replace_locked(first, end - first, rest, n);
}

static void add_locked(CUdeviceptr low, CUdeviceptr high)
{
    cut_locked(low, high);
    if (count_locked() == SPW_OUTSIDE_MAX)
        merge_two_locked();
    const unsigned first = position_locked(low);
    if (first < count_locked() && places[first].low < high) /* a range that could not be cut, or was joined, covers some of
                                                             * it */
        places[first] = (struct place){places[first].low < low ? places[first].low : low,
                                       places[first].high > high ? places[first].high : high};
    else
        replace_locked(first, 0, &(struct place){low, high}, 1);
}

static bool has_locked(CUdeviceptr low, CUdeviceptr high)
{
    const unsigned first = position_locked(low);
    return first < count_locked() && places[first].low < high;
}

/* ---- notes and queries ---- */

static void note(CUdeviceptr destination, size_t bytes, bool leads)
{
    if (!bytes || (!leads && !spw_outside_any()))
        return;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    if (leads)
        add_locked(destination, destination + bytes);
    else
        cut_locked(destination, destination + bytes);
    spw_mutex_unlock(&mutex);
}

void spw_outside_learn(CUdeviceptr destination, const void *source, size_t bytes)
{
    note(destination, bytes, spw_outside_among(destination, source, bytes));
}

void spw_outside_copied(CUdeviceptr destination, CUdeviceptr source, size_t bytes)
{
    if (spw_outside_any())
        note(destination, bytes, spw_outside_has(source, source + bytes));
}

void spw_outside_forget(CUdeviceptr low, CUdeviceptr high)
{
    if (low < high)
        note(low, high - low, false);
}

bool spw_outside_has(CUdeviceptr low, CUdeviceptr high)
{
    if (!spw_outside_any() || low >= high)
        return false;
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    const bool has = has_locked(low, high);
    spw_mutex_unlock(&mutex);
    return has;
}

void spw_outside_reset(void)
{
    spw_mutex_lock(&mutex, SPW_LOCK_LEAF);
    atomic_store_explicit(&spw_outside_count, 0, memory_order_relaxed);
    for (size_t i = 0; i < sizeof(inhabited) / sizeof(*inhabited); i++)
        atomic_store_explicit(&inhabited[i], 0, memory_order_relaxed);
    atomic_store_explicit(&lowest, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&highest, 0, memory_order_relaxed);
    spw_mutex_unlock(&mutex);
}
