/* lock_witness.h - records which locks a thread holds, so that a debug build finds a wrong order before it becomes a
 * deadlock, and a missing lock before it becomes a race.
 *
 * Builds with SPW_DEBUG_CHECKS call these functions from lock.h; other builds do not. */
#ifndef SPILLWAY_SHIM_LOCK_WITNESS_H
#define SPILLWAY_SHIM_LOCK_WITNESS_H
#include "check.h"
#include <stdbool.h>

/* From the lowest to the highest rank; lock.h says what each is for. */
enum spw_lock_rank { SPW_LOCK_START, SPW_LOCK_SLOW, SPW_LOCK_ENGINE, SPW_LOCK_RECORDER, SPW_LOCK_LEAF };

/* The calling thread is about to wait for the lock: aborts unless all locks that it holds have a lower rank. A thread may
 * hold several slow locks, taken in the order of their addresses, which is that of their devices. */
void spw_lock_witness_order(const volatile void *lock, enum spw_lock_rank rank);

void spw_lock_witness_taken(const volatile void *lock, enum spw_lock_rank rank);
void spw_lock_witness_let_go(const volatile void *lock); /* aborts if the calling thread does not hold it */

/* Returns true if the calling thread holds the lock, or every lock counts as held. */
bool spw_lock_witness_holds(const volatile void *lock);

void spw_lock_witness_forget(void); /* the calling thread holds no lock: in a forked child */

/* For tests, which call functions that need a lock without taking it: from now on every lock counts as held. */
void spw_lock_witness_take_all_for_held(void);

#ifdef SPW_DEBUG_CHECKS
#define SPW_IF_WITNESSED(what) what
#else
#define SPW_IF_WITNESSED(what) (void)0
#endif

/* Stands at the beginning of a function whose caller holds the lock. */
#define SPW_ASSERT_LOCKED(lock) SPW_ASSERT(spw_lock_witness_holds(lock), "the caller holds the lock")
#endif
