/* bounds.h - what no schedule can beat: lower bounds on an iteration's time within a budget, in closed form. */
#ifndef SPILLWAY_PLANNER_BOUNDS_H
#define SPILLWAY_PLANNER_BOUNDS_H
#include "bounds/terms.h"
#include "plan/graph.h"

struct spw_bounds {
    bool feasible;        /* false: some operation needs more than the budget, whatever is done */
    double time_us;       /* the sum of the durations */
    double persistent_us; /* what carries over and does not fit has to come in and go out in each iteration */
    double cut_us;        /* what cannot be there during one operation has to come back after it */
    double span_us;   /* what cannot be there in one operation has gone out before it, what cannot be in a later one has to
                       * come back after that, and what is in between has to run */
    double best_us;   /* the largest of them */
    const char *best; /* its name: "time", "persistent", "cut", "span" */
};

/* Bounds for any schedule within `device_bytes` that copies or replays only if it may, where copies do not hinder each
 * other. 0 or -ENOMEM. */
int spw_bounds_find(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                    struct spw_bounds *ret_bounds);
/* The same on these terms. 0, -ENOMEM, -ECANCELED. */
int spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                      const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds);
/* The cut bound of each operation, op_count numbers: 0 where all fits, INFINITY where nothing can be done. 0 or -ENOMEM. */
int spw_bounds_of_ops(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay, double *ret_us);
#endif
