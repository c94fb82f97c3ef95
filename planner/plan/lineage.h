/* lineage.h - finds what it takes to recompute a tensor: which operations have to be replayed, and how long they take. */
#ifndef SPILLWAY_PLANNER_LINEAGE_H
#define SPILLWAY_PLANNER_LINEAGE_H
#include "plan/graph.h"

/* Most operations for the recomputation of one tensor, including those for dead tensors that it needs. */
enum { SPW_LINEAGE_MOST_OPS = 256 };

struct spw_lineage; /* working memory */
int spw_lineage_create(const struct spw_graph *graph, struct spw_lineage **ret_lineage);
void spw_lineage_destroy(struct spw_lineage *lineage);

/* Returns the operation whose replay makes `version` of the tensor, or SPW_NO_INDEX. A replay does not write the side
 * buffers of its operation. */
uint32_t spw_lineage_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version);

/* Returns the first of the operations that have to be replayed in turn to make `version` of the tensor: the one that
 * writes the tensor without updating it. The others, up to spw_lineage_maker(), are the producers of the versions after
 * that. Returns SPW_NO_INDEX if one of them cannot be replayed. */
uint32_t spw_lineage_first_maker(const struct spw_graph *graph, uint32_t tensor, uint32_t version);

/* Which tensors count as available when a tensor is recomputed just before operation `at`. */
struct spw_lineage_terms {
    uint32_t at;
    const uint8_t *choices; /* choice.h: which dead tensors are retained or stored; NULL: none */
    uint64_t retain_bytes;  /* dead tensors of at most this size count as retained, and are listed */
    bool retain_leaves;     /* so do dead tensors of any size that cannot be recomputed */
};

/* Returns the time in us to recompute `version` of the tensor; < 0: it cannot be recomputed. All tensors that are alive
 * count as available, and dead ones have to be recomputed too unless the terms say otherwise. The tensors that would have
 * to be retained are listed for spw_lineage_retained(). */
double spw_lineage_us(struct spw_lineage *lineage, uint32_t tensor, uint32_t version, const struct spw_lineage_terms *terms);
/* Returns the number of tensors listed by the last call of spw_lineage_us(). The array belongs to `lineage`. */
uint32_t spw_lineage_retained(const struct spw_lineage *lineage, const uint32_t **ret_tensors);
#endif
