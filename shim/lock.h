/* lock.h - the locks of the shim and the order in which they are taken. */
#ifndef SPILLWAY_SHIM_LOCK_H
#define SPILLWAY_SHIM_LOCK_H
#include "ours.h"
#include <stdatomic.h>
#include <stdbool.h>

/* Ranks: a thread takes locks only in this order, lowest first.
 *   slow    one per device: held by the one operation that is making room on it; may be held while waiting for the GPU
 *   engine  one: guards the ledger, slabs, cached blocks, handles, streams' records; not held while the program's own call
 *           is inside the driver, nor while waiting for the GPU (but for copies through memory that could not be pinned,
 *           and where an event cannot be had: lock.h's users say so where they do it)
 *   leaf    inside single modules (layouts, tables, log); nothing is called with one held */
enum spw_lock_rank { SPW_LOCK_SLOW, SPW_LOCK_ENGINE, SPW_LOCK_LEAF };

/* The engine lock is taken in every launch, so it is a word that is free (0), taken (1), or taken with others waiting in the
 * kernel (2): three instructions each way while nobody else wants it. */
extern atomic_int spw_engine_lock SPW_OURS;

void spw_lock_contended(void);
void spw_unlock_contended(void);

static inline bool spw_try_lock(void)
{
    int free = 0;
    return atomic_compare_exchange_strong_explicit(&spw_engine_lock, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void spw_lock(void)
{
    if (!spw_try_lock())
        spw_lock_contended();
}

static inline void spw_unlock(void)
{
    if (atomic_exchange_explicit(&spw_engine_lock, 0, memory_order_release) == 2)
        spw_unlock_contended();
}
#endif
