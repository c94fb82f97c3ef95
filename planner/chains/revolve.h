/* revolve.h - reverses a chain of equal steps within a number of slots, with the fewest steps run again.
 *
 * Griewank and Walther, "Algorithm 799: Revolve", ACM TOMS 26 (2000), binomial checkpointing. Steps cost the same,
 * states have the same size, storing and restoring are free, the slot of the initial state counts, one more state is in
 * the work buffer. Guaranteed: the least number of advances and, with that, few stores; every number is exact or
 * refused. */
#ifndef SPILLWAY_PLANNER_REVOLVE_H
#define SPILLWAY_PLANNER_REVOLVE_H
#include <stdbool.h>
#include <stdint.h>

#include "chains/reversal.h"

/* Returns the longest chain that `slots` can reverse with no step advanced over more than `repetitions` times: C(slots +
 * repetitions, slots); UINT64_MAX if it is larger. */
uint64_t spw_revolve_longest(uint64_t slots, uint64_t repetitions);

/* Returns the least repetitions for which the chain is not too long. Here and below, steps and slots are at least 1. */
uint64_t spw_revolve_repetitions(uint64_t steps, uint64_t slots);

/* Computes P(n, c), the least number of steps advanced over, not counting recordings. Returns 0; -ERANGE: it exceeds 64
 * bits. */
int spw_revolve_advances(uint64_t steps, uint64_t slots, uint64_t *ret_advances);

/* Returns how far an optimal reversal advances before it stores the next state, for a chain of at least 2 steps whose
 * initial state is in one of `slots`: at least 1, at most steps - 1. */
uint64_t spw_revolve_split(uint64_t steps, uint64_t slots);

/* Produces an optimal reversal action by action, in O(slots) memory and O(slots log steps) time each. Steps are reversed
 * directly from the work buffer where possible. All slots are of level 0. */
struct spw_revolve {
    uint64_t *stored; /* states that are in slots, ascending */
    uint64_t stored_count, room;
    uint64_t slots;
    uint64_t begin, end; /* steps [begin, end) are still to be reversed */
    uint64_t work;       /* the state in the work buffer; end: none that is of use */
};

void spw_revolve_init(struct spw_revolve *revolve, uint64_t steps, uint64_t slots);
void spw_revolve_finish(struct spw_revolve *revolve);
/* Returns 1 and the next action; 0: all steps are reversed and the slots are free; -ENOMEM. */
int spw_revolve_next(struct spw_revolve *revolve, struct spw_reversal_action *ret_action);

/* Appends all actions that reverse steps [first, first + steps), with state `first` in the work buffer. Returns 0 or
 * -ENOMEM. */
int spw_revolve_append(struct spw_reversal *reversal, uint64_t first, uint64_t steps, uint64_t slots);
#endif
