/* async_revolve.h - copies states to a large memory during the computation, and reverses the intervals between by Revolve.
 *
 * Kukreja, Hueckelheim and Gorman, "Backpropagation for long sequences: beyond memory constraints with constant
 * overheads", arXiv 1806.01117 (2018). States are stored as often as copies can be made without delaying the
 * computation. While one interval is reversed, the initial state of the interval before is copied back. Guaranteed:
 * stores never delay anything, and the cost of a step depends on the interval and the slots, not on the length of the
 * chain. */
#ifndef SPILLWAY_PLANNER_ASYNC_REVOLVE_H
#define SPILLWAY_PLANNER_ASYNC_REVOLVE_H
#include <stdint.h>

#include "chains/reversal.h"

struct spw_async_chain {
    uint64_t steps;           /* >= 1 */
    uint64_t slots;           /* >= 1; for Revolve within an interval, including its initial state */
    double forward, backward; /* time of an advance by one step, > 0; of a reversal, including its recording */
    double store, load;       /* time of one copy to the large memory, and back */
};

struct spw_async_figures {
    uint64_t interval;  /* states 0, interval, 2 interval, ... are stored */
    uint64_t intervals; /* the last one may be shorter */
    double stall;       /* time spent waiting for states to be copied back */
    double total;
    double revolve_total; /* by Revolve alone, with the same slots and no large memory */
};

/* Computes the figures. Returns 0; -ERANGE: a number of advances exceeds 64 bits. */
int spw_async_revolve(const struct spw_async_chain *chain, struct spw_async_figures *ret_figures);

/* Appends actions that take `total`. Level 0: the slots; level 1: the large memory, where slot i holds state i *
 * interval. A STORE at level 1 runs in parallel with what follows. Returns 0 or -ENOMEM. */
int spw_async_revolve_append(const struct spw_async_chain *chain, struct spw_reversal *reversal);
#endif
