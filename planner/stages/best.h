/* best.h - keeps the best of several schedules for one request, each with its copies moved to where they have time. */
#ifndef SPILLWAY_PLANNER_BEST_H
#define SPILLWAY_PLANNER_BEST_H
#include "plan/plan.h"
#include "search/prefetch.h"

struct spw_best {
    const struct spw_plan_request *request;
    struct spw_schedule tried;  /* what is to be offered next; its owner fills it */
    struct spw_schedule moved;  /* the same with copies moved */
    struct spw_schedule *found; /* the best one so far; the caller's */
    double us;                  /* its time; INFINITY: there is none */
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    double *start_us;
    size_t start_room;
};

/* `found` has to outlive it. 0 or -ENOMEM; finish it in any case. */
int spw_best_init(struct spw_best *best, const struct spw_plan_request *request, struct spw_schedule *found);
void spw_best_finish(struct spw_best *best);
/* Offers what is in `tried`, as it is and with its copies moved. 0; -ENOSPC: it cannot be timed within the budget; -ENOMEM.
 */
int spw_best_offer(struct spw_best *best);
/* Lets a planner fill `tried`, and offers that. As spw_best_offer(), or what the planner answered. */
int spw_best_ask(struct spw_best *best, spw_planner_function *make);
#endif
