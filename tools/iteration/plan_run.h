/* plan_run.h - makes plans for a command: what was wished for in, outcomes that can be shown out. */
#ifndef SPILLWAY_TOOLS_PLAN_RUN_H
#define SPILLWAY_TOOLS_PLAN_RUN_H
#include "iteration_file.h"
#include "plan/own.h"
#include "planners/planners.h"

struct plan_wish {
    const struct spw_graph *graph;
    uint64_t host_bytes; /* UINT64_MAX: any number */
    bool may_copy, may_replay;
    struct spw_own own;         /* what a run takes of a budget for itself */
    struct spw_machine machine; /* what costs time besides; its host_bytes are not looked at, duplex 0 says nothing */
    uint64_t seed;
    double time_limit_s; /* for each plan; 0: the planner's own */
    bool by_clock; /* the limit is one of time; else of work that takes about so long, and the same comes of it each time */
    double jitter; /* share by which durations may be off, when that is to be tried out; 0: not */
};

/* The wish is for that iteration, on the machine that it names as far as the wish says nothing of it; sizes become what the
 * machine hands out, or multiples of `granule_bytes` where that is not 0. 0 or -ENOMEM. */
int plan_wish_for(struct iteration *it, uint64_t granule_bytes, struct plan_wish *wish);

/* How a plan does when durations are not what was planned with: each operation and copy takes longer or shorter by a random
 * share of at most `jitter`. Ratios are to the same durations with unlimited memory. */
struct plan_jitter {
    uint32_t trials; /* 0: not tried out */
    double mean, worst;
};

struct plan_outcome {
    const struct spw_planner *planner;
    uint64_t budget_bytes, smallest_bytes; /* smallest: at which this planner finds a plan; 0: at none */
    uint64_t rest_bytes;                   /* of the budget, for tensors: what a run leaves (own.h) */
    int result;                            /* 0; -ENOSPC: no plan within the budget; -ENOTSUP: not for this graph */
    double lower_bound_us;                 /* whatever the result */
    const char *bound;
    double planning_s;
    /* where the result is 0: */
    struct spw_plan plan;
    double *start_us; /* of each step */
    struct plan_jitter jitter;
};

/* A plan, checked; the smallest budget is left alone. 0, whatever the outcome says; -ENOMEM; -EBADMSG, with a message on
 * stderr, when the check says that the plan is wrong. */
int plan_make(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t budget_bytes,
              struct plan_outcome *ret_outcome);
void plan_outcome_finish(struct plan_outcome *outcome);

/* The smallest budget at which the planner finds a plan, looked for with little effort; 0: there is none. 0, or -ENOMEM. */
int plan_smallest(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t *ret_bytes);

/* A growing number of outcomes. */
struct plan_outcomes {
    struct plan_outcome *list;
    size_t count;
};
void plan_outcomes_finish(struct plan_outcomes *outcomes);

/* The budget-to-slowdown curve: from the peak down in steps of `step_share` of it to the smallest feasible budget. More
 * memory is never slower: a plan for less is taken where it is faster. As plan_make(). */
int plan_sweep(const struct plan_wish *wish, const struct spw_planner *planner, double step_share,
               struct plan_outcomes *ret_outcomes);
/* Every planner at each of the budgets; all budgets of one planner come together. As plan_make(). */
int plan_compare(const struct plan_wish *wish, const uint64_t *budgets, size_t budget_count,
                 struct plan_outcomes *ret_outcomes);
#endif
