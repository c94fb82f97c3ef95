/* plan.h - planners by name: graph and budget in, schedule and its time line out.
 *
 * A planner is a function that fills a schedule; each is one file, which begins with its paper and what is guaranteed. What
 * it fills is timed, and measured against the bounds, here and in one way for all. */
#ifndef SPILLWAY_PLANNER_PLAN_H
#define SPILLWAY_PLANNER_PLAN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/graph.h"
#include "plan/schedule.h"
#include "plan/timeline.h"

struct spw_plan_request {
    const struct spw_graph *graph;
    uint64_t device_bytes; /* the budget */
    uint64_t host_bytes;   /* most bytes of host copies at once; UINT64_MAX: any number */
    bool may_copy, may_replay;
    struct spw_machine machine; /* spw_plan_make() sets its host_bytes to those of the request */
    uint64_t seed;              /* what is chosen at random is chosen the same for the same seed */
    double time_limit_s;        /* planners that search stop after so long; 0: their own default for the graph's size */
    double bound_limit_s;       /* for the lower bound about so much of the host's time; 0: half a second */
    double (*now_s)(void *now_context); /* a clock that does not go backwards; NULL: a limit of work in place of time. Where
                                         * it is infinite, searches end, whatever their limit, and nothing may come of it:
                                         * -ECANCELED */
    void *now_context;
    const uint8_t *begin_with; /* choices (choice.h) that `auto` begins with beside its own: those of a plan for the
                                * same uses within another budget, or at other durations; NULL: none */
    uint8_t *ret_choices;      /* room for the choices that its schedule came of, spw_choice_count() of them; may be NULL */
};

/* Fills `schedule`, which is empty. 0; -ENOSPC: found no valid schedule within the budget; -ENOTSUP: the planner is for
 * other graphs or means (a chain, copies); -ENOMEM. */
typedef int spw_planner_function(const struct spw_plan_request *request, struct spw_schedule *schedule);

struct spw_planner {
    const char *name;
    const char *source;     /* paper and section */
    const char *guarantees; /* in one sentence */
    bool copies, replays;   /* what its schedules contain, where it may */
    bool searches;          /* looks at the time limit */
    bool is_slow;           /* takes long on tens of thousands of operations */
    spw_planner_function *make;
};
extern const struct spw_planner spw_planners[]; /* `auto` first; ends with a name of NULL */

struct spw_plan {
    const struct spw_planner *planner;
    struct spw_schedule schedule;
    struct spw_timing timing;
    double lower_bound_us;
    const char *bound; /* which one: "time", "cut", "persistent" */
};

const struct spw_planner *spw_planner_find(const char *name); /* NULL: there is none of this name */
/* 0 and `ret_plan`, to be given back with spw_plan_finish(); otherwise as spw_planner_function. */
int spw_plan_make(const struct spw_planner *planner, const struct spw_plan_request *request, struct spw_plan *ret_plan);
void spw_plan_finish(struct spw_plan *plan);
/* The smallest budget at which the planner finds a schedule, found by bisection to within 0.1 % of the peak (or one
 * granule); its result for that budget is in `ret_plan` if that is not NULL. 0; -ENOSPC: not even at the peak; -ENOMEM. */
int spw_plan_smallest(const struct spw_planner *planner, const struct spw_plan_request *request, uint64_t *ret_bytes,
                      struct spw_plan *ret_plan);

/* The planners, one file each. */
spw_planner_function spw_plan_auto, spw_plan_revolve, spw_plan_hrevolve, spw_plan_async_revolve, spw_plan_rotor,
    spw_plan_offload, spw_plan_pofo, spw_plan_capuchin, spw_plan_delta, spw_plan_dtr, spw_plan_lru, spw_plan_none;
#endif
