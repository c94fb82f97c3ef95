/* lineage.h - what it takes to make a tensor again: which operations would have to be replayed, and for how long. */
#ifndef SPILLWAY_PLANNER_LINEAGE_H
#define SPILLWAY_PLANNER_LINEAGE_H
#include "graph.h"

/* Most operations that one tensor's replay may take, counting those for what is dead by then. */
enum { SPW_LINEAGE_MOST_OPS = 256 };

struct spw_lineage; /* room to work in */
int spw_lineage_create(const struct spw_graph *graph, struct spw_lineage **ret_lineage);
void spw_lineage_destroy(struct spw_lineage *lineage);

/* Time in us to recompute `version` of the tensor just before operation `at`, if whatever is alive there is at hand, what is
 * dead and was retained or stored by choice too, and all else that is dead has to be recomputed as well; < 0: it can't be.
 * `choices` (compose.h) may be NULL: what is dead and can't be made again then counts as retained. */
double spw_lineage_us(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, uint32_t at, const uint8_t *choices);
#endif
