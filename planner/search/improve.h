/* improve.h - searches for better choices for a graph within a budget, judged by the time line.
 *
 * The budget can be raised meanwhile: what was found remains valid. */
#ifndef SPILLWAY_PLANNER_IMPROVE_H
#define SPILLWAY_PLANNER_IMPROVE_H
#include "plan/plan.h"

/* How long a search may go on. */
struct spw_effort {
    double begun_s, limit_s;     /* by the request's clock; limit_s 0: only evaluations count */
    uint64_t evaluations, limit; /* schedules composed so far, and how many may be */
};
/* Returns the share that is used up, from 0; the search should stop at 1 or above. */
double spw_effort_used(const struct spw_effort *effort, const struct spw_plan_request *request);

struct spw_improver;
/* `request` is copied; its budget is the first one. The caller keeps `effort`, which the search counts up. Returns 0 or
 * -ENOMEM. */
int spw_improver_create(const struct spw_plan_request *request, struct spw_effort *effort,
                        struct spw_improver **ret_improver);
void spw_improver_destroy(struct spw_improver *improver);

/* Continues within another budget, which may not be smaller. Returns 0 or -ENOMEM. */
int spw_improver_raise(struct spw_improver *improver, uint64_t device_bytes);
/* Tries covers (cover.h) at several prices of the lanes' time, and continues from the best. Returns 0 or -ENOMEM. */
int spw_improver_cover(struct spw_improver *improver);
/* Searches until the share `until` of the effort is used up, the result is known to be optimal, or the last `patience`
 * evaluations found nothing better. Returns 0 or -ENOMEM. */
int spw_improver_search(struct spw_improver *improver, double until, uint64_t patience);
/* Searches from several beginnings in turn: the current choices, then other covers. Parts of each result are tried in the
 * later searches. Then continues from the best. Returns 0 or -ENOMEM. */
int spw_improver_explore(struct spw_improver *improver, double until);
/* Takes a schedule found by other means if it is better. Returns 0 or -ENOMEM. */
int spw_improver_offer(struct spw_improver *improver, const struct spw_schedule *schedule);
/* Takes choices for the same graph if they lead to something better than the current ones. Returns 0 or -ENOMEM. */
int spw_improver_begin_with(struct spw_improver *improver, const uint8_t *choices);
/* Gets the choices that the best schedule came from, or that come closest to it. Returns 0 or -ENOMEM. */
int spw_improver_choices(const struct spw_improver *improver, uint8_t *ret_choices);
/* Returns the time of the best schedule so far, and the schedule, which belongs to the improver; INFINITY and an empty
 * one if none was found yet. */
double spw_improver_best(const struct spw_improver *improver, const struct spw_schedule **ret_schedule);
/* Lets copies in start earlier in the best schedule where that costs nothing, so that it tolerates more delay. Returns 0
 * or -ENOMEM. */
int spw_improver_polish(struct spw_improver *improver);
#endif
