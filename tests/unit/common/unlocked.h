/* unlocked.h - included by tests that call functions ending in _locked without taking the lock: builds that look whether it
 * is held take it for held. The order of locks is looked at all the same. */
#ifndef SPILLWAY_TESTS_UNLOCKED_H
#define SPILLWAY_TESTS_UNLOCKED_H
#include "lock_witness.h"

__attribute__((constructor)) static void take_locks_for_held(void)
{
    spw_lock_witness_take_all_for_held();
}
#endif
