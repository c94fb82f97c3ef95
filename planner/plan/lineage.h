/* lineage.h - what it takes to make a tensor again: which operations would have to be replayed, and for how long. */
#ifndef SPILLWAY_PLANNER_LINEAGE_H
#define SPILLWAY_PLANNER_LINEAGE_H
#include "plan/graph.h"

/* Most operations that one tensor's replay may take, counting those for what is dead by then. */
enum { SPW_LINEAGE_MOST_OPS = 256 };

struct spw_lineage; /* room to work in */
int spw_lineage_create(const struct spw_graph *graph, struct spw_lineage **ret_lineage);
void spw_lineage_destroy(struct spw_lineage *lineage);

/* The operation whose replay makes `version` of the tensor again; SPW_NO_INDEX: there is none. A side buffer is left alone
 * by the replay of what wrote it. */
uint32_t spw_lineage_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version);

/* The first of the operations that have to be replayed in turn to make `version` of the tensor: the one that does not update
 * it. Those that follow, up to spw_lineage_maker(), are the producers of the versions after that. SPW_NO_INDEX: one of them
 * cannot be replayed. */
uint32_t spw_lineage_first_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version);

/* What may be taken to be at hand when a tensor is recomputed just before operation `at`. */
struct spw_lineage_terms {
    uint32_t at;
    const uint8_t *choices; /* choice.h: what is dead and was retained or stored by choice; NULL: none was */
    uint64_t retain_bytes;  /* dead tensors of at most so many bytes are taken to be retained, and listed */
    bool retain_leaves;     /* those that can't be made again too, whatever their size */
};

/* Time in us to recompute `version` of the tensor, if whatever is alive is at hand, and what is dead has to be recomputed as
 * well, but for what the terms say; < 0: it can't be. The tensors that would have to be retained for that are listed for
 * spw_lineage_retained(). */
double spw_lineage_us(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, const struct spw_lineage_terms *terms);
/* Of the last call; borrowed. */
uint32_t spw_lineage_retained(const struct spw_lineage *lineage, const uint32_t **ret_tensors);
#endif
