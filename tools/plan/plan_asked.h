/* plan_asked.h - what a user asks of `spillway plan`, from its arguments. */
#ifndef SPILLWAY_TOOLS_PLAN_ASKED_H
#define SPILLWAY_TOOLS_PLAN_ASKED_H
#include "plan_input.h"
#include "plan_run.h"
#include "settings.h"

struct plan_asked {
    struct plan_input input;
    struct spw_amount budget;          /* UNSET: none; a sweep if nothing else is asked for */
    const struct spw_planner *planner; /* NULL: the first */
    const char *events, *check;        /* files; NULL: none */
    struct plan_wish wish;             /* without the graph */
    uint64_t granularity_bytes;        /* 0: sizes stay as they are */
    const char *machine_option;        /* the last option that sets something in wish.machine; NULL: none */
    bool json, sweep, compare, planners;
};
#endif
