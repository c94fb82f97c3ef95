/* prefetch.h - moves the copies in of a schedule to where they arrive in time, and its drops to where they can first
 * happen. */
#ifndef SPILLWAY_PLANNER_PREFETCH_H
#define SPILLWAY_PLANNER_PREFETCH_H
#include "plan/graph.h"
#include "plan/schedule.h"

struct spw_prefetcher; /* working memory */
int spw_prefetcher_create(const struct spw_graph *graph, struct spw_prefetcher **ret_prefetcher);
void spw_prefetcher_destroy(struct spw_prefetcher *prefetcher);

/* Moves drops as early as they can happen. Then moves each copy in, in the order of need, as early as its lane requires
 * for it to arrive in time and as memory allows. `start_us`: one time for each step; NULL: as if nothing ever waited.
 * `lead`: by what share of its length each copy should be early, >= 0. Returns 0; -ENOMEM; -EINVAL: the schedule is
 * unchanged, since it is of a kind that cannot be handled (a tensor is copied in and dropped between two operations). */
int spw_prefetch(struct spw_prefetcher *prefetcher, struct spw_schedule *schedule, uint64_t budget_bytes,
                 const double *start_us, double lead);
#endif
