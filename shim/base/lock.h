/* lock.h - the locks of the shim and the order in which they are taken. */
#ifndef SPILLWAY_SHIM_LOCK_H
#define SPILLWAY_SHIM_LOCK_H
#include "lock_witness.h"
#include "ours.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A thread takes locks in the order of their ranks, the lowest first:
 *
 *     start --> slow --> engine --> recorder --> leaf
 *
 * start     one, or two: guards the first steps of the process, from "settings not read", "driver not open" or "not
 *           started" to their results (life.c, open.c)
 * slow      one per device: held by the one operation that is making room on it, or by code that moves several things at
 *           once; may be held while waiting for the GPU. A thread that needs several takes them in the order of devices
 * engine    one: guards the ledger, slabs, cached blocks, physical memory, the host pool, the records of streams, and what
 *           is known of iterations and kernels. Not held while the program's own call is inside the driver (except a call
 *           that begins a capture or joins it), nor while waiting for the GPU (except for copies through memory that could
 *           not be pinned, and where an event cannot be had: the code that does so says it)
 * recorder  one: guards the trace that is being written, and the numbers that it has given to what is in it (recorder.c)
 * leaf      inside single modules: guards the tables of layouts, of tensor maps, of pointer tables, of memory of others,
 *           and timed events of the recorder; no other lock is taken while one is held
 *
 * Debug builds check this (lock_witness.h). A function whose name ends in _locked, or in _unlocking if it may release the
 * lock in between, begins with SPW_ASSERT_LOCKED() of the lock that its caller holds. */

/* A lock that every launch takes is a word: free (0), taken (1), or taken with others waiting in the kernel (2). Taking and
 * releasing it costs three instructions each if no other thread wants it. */
void spw_word_lock_contended(atomic_int *word);
void spw_word_unlock_contended(atomic_int *word);

static inline bool spw_word_take(atomic_int *word)
{
    int free = 0;
    return atomic_compare_exchange_strong_explicit(word, &free, 1, memory_order_acquire, memory_order_relaxed);
}

static inline bool spw_word_try_lock(atomic_int *word, enum spw_lock_rank rank)
{
    const bool taken = spw_word_take(word);
    if (taken)
        SPW_IF_WITNESSED(spw_lock_witness_taken(word, rank));
    return taken;
}

static inline void spw_word_lock(atomic_int *word, enum spw_lock_rank rank)
{
    SPW_IF_WITNESSED(spw_lock_witness_order(word, rank));
    if (!spw_word_take(word))
        spw_word_lock_contended(word);
    SPW_IF_WITNESSED(spw_lock_witness_taken(word, rank));
}

static inline void spw_word_unlock(atomic_int *word)
{
    SPW_IF_WITNESSED(spw_lock_witness_let_go(word));
    if (atomic_exchange_explicit(word, 0, memory_order_release) == 2)
        spw_word_unlock_contended(word);
}

extern atomic_int spw_engine_lock SPW_OURS;

static inline bool spw_try_lock(void)
{
    return spw_word_try_lock(&spw_engine_lock, SPW_LOCK_ENGINE);
}

static inline void spw_lock(void)
{
    spw_word_lock(&spw_engine_lock, SPW_LOCK_ENGINE);
}

static inline void spw_unlock(void)
{
    spw_word_unlock(&spw_engine_lock);
}

/* ---- locks that are taken less often: mutexes of the C library */

static inline bool spw_mutex_try_lock(pthread_mutex_t *mutex, enum spw_lock_rank rank)
{
    const bool taken = pthread_mutex_trylock(mutex) == 0;
    if (taken)
        SPW_IF_WITNESSED(spw_lock_witness_taken(mutex, rank));
    return taken;
}

static inline void spw_mutex_lock(pthread_mutex_t *mutex, enum spw_lock_rank rank)
{
    SPW_IF_WITNESSED(spw_lock_witness_order(mutex, rank));
    pthread_mutex_lock(mutex);
    SPW_IF_WITNESSED(spw_lock_witness_taken(mutex, rank));
}

static inline void spw_mutex_unlock(pthread_mutex_t *mutex)
{
    SPW_IF_WITNESSED(spw_lock_witness_let_go(mutex));
    pthread_mutex_unlock(mutex);
}
#endif
