/* reversal-machine.h - carries out the actions of a reversal one by one, and fails the test at the first that is not
 * possible. */
#ifndef SPILLWAY_TESTS_UNIT_REVERSAL_MACHINE_H
#define SPILLWAY_TESTS_UNIT_REVERSAL_MACHINE_H
#include <stdbool.h>
#include <stdint.h>

#include "chains/reversal.h"

enum { MACHINE_LEVELS = 4 };

struct machine_rules {
    uint64_t slots[MACHINE_LEVELS]; /* 0 for the levels that there are not; UINT64_MAX: as many as there are steps */
    double write[MACHINE_LEVELS], read[MACHINE_LEVELS];
    double forward, backward;
    bool beside; /* level 1 is copied to and from beside the computation, one copy in each direction at a time */
};

struct machine_sums {
    double time, stall; /* stall: waited for copies of level 1, where they run beside */
    uint64_t advances;  /* steps advanced over */
    uint64_t most_repeated;
    uint64_t stores[MACHINE_LEVELS], restores[MACHINE_LEVELS];
};

/* Begins with state 0 in the work buffer and nothing in any slot; at the end each of the steps has been reversed, from the
 * last to the first, and all slots are free. */
struct machine_sums machine_run(const struct spw_reversal *reversal, uint64_t steps, const struct machine_rules *rules);
#endif
