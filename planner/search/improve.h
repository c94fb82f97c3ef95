/* improve.h - searches for better choices for a graph within a budget, with the time line as judge.
 *
 * The budget can be raised on the way: what was found stays valid. */
#ifndef SPILLWAY_PLANNER_IMPROVE_H
#define SPILLWAY_PLANNER_IMPROVE_H
#include "plan/plan.h"

/* How long a search may go on. */
struct spw_effort {
    double begun_s, limit_s;     /* by the request's clock; limit_s 0: by evaluations alone */
    uint64_t evaluations, limit; /* schedules that were composed, and may be */
};
/* The share that is used up, from 0; from 1 on it is time to stop. */
double spw_effort_used(const struct spw_effort *effort, const struct spw_plan_request *request);

struct spw_improver;
/* `request` is copied; its budget is the first one. `effort` stays the caller's and is counted up. 0 or -ENOMEM. */
int spw_improver_create(const struct spw_plan_request *request, struct spw_effort *effort,
                        struct spw_improver **ret_improver);
void spw_improver_destroy(struct spw_improver *improver);

/* Goes on within another budget, not below the one before. 0 or -ENOMEM. */
int spw_improver_raise(struct spw_improver *improver, uint64_t device_bytes);
/* Tries covers (cover.h) at a range of prices for the lanes' time, and goes on from the best. 0 or -ENOMEM. */
int spw_improver_cover(struct spw_improver *improver);
/* Searches until the effort's share `until` is used up, nothing better is possible, or nothing better was found in the last
 * `patience` evaluations. 0 or -ENOMEM. */
int spw_improver_search(struct spw_improver *improver, double until, uint64_t patience);
/* The same from several beginnings in turn: where it stands, then other covers. Parts of what each came to are tried in what
 * comes after. It then stands at the best. 0 or -ENOMEM. */
int spw_improver_explore(struct spw_improver *improver, double until);
/* Takes a schedule found by other means, if it is better. 0 or -ENOMEM. */
int spw_improver_offer(struct spw_improver *improver, const struct spw_schedule *schedule);
/* Takes up choices for the same graph, if they lead to something better than where the search stands. 0 or -ENOMEM. */
int spw_improver_begin_with(struct spw_improver *improver, const uint8_t *choices);
/* Fills in the choices that the best so far came of, or amounts to. 0 or -ENOMEM. */
int spw_improver_choices(const struct spw_improver *improver, uint8_t *ret_choices);
/* The best so far; INFINITY and an empty one: none was found yet. Borrowed. */
double spw_improver_best(const struct spw_improver *improver, const struct spw_schedule **ret_schedule);
/* Lets copies in start earlier in the best schedule where that costs nothing: it stands more delay then. 0 or -ENOMEM. */
int spw_improver_polish(struct spw_improver *improver);
#endif
