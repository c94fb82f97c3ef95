/* lock_witness.c - the list of locks that a thread holds. */
#include "lock_witness.h"

#include <stdio.h>

enum { MOST = 80 }; /* the slow locks of all devices, and one lock of each other rank */

struct held {
    const volatile void *lock;
    enum spw_lock_rank rank;
};

/* A preloaded library gets little static thread-local memory, so without the checks none is used for this. */
#ifdef SPW_DEBUG_CHECKS
#define OF_THIS_THREAD __thread
#else
#define OF_THIS_THREAD
#endif

static OF_THIS_THREAD struct held held[MOST]; /* in the order in which they were taken */
static OF_THIS_THREAD unsigned held_count;
static bool all_count_as_held;

static const char *name_of(enum spw_lock_rank rank)
{
    static const char *const names[] = {"start", "slow", "engine", "recorder", "leaf"};
    return names[rank];
}

void spw_lock_witness_order(const volatile void *lock, enum spw_lock_rank rank)
{
    for (unsigned i = 0; i < held_count; i++) {
        const struct held *h = &held[i];
        char expected[128];
        if (h->rank < rank || (rank == SPW_LOCK_SLOW && h->rank == rank && h->lock < lock))
            continue;
        (void)snprintf(expected, sizeof(expected), "a lock of rank \"%s\" is not taken after one of rank \"%s\" (lock.h)",
                       name_of(rank), name_of(h->rank));
        spw_check_failed(__FILE__, __LINE__, __func__, "locks are taken in the order of their ranks", expected);
    }
}

void spw_lock_witness_taken(const volatile void *lock, enum spw_lock_rank rank)
{
    if (held_count == MOST)
        spw_check_failed(__FILE__, __LINE__, __func__, "held_count < MOST", "a thread holds a few locks at a time");
    held[held_count++] = (struct held){lock, rank};
}

/* Returns its index in the list, or held_count. */
static unsigned place_of(const volatile void *lock)
{
    unsigned i = 0;
    while (i < held_count && held[i].lock != lock)
        i++;
    return i;
}

void spw_lock_witness_let_go(const volatile void *lock)
{
    const unsigned place = place_of(lock);
    if (place == held_count && all_count_as_held)
        return;
    if (place == held_count)
        spw_check_failed(__FILE__, __LINE__, __func__, "the lock is among those held", "who lets go of a lock holds it");
    held_count--;
    for (unsigned i = place; i < held_count; i++)
        held[i] = held[i + 1];
}

bool spw_lock_witness_holds(const volatile void *lock)
{
    return all_count_as_held || place_of(lock) < held_count;
}

void spw_lock_witness_forget(void)
{
    held_count = 0;
}

void spw_lock_witness_take_all_for_held(void)
{
    all_count_as_held = true;
}
