/* prefetch.h - moves what a schedule brings in to where it has time to arrive, and what it drops to where it may go. */
#ifndef SPILLWAY_PLANNER_PREFETCH_H
#define SPILLWAY_PLANNER_PREFETCH_H
#include "plan/graph.h"
#include "plan/schedule.h"

struct spw_prefetcher; /* room to work in */
int spw_prefetcher_create(const struct spw_graph *graph, struct spw_prefetcher **ret_prefetcher);
void spw_prefetcher_destroy(struct spw_prefetcher *prefetcher);

/* Moves drops as early as they may happen, then each copy in, in the order of need, as early as its lane wants it for
 * arriving in time and memory allows. `start_us`, one time for each step, or NULL: as if nothing ever waited. `lead`: the
 * share of each copy's length by which it is to be early, >= 0. 0; -ENOMEM; -EINVAL: the schedule is left as it was, being
 * of a kind that this can't treat (a tensor comes and goes between two operations). */
int spw_prefetch(struct spw_prefetcher *prefetcher, struct spw_schedule *schedule, uint64_t budget_bytes,
                 const double *start_us, double lead);
#endif
