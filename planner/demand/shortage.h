/* shortage.h - tracks by how many bytes each operation of an iteration exceeds the budget while tensors are evicted. */
#ifndef SPILLWAY_PLANNER_SHORTAGE_H
#define SPILLWAY_PLANNER_SHORTAGE_H
#include "plan/graph.h"

struct spw_shortage;
/* Starts with no tensor evicted: persistent tensors are there all the time, others from their first use (initial ones:
 * from the start) to their last. Returns 0 or -ENOMEM. */
int spw_shortage_create(const struct spw_graph *graph, uint64_t budget_bytes, struct spw_shortage **ret_shortage);
void spw_shortage_destroy(struct spw_shortage *shortage); /* NULL is allowed */
/* Subtracts `bytes` from the operations from <= op < to. */
void spw_shortage_relieve(struct spw_shortage *shortage, uint32_t from, uint32_t to, uint64_t bytes);
/* Returns the maximum excess over the budget among these operations; <= 0: they fit. */
int64_t spw_shortage_most(const struct spw_shortage *shortage, uint32_t from, uint32_t to);
#endif
