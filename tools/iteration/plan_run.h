/* plan_run.h - makes plans for a command: takes what is wished for, and returns outcomes that can be shown. */
#ifndef SPILLWAY_TOOLS_PLAN_RUN_H
#define SPILLWAY_TOOLS_PLAN_RUN_H
#include "iteration_file.h"
#include "plan/own.h"
#include "planners/planners.h"

struct plan_wish {
    const struct spw_graph *graph;
    uint64_t host_bytes; /* UINT64_MAX: no limit */
    bool may_copy, may_replay;
    struct spw_own own;         /* what a run needs of a budget for itself */
    struct spw_machine machine; /* other costs; its host_bytes are ignored, and duplex 0 means unknown */
    uint64_t seed;
    double time_limit_s; /* for each plan; 0: the planner's own */
    /* The limit is one of time. Else it is one of work that takes about that long, and the result is always the same. */
    bool by_clock;
    double jitter; /* by what share durations may differ in trials; 0: no trials */
};

/* Completes the wish for that iteration: on the machine that the file names, as far as the wish does not say otherwise.
 * Sizes are rounded up as the machine allocates memory, or to multiples of `granule_bytes` if that is not 0. Returns 0 or
 * -ENOMEM. */
int plan_wish_for(struct iteration *it, uint64_t granule_bytes, struct plan_wish *wish);

/* How a plan does if durations differ from those planned with: each operation and copy takes longer or shorter by a
 * random share of at most `jitter`. Ratios are to the same durations with unlimited memory. */
struct plan_jitter {
    uint32_t trials; /* 0: no trials */
    double mean, worst;
};

struct plan_outcome {
    const struct spw_planner *planner;
    uint64_t budget_bytes, smallest_bytes; /* smallest: at which this planner finds a plan; 0: at none */
    uint64_t rest_bytes;                   /* what a run leaves of the budget for tensors (own.h) */
    int result;                            /* 0; -ENOSPC: no plan within the budget; -ENOTSUP: not for this graph */
    double lower_bound_us;                 /* whatever the result */
    const char *bound;
    double planning_s;
    /* if the result is 0: */
    struct spw_plan plan;
    double *start_us; /* of each step */
    struct plan_jitter jitter;
};

/* Makes and checks a plan; smallest_bytes is not set. Returns 0, whatever the outcome; -ENOMEM; -EBADMSG, with a message
 * on stderr, if the check finds the plan wrong. */
int plan_make(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t budget_bytes,
              struct plan_outcome *ret_outcome);
void plan_outcome_finish(struct plan_outcome *outcome);

/* Finds the smallest budget at which the planner finds a plan, with little effort; 0: there is none. Returns 0 or
 * -ENOMEM. */
int plan_smallest(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t *ret_bytes);

/* A list of outcomes that grows. */
struct plan_outcomes {
    struct plan_outcome *list;
    size_t count;
};
void plan_outcomes_finish(struct plan_outcomes *outcomes);

/* Makes the budget-to-slowdown curve: from the peak down, in steps of `step_share` of it, to the smallest feasible
 * budget. More memory is never slower: the plan for a smaller budget is used where it is faster. Returns as plan_make()
 * does. */
int plan_sweep(const struct plan_wish *wish, const struct spw_planner *planner, double step_share,
               struct plan_outcomes *ret_outcomes);
/* Makes plans with every planner at each of the budgets; all budgets of one planner come together. Returns as plan_make()
 * does. */
int plan_compare(const struct plan_wish *wish, const uint64_t *budgets, size_t budget_count,
                 struct plan_outcomes *ret_outcomes);
#endif
