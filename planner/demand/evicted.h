/* evicted.h - what has been evicted around a tensor, and what it would cost to compute all of that again.
 *
 * Neighbours of a tensor are those that the operations that write it read, and those that are written where it is read. The
 * evicted neighbourhood of a tensor is what is reached from it through evicted tensors only: upwards, what would have to be
 * computed again before it can be; downwards, what would need it. A tensor costs what the operations cost that have written
 * it so far. Persistent tensors are never part of it: they are not recomputed. */
#ifndef SPILLWAY_PLANNER_EVICTED_H
#define SPILLWAY_PLANNER_EVICTED_H
#include <stdbool.h>

#include "plan/graph.h"

struct spw_evicted; /* which tensors are evicted */
int spw_evicted_create(const struct spw_graph *graph, struct spw_evicted **ret_evicted);
void spw_evicted_destroy(struct spw_evicted *evicted); /* NULL is fine */
void spw_evicted_clear(struct spw_evicted *evicted);   /* an iteration begins: none is */

/* The tensor has gone after so many of its uses. 0 or -ENOMEM. */
int spw_evicted_go(struct spw_evicted *evicted, uint32_t tensor, uint32_t uses);
/* The tensor is there, again or for the first time. */
void spw_evicted_come(struct spw_evicted *evicted, uint32_t tensor);

/* What the tensor itself has cost after so many of its uses. */
double spw_evicted_own_us(const struct spw_evicted *evicted, uint32_t tensor, uint32_t uses);
/* Cost of the exact evicted neighbourhood, without the tensor itself. Time: all that is in it. `used_us` is raised to the
 * last time that any of it was used; `times` has that for each tensor. `work` is raised by the steps that it took. */
double spw_evicted_around_us(struct spw_evicted *evicted, uint32_t tensor, const double *times, double *used_us,
                             uint64_t *work);
/* As that, upwards only: what would have to be computed besides the tensor itself. */
double spw_evicted_above_us(struct spw_evicted *evicted, uint32_t tensor, uint64_t *work);
/* The neighbourhood's cost in nearly constant time, not exactly: evicted neighbours are in one class with theirs, whichever
 * way that leads; a tensor that comes back takes its own cost along, but splits no class. */
double spw_evicted_class_us(struct spw_evicted *evicted, uint32_t tensor, uint64_t *work);
#endif
