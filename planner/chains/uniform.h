/* uniform.h - finds the uniform chain in a real one: groups of stages as equal steps, and how many states fit beside them.
 *
 * A planner of uniform chains leaves some numbers open, which are tried here, first by estimate and then by building:
 * how many steps, how many stages at the end form one long last step (its records stay until they are read, and none of
 * it is run twice), and how many slots. With one step and no stored state everything stays, so a planner finds a
 * schedule wherever all fits. */
#ifndef SPILLWAY_PLANNER_UNIFORM_H
#define SPILLWAY_PLANNER_UNIFORM_H
#include "chains/join.h"
#include "plan/plan.h"
#include "chains/reversal.h"

/* One way to view the chain. Times in us, averaged over the steps. */
struct spw_uniform {
    uint32_t steps;      /* including the last one, whatever its length */
    uint32_t slots;      /* on the device */
    uint32_t host_slots; /* number of states that the host holds */
    double forward_us, backward_us, store_us, load_us;
    /* Chains that meet, one after the other in the order of the steps; the last step is common to all. */
    uint32_t branches;
    uint32_t branch_steps[SPW_JOIN_MOST_BRANCHES];
};

enum spw_uniform_means {
    SPW_UNIFORM_CHAINS, /* a single chain, on the device alone */
    SPW_UNIFORM_COPIES, /* a single chain; reversals may use level 1, the host */
    SPW_UNIFORM_JOINS,  /* also chains that meet, on the device alone */
};

/* Fills the empty reversal, which begins at step 0. `ret_wait_us`: expected waiting time, in addition to that of the
 * steps run. Returns 0; -ENOSPC: too few slots; -ENOMEM. */
typedef int spw_uniform_function(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us);

/* Makes the fastest schedule found. Returns 0; -ENOSPC; -ENOTSUP: the graph is no chain; -ENOMEM. */
int spw_plan_uniform(const struct spw_plan_request *request, spw_uniform_function *reverse, enum spw_uniform_means means,
                     struct spw_schedule *schedule);
#endif
