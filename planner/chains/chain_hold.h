/* chain_hold.h - counts what still needs which tensor of a chain, while its stages run forward, again and backward.
 *
 * A tensor is dropped as soon as nothing needs it: no held state (the input of a stage), no record, and no operation of
 * the current stage. A state needs less as the part of the chain that is still to be reversed shrinks: a tensor that
 * only stages after that part would have read is dropped although the state is held. */
#ifndef SPILLWAY_PLANNER_CHAIN_HOLD_H
#define SPILLWAY_PLANNER_CHAIN_HOLD_H
#include "plan/builder.h"
#include "stages/linear.h"

struct spw_chain_hold {
    const struct spw_chain *chain;
    struct spw_builder *builder;
    uint32_t end; /* the stages before this one are still to be reversed */
    /* For each tensor: */
    uint32_t *wanted;  /* number of states and records that need it */
    uint32_t *pending; /* number of uses to come by operations of the current stage */
    /* Of held tensors: the first stage that reads it and has to be able to do so again; else SPW_NO_INDEX. */
    uint32_t *reader;
    uint32_t *states; /* for each stage: number of holds on its input */
};

/* Starts with only tensors held that cannot be made again. Returns 0 or -ENOMEM; call spw_chain_hold_finish() in any
 * case. */
int spw_chain_hold_init(struct spw_chain_hold *hold, const struct spw_chain *chain, struct spw_builder *builder);
void spw_chain_hold_finish(struct spw_chain_hold *hold);

/* Returns true if the state needs the tensor, one of the stage's inputs, to run or reverse a stage of [stage, end). */
bool spw_chain_state_wants(const struct spw_chain_hold *hold, uint32_t stage, uint32_t tensor);

/* Hold or release the stage's state. The release functions drop tensors that nothing needs any more and return 0 or
 * -ENOMEM. */
void spw_chain_hold_state(struct spw_chain_hold *hold, uint32_t stage);
int spw_chain_release_state(struct spw_chain_hold *hold, uint32_t stage);
/* Hold or release what the stage's backward reads of its record and of its input. */
void spw_chain_hold_record(struct spw_chain_hold *hold, uint32_t stage);
int spw_chain_release_record(struct spw_chain_hold *hold, uint32_t stage);
/* To be called before and after an operation of the current stage runs. */
void spw_chain_hold_reads(struct spw_chain_hold *hold, uint32_t op);
int spw_chain_release_reads(struct spw_chain_hold *hold, uint32_t op);
/* Drops the tensors that operation `op` touched if nothing needs them. */
int spw_chain_let_go(struct spw_chain_hold *hold, uint32_t op);

/* Records that the stages from `end` on have been reversed. */
int spw_chain_shrink(struct spw_chain_hold *hold, uint32_t end);
/* Records that `stage` has run, of the stages [first, end) that run for the last time. A tensor that cannot be made again
 * is released once neither later ones of them nor any stage before `first` reads it. */
int spw_chain_release_held(struct spw_chain_hold *hold, uint32_t stage, uint32_t first, uint32_t end);
#endif
