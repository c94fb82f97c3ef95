/* lock.h - the locks of the shim and the order in which they are taken. */
#ifndef SPILLWAY_SHIM_LOCK_H
#define SPILLWAY_SHIM_LOCK_H
#include "ours.h"
#include <stdatomic.h>
#include <stdbool.h>

/* Ranks: a thread takes locks only in this order, lowest first.
 *   slow    one per device: held by the one operation that is making room on it; may be held while waiting for the GPU
 *   engine  one: guards the ledger, slabs, cached blocks, handles, streams' records; not held while the program's own call
 *           is inside the driver (but for one that begins a capture or joins it), nor while waiting for the GPU (but for
 *           copies through memory that could not be pinned, and where an event cannot be had: lock.h's users say so where
 *           they do it)
 *   leaf    inside single modules (layouts, tables, log); nothing is called with one held */
enum spw_lock_rank { SPW_LOCK_SLOW, SPW_LOCK_ENGINE, SPW_LOCK_LEAF };

/* Locks that every launch takes are a word that is free (0), taken (1), or taken with others waiting in the kernel (2):
 * three instructions each way while nobody else wants it. */
void spw_word_lock_contended(atomic_int *word);
void spw_word_unlock_contended(atomic_int *word);

static inline bool spw_word_try_lock(atomic_int *word)
{
    int free = 0;
    return atomic_compare_exchange_strong_explicit(word, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void spw_word_lock(atomic_int *word)
{
    if (!spw_word_try_lock(word))
        spw_word_lock_contended(word);
}

static inline void spw_word_unlock(atomic_int *word)
{
    if (atomic_exchange_explicit(word, 0, memory_order_release) == 2)
        spw_word_unlock_contended(word);
}

extern atomic_int spw_engine_lock SPW_OURS;

static inline bool spw_try_lock(void)
{
    return spw_word_try_lock(&spw_engine_lock);
}

static inline void spw_lock(void)
{
    spw_word_lock(&spw_engine_lock);
}

static inline void spw_unlock(void)
{
    spw_word_unlock(&spw_engine_lock);
}
#endif
