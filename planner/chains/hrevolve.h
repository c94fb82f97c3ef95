/* hrevolve.h - reverses a chain of equal steps with slots on several levels of memory, where reads and writes have a cost.
 *
 * Herrmann and Pallez, "H-Revolve", ACM TOMS 46 (2020), the recurrences of Opt and Opt'; with two levels of which the
 * second is unlimited, the Disk-Revolve of Aupy, Herrmann, Hovland and Robert, SIAM J. Sci. Comput. 38 (2016). Reads and
 * writes block the computation; the initial state is in the work buffer only. Guaranteed: the least cost of all
 * schedules where reads and writes cost no less on an outer level than on an inner one (the paper claims it for a level
 * 0 free of charge); elsewhere another schedule may be slightly better. */
#ifndef SPILLWAY_PLANNER_HREVOLVE_H
#define SPILLWAY_PLANNER_HREVOLVE_H
#include <stdbool.h>
#include <stdint.h>

#include "chains/reversal.h"

#define SPW_SLOTS_UNLIMITED UINT32_MAX

struct spw_hrevolve_level {
    uint32_t slots;     /* may be 0, or SPW_SLOTS_UNLIMITED */
    double write, read; /* >= 0 */
    bool one_read;      /* no state is read more than once from this level */
};

struct spw_hrevolve; /* the tables */

/* Fills the tables. Levels go from the nearest, level 0, outwards. `forward`: the cost of an advance by one step;
 * `backward`: of a reversal, including its recording. There has to be at least one step and one level. O(steps^2 * slots)
 * time, O(steps * slots) memory, where slots is the sum over the levels (an unlimited level counts as one). Returns 0 or
 * -ENOMEM, also for tables of more than 2^40 bytes. */
int spw_hrevolve_create(uint32_t steps, const struct spw_hrevolve_level *levels, uint32_t level_count, double forward,
                        double backward, struct spw_hrevolve **ret_tables);
void spw_hrevolve_destroy(struct spw_hrevolve *tables); /* NULL is allowed */

/* Returns the cost of reversing the first `steps` steps of the chain, or INFINITY if there are too few slots. */
double spw_hrevolve_cost(const struct spw_hrevolve *tables, uint32_t steps);
/* Appends actions of that cost. Returns 0; -ENOSPC: there are too few slots; -ENOMEM. */
int spw_hrevolve_append(const struct spw_hrevolve *tables, uint32_t steps, struct spw_reversal *reversal);
#endif
