/* evicted.h - tracks the evicted tensors around a tensor, and what it would cost to recompute them.
 *
 * The neighbours of a tensor are the tensors that its writers read, and those that are written where it is read. The
 * evicted neighbourhood of a tensor is everything that can be reached from it through evicted tensors only: upwards,
 * what would have to be recomputed before it; downwards, what would need it. A tensor costs as much as the operations
 * that have written it so far. Persistent tensors are never part of a neighbourhood, since they are not recomputed. */
#ifndef SPILLWAY_PLANNER_EVICTED_H
#define SPILLWAY_PLANNER_EVICTED_H
#include <stdbool.h>

#include "plan/graph.h"

struct spw_evicted; /* the set of evicted tensors */
int spw_evicted_create(const struct spw_graph *graph, struct spw_evicted **ret_evicted);
void spw_evicted_destroy(struct spw_evicted *evicted); /* NULL is allowed */
void spw_evicted_clear(struct spw_evicted *evicted);   /* empties the set when an iteration begins */

/* Marks the tensor as evicted after its first `uses` uses. Returns 0 or -ENOMEM. */
int spw_evicted_go(struct spw_evicted *evicted, uint32_t tensor, uint32_t uses);
/* Marks the tensor as present, again or for the first time. */
void spw_evicted_come(struct spw_evicted *evicted, uint32_t tensor);

/* Returns the cost of the tensor itself after its first `uses` uses. */
double spw_evicted_own_us(const struct spw_evicted *evicted, uint32_t tensor, uint32_t uses);
/* Returns the cost of the exact evicted neighbourhood without the tensor itself. Takes time in proportion to the
 * neighbourhood. `used_us` is raised to the last time that any of it was used; `times` has that time for each tensor. The
 * number of steps is added to `work`. */
double spw_evicted_around_us(struct spw_evicted *evicted, uint32_t tensor, const double *times, double *used_us,
                             uint64_t *work);
/* Like spw_evicted_around_us(), but upwards only: what would have to be recomputed besides the tensor. */
double spw_evicted_above_us(struct spw_evicted *evicted, uint32_t tensor, uint64_t *work);
/* Approximates the cost of the neighbourhood in nearly constant time: evicted neighbours are in one class with their own
 * neighbours, in either direction. A tensor that comes back takes its own cost with it, but splits no class. */
double spw_evicted_class_us(struct spw_evicted *evicted, uint32_t tensor, uint64_t *work);
#endif
