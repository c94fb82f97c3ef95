/* linear_parts.h - what the files that make a chain of a graph say to each other. */
#ifndef SPILLWAY_PLANNER_LINEAR_PARTS_H
#define SPILLWAY_PLANNER_LINEAR_PARTS_H
#include "stages/linear.h"

/* What the chain needs to know of one tensor; operations are indices, SPW_NO_INDEX: there is none. */
struct spw_chain_tensor {
    uint32_t made;       /* the last operation before the turn that writes it */
    uint32_t last_walk;  /* its last use before the turn */
    uint32_t first_read; /* behind the turn: the first and the last operation that reads what it held at the turn */
    uint32_t last_read;
    uint32_t first_gradient; /* behind the turn: the first operation that writes it */
    uint32_t last_use;
};

/* Fills chain->version and `ret_tensors`, one for each tensor. */
void spw_chain_tensors(struct spw_chain *chain, struct spw_chain_tensor *ret_tensors);
/* Fills chain->held: what has to stay on the device as long as it is in use. */
int spw_chain_hold_tensors(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* chain->stages has operation ranges: lists inputs and records, and measures. */
int spw_chain_measure(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* The stages have their records: finds parts of them. 0 or -ENOMEM. */
int spw_chain_find_parts(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* The stage whose forward (or, behind the turn, backward) range contains the operation; not for the tail. */
uint32_t spw_chain_stage_of(const struct spw_chain *chain, uint32_t op);

/* A tensor that the stages' inputs and records may contain. */
static inline bool spw_chain_moves(const struct spw_chain *chain, uint32_t tensor)
{
    return !chain->graph->tensors[tensor].persistent && !chain->held[tensor];
}
#endif
