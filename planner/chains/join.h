/* join.h - reverses several chains of equal steps that meet at their ends, within slots that they share.
 *
 * Beaumont, Herrmann, Pallez and Shilova, "Optimal memory-aware backpropagation of deep join networks", Phil. Trans. R.
 * Soc. A 378 (2020). Steps cost the same, states have the same size, storing and restoring are free. At the start the
 * first state of each branch is in a slot, that of branch b in slot b. The turn, where the branches meet, needs the last
 * states of all branches at once: one may be in the work buffer, the others are in slots. After the turn, a step of any
 * branch is reversed from its state in the work buffer. The recurrence is our own, derived from the paper's claim that
 * one branch may be reversed down to a stored state before another takes the memory. Guaranteed: the least number of
 * advances among all reversals that do so; in every case that was compared with a search, the least of all. Exponential
 * in the number of branches. */
#ifndef SPILLWAY_PLANNER_JOIN_H
#define SPILLWAY_PLANNER_JOIN_H
#include <stdbool.h>
#include <stdint.h>

#include "chains/reversal.h"

enum { SPW_JOIN_MOST_BRANCHES = 4 };

struct spw_join {
    uint32_t branches;                      /* 1 .. SPW_JOIN_MOST_BRANCHES */
    uint32_t steps[SPW_JOIN_MOST_BRANCHES]; /* of each branch, at least 1 */
    uint32_t slots;
    bool in_order; /* branches are reversed completely, from the last to the first */
};

/* Returns the number of branch `branch`'s first state in the actions. State k of the branch, k = 0 .. steps[branch], has
 * that number + k. */
uint64_t spw_join_state(const struct spw_join *join, uint32_t branch);

/* Computes the number of advances, and the actions unless `reversal` is NULL. Returns 0; -ENOSPC: fewer than 2 branches -
 * 1 slots; -E2BIG: too many combinations of lengths; -ENOMEM. */
int spw_join_reverse(const struct spw_join *join, uint64_t *ret_advances, struct spw_reversal *reversal);
#endif
