/* lineage.h - what it takes to make a tensor again: which operations would have to be replayed, and for how long. */
#ifndef SPILLWAY_PLANNER_LINEAGE_H
#define SPILLWAY_PLANNER_LINEAGE_H
#include "graph.h"

/* Most operations that one tensor's replay may take, counting those for what is dead by then. */
enum { SPW_LINEAGE_MOST_OPS = 256 };

struct spw_lineage; /* room to work in */
int spw_lineage_create(const struct spw_graph *graph, struct spw_lineage **ret_lineage);
void spw_lineage_destroy(struct spw_lineage *lineage);

/* Time in us to recompute `version` of the tensor just before operation `at`, if whatever is alive there is at hand and all
 * that is dead has to be recomputed as well; < 0: it can't be. `is_at_hand`, one for each tensor, may be NULL: tensors for
 * which it is false have to be recomputed too. `ret_ops` may be NULL: the number of replays. */
double spw_lineage_us(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, uint32_t at, const bool *is_at_hand,
                      uint32_t *ret_ops);
#endif
