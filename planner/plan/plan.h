/* plan.h - declares what a planner gets (graph, budget, allowed means) and what it returns (a schedule). Each planner is
 * one file, which begins with the paper that it follows and with its guarantee. planners/planners.h lists them by name. */
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
    uint64_t host_bytes;   /* most bytes of host copies at once; UINT64_MAX: no limit */
    bool may_copy, may_replay;
    struct spw_machine machine; /* spw_plan_make() sets its host_bytes to those of the request */
    uint64_t seed;              /* the same seed gives the same random choices */
    /* After how long planners that search stop; 0: their default for a graph of this size. */
    double time_limit_s;
    double bound_limit_s; /* host time to spend on the lower bound, about; 0: half a second */
    double bound_us;      /* a lower bound for this budget; 0: not known */
    /* A clock that does not run backwards; NULL: planners limit their work instead of their time. An infinite value ends
     * a search whatever its limit; the planner may then return -ECANCELED. */
    double (*now_s)(void *now_context);
    void *now_context;
    /* Choices (choice.h) that `auto` starts from in addition to its own, such as those of a plan for the same uses within
     * another budget or with other durations; NULL: none. Any bytes are allowed: they give a valid schedule or none. */
    const uint8_t *begin_with;
    bool only_begin_with; /* no search, only the schedule of `begin_with`; -ENOSPC: it gives none */
    uint8_t *ret_choices; /* room for the spw_choice_count() choices from which its schedule came; may be NULL */
};

/* Fills `schedule`, which is empty. Returns 0; -ENOSPC: it found no valid schedule within the budget; -ENOTSUP: the
 * planner needs another kind of graph (a chain) or means that are not allowed (copies); -ENOMEM. */
typedef int spw_planner_function(const struct spw_plan_request *request, struct spw_schedule *schedule);

/* The simplest planner: it moves nothing. */
spw_planner_function spw_plan_none;
#endif
