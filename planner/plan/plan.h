/* plan.h - what a planner is asked: graph and budget in, a schedule out. Each planner is one file, which begins with its
 * paper and what is guaranteed. planners/planners.h has them by name. */
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
    double bound_us;            /* a lower bound for the budget, where it is known; 0: it is not */
    double (*now_s)(void *now_context); /* a clock that does not go backwards; NULL: a limit of work in place of time. Where
                                         * it is infinite, searches end, whatever their limit, and nothing may come of it:
                                         * -ECANCELED */
    void *now_context;
    const uint8_t *begin_with; /* choices (choice.h) that `auto` begins with beside its own: those of a plan for the
                                * same uses within another budget, or at other durations; NULL: none. Whatever is in them,
                                * what they come to is a valid schedule, or none */
    bool only_begin_with;      /* no search: what those come to is wanted; -ENOSPC: nothing */
    uint8_t *ret_choices;      /* room for the choices that its schedule came of, spw_choice_count() of them; may be NULL */
};

/* Fills `schedule`, which is empty. 0; -ENOSPC: found no valid schedule within the budget; -ENOTSUP: the planner is for
 * other graphs or means (a chain, copies); -ENOMEM. */
typedef int spw_planner_function(const struct spw_plan_request *request, struct spw_schedule *schedule);

/* The simplest one: nothing moves. */
spw_planner_function spw_plan_none;
#endif
