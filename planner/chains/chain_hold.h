/* chain_hold.h - who still wants which tensor of a chain, while its stages run forward, again and backward.
 *
 * A tensor goes as soon as nobody wants it: no state (the input of a stage) that is held, no record, no operation of the
 * stage at hand. What a state wants shrinks with the part of the chain that is still to be reversed: a tensor that only
 * stages behind that would have read goes although the state is held. */
#ifndef SPILLWAY_PLANNER_CHAIN_HOLD_H
#define SPILLWAY_PLANNER_CHAIN_HOLD_H
#include "plan/builder.h"
#include "stages/linear.h"

struct spw_chain_hold {
    const struct spw_chain *chain;
    struct spw_builder *builder;
    uint32_t end; /* the stages before this one are still to be reversed */
    /* For each tensor: */
    uint32_t *wanted;  /* by so many states and records */
    uint32_t *pending; /* uses by operations of the stage at hand that are still to come */
    uint32_t *reader;  /* held tensors: the first stage that reads it, and has to be able to do so again; or SPW_NO_INDEX */
    uint32_t *states;  /* for each stage: how many hold its input */
};

/* Nothing is held but what can't be made again. 0 or -ENOMEM; finish it in any case. */
int spw_chain_hold_init(struct spw_chain_hold *hold, const struct spw_chain *chain, struct spw_builder *builder);
void spw_chain_hold_finish(struct spw_chain_hold *hold);

/* Whether the state wants the tensor, which is one of the stage's inputs: for a stage of [stage, end), to run or to reverse.
 */
bool spw_chain_state_wants(const struct spw_chain_hold *hold, uint32_t stage, uint32_t tensor);

/* Releases drop what nobody wants any more: 0; -ENOMEM. */
void spw_chain_hold_state(struct spw_chain_hold *hold, uint32_t stage);
int spw_chain_release_state(struct spw_chain_hold *hold, uint32_t stage);
/* What the stage's backward reads of its record and of its input. */
void spw_chain_hold_record(struct spw_chain_hold *hold, uint32_t stage);
int spw_chain_release_record(struct spw_chain_hold *hold, uint32_t stage);
/* An operation of the stage at hand is going to run, or has run. */
void spw_chain_hold_reads(struct spw_chain_hold *hold, uint32_t op);
int spw_chain_release_reads(struct spw_chain_hold *hold, uint32_t op);
/* Drops what operation `op` touched, if nobody wants it. */
int spw_chain_let_go(struct spw_chain_hold *hold, uint32_t op);

/* The stages from `end` on have been reversed. */
int spw_chain_shrink(struct spw_chain_hold *hold, uint32_t end);
/* Stages [first, end) are run for the last time, and `stage` has been: what can't be made again is not needed for replays
 * once neither later ones of them nor any before `first` read it. */
int spw_chain_release_held(struct spw_chain_hold *hold, uint32_t stage, uint32_t first, uint32_t end);
#endif
