/* best.h - keeps the fastest of several schedules for one request, each also tried with its copies moved to better
 * places. */
#ifndef SPILLWAY_PLANNER_BEST_H
#define SPILLWAY_PLANNER_BEST_H
#include "plan/plan.h"
#include "search/prefetch.h"

struct spw_best {
    const struct spw_plan_request *request;
    struct spw_schedule tried;  /* the schedule to be offered next; filled by the owner */
    struct spw_schedule moved;  /* the same with copies moved */
    struct spw_schedule *found; /* the fastest so far; belongs to the caller */
    double us;                  /* its time; INFINITY: none yet */
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    double *start_us;
    size_t start_room;
};

/* `found` has to outlive it. Returns 0 or -ENOMEM; call spw_best_finish() in any case. */
int spw_best_init(struct spw_best *best, const struct spw_plan_request *request, struct spw_schedule *found);
void spw_best_finish(struct spw_best *best);
/* Offers the schedule in `tried`, as it is and with its copies moved. Returns 0; -ENOSPC: it cannot be timed within the
 * budget; -ENOMEM. */
int spw_best_offer(struct spw_best *best);
/* Lets a planner fill `tried`, and offers the result. Returns as spw_best_offer() does, or what the planner returned. */
int spw_best_ask(struct spw_best *best, spw_planner_function *make);
#endif
