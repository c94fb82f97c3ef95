/* bounds.h - computes lower bounds on the time of an iteration within a budget, in closed form: no schedule is faster. */
#ifndef SPILLWAY_PLANNER_BOUNDS_H
#define SPILLWAY_PLANNER_BOUNDS_H
#include "bounds/terms.h"
#include "plan/graph.h"

struct spw_bounds {
    bool feasible;        /* false: some operation needs more than the budget, whatever a schedule does */
    double time_us;       /* the sum of the durations */
    double persistent_us; /* the time to copy out and in, in each iteration, the persistent bytes that do not fit */
    double cut_us;        /* the best cut: bytes that are absent during one operation have to come back after it */
    /* The best span of two operations: bytes that are absent during the first were copied out before it, bytes that are
     * absent during the second come back after it, and everything in between has to run. */
    double span_us;
    double best_us;   /* the largest of the four */
    const char *best; /* the name of the largest: "time", "persistent", "cut", "span" */
};

/* Bounds the time of every schedule within `device_bytes` that copies and replays only where it is allowed to. Assumes
 * that copies do not slow each other down. Returns 0 or -ENOMEM. */
int spw_bounds_find(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                    struct spw_bounds *ret_bounds);
/* Like spw_bounds_find(), for the given machine and time limit. Returns 0, -ENOMEM or -ECANCELED. */
int spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                      const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds);
/* Computes the cut bound of each operation into ret_us[op_count]: 0 where everything fits, INFINITY where no schedule
 * fits. Returns 0 or -ENOMEM. */
int spw_bounds_of_ops(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay, double *ret_us);
#endif
