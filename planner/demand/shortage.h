/* shortage.h - by how many bytes each operation of an iteration is above the budget, while more and more is evicted. */
#ifndef SPILLWAY_PLANNER_SHORTAGE_H
#define SPILLWAY_PLANNER_SHORTAGE_H
#include "plan/graph.h"

struct spw_shortage;
/* With nothing evicted: what carries over is there all the time, all else from its first use (what is initial: from the
 * start) to its last. 0 or -ENOMEM. */
int spw_shortage_create(const struct spw_graph *graph, uint64_t budget_bytes, struct spw_shortage **ret_shortage);
void spw_shortage_destroy(struct spw_shortage *shortage); /* NULL is fine */
/* So many bytes less while the operations from <= op < to run. */
void spw_shortage_relieve(struct spw_shortage *shortage, uint32_t from, uint32_t to, uint64_t bytes);
/* The most bytes above the budget among these operations; <= 0: it is kept. */
int64_t spw_shortage_most(const struct spw_shortage *shortage, uint32_t from, uint32_t to);
#endif
