/* linear_parts.h - declares what the files that make a chain of a graph share. */
#ifndef SPILLWAY_PLANNER_LINEAR_PARTS_H
#define SPILLWAY_PLANNER_LINEAR_PARTS_H
#include "stages/linear.h"

/* What the chain has to know about one tensor. Operations are indices; SPW_NO_INDEX: there is none. */
struct spw_chain_tensor {
    uint32_t made;      /* the last operation before the turn that writes it */
    uint32_t last_walk; /* its last use before the turn */
    /* After the turn: the first and the last operation that reads the version at the turn. */
    uint32_t first_read;
    uint32_t last_read;
    uint32_t first_gradient; /* after the turn: the first operation that writes it */
    uint32_t last_use;
};

/* Fills chain->version, and `ret_tensors` with one entry for each tensor. */
void spw_chain_tensors(struct spw_chain *chain, struct spw_chain_tensor *ret_tensors);
/* Fills chain->held: the tensors that have to stay on the device as long as they are in use. Returns 0 or a negative
 * errno. */
int spw_chain_hold_tensors(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* Lists the inputs and records of the stages, whose operation ranges have to be set, and measures them. Returns 0 or a
 * negative errno. */
int spw_chain_measure(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* Finds parts of the stages' records, which have to be listed. Returns 0 or -ENOMEM. */
int spw_chain_find_parts(struct spw_chain *chain, const struct spw_chain_tensor *tensors);
/* Returns the stage whose forward (or, after the turn, backward) range contains the operation, which may not be in the
 * tail. */
uint32_t spw_chain_stage_of(const struct spw_chain *chain, uint32_t op);

/* Returns true if the inputs and records of stages may contain the tensor. */
static inline bool spw_chain_moves(const struct spw_chain *chain, uint32_t tensor)
{
    return !chain->graph->tensors[tensor].persistent && !chain->held[tensor];
}
#endif
