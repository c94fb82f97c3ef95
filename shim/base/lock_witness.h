/* lock_witness.h - which locks a thread holds, so that a debug build finds a wrong order before it is a deadlock, and a
 * function that is called without the lock that it needs before that is a race.
 *
 * Builds with SPW_DEBUG_CHECKS call these from lock.h; in others nobody does. */
#ifndef SPILLWAY_SHIM_LOCK_WITNESS_H
#define SPILLWAY_SHIM_LOCK_WITNESS_H
#include "check.h"
#include <stdbool.h>

/* From the lowest to the highest; lock.h says what each is for. */
enum spw_lock_rank { SPW_LOCK_START, SPW_LOCK_SLOW, SPW_LOCK_ENGINE, SPW_LOCK_RECORDER, SPW_LOCK_LEAF };

/* The calling thread is about to wait for the lock: all that it holds have a lower rank. Of slow locks it may hold several,
 * taken in the order of their addresses, which is that of their devices. Aborts where that is not so. */
void spw_lock_witness_order(const volatile void *lock, enum spw_lock_rank rank);

void spw_lock_witness_taken(const volatile void *lock, enum spw_lock_rank rank);
void spw_lock_witness_let_go(const volatile void *lock); /* aborts where the calling thread does not hold it */

/* The calling thread holds the lock, or all locks are taken for held. */
bool spw_lock_witness_holds(const volatile void *lock);

void spw_lock_witness_forget(void); /* the calling thread holds none: in a forked child */

/* For tests, which call what needs a lock without taking it: from now on any lock counts as held. */
void spw_lock_witness_take_all_for_held(void);

#ifdef SPW_DEBUG_CHECKS
#define SPW_IF_WITNESSED(what) what
#else
#define SPW_IF_WITNESSED(what) (void)0
#endif

/* At the beginning of a function whose caller holds the lock. */
#define SPW_ASSERT_LOCKED(lock) SPW_ASSERT(spw_lock_witness_holds(lock), "the caller holds the lock")
#endif
