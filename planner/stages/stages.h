/* stages.h - executes a schedule of a chain's stages on the graph: turns actions on stages into steps of the builder.
 *
 * The runner tracks which stages' inputs and records are stored. A tensor is dropped as soon as nothing that is stored
 * contains it and no operation of the running stage needs it any more. Actions are executed as far as they are legal.
 * After an illegal one the steps written so far remain a valid beginning. */
#ifndef SPILLWAY_PLANNER_STAGES_H
#define SPILLWAY_PLANNER_STAGES_H
#include "plan/builder.h"
#include "stages/linear.h"

enum spw_stage_act {
    SPW_ACT_WALK,       /* forward; its input is forgotten, the next stage's input is stored */
    SPW_ACT_KEEP,       /* forward; its input stays stored (a checkpoint) */
    SPW_ACT_SAVE,       /* forward; its input stays stored, and its record too */
    SPW_ACT_BACK,       /* backward; its record and the next stage's input are forgotten */
    SPW_ACT_OUT,        /* begins to copy its input to the host; it stays on the device until SPW_ACT_FORGET */
    SPW_ACT_FORGET,     /* drops its input from the device; a host copy stays */
    SPW_ACT_IN,         /* begins to copy its input back from the host; from then on it is stored */
    SPW_ACT_OUT_RECORD, /* the same three for its record */
    SPW_ACT_FORGET_RECORD,
    SPW_ACT_IN_RECORD,
};

struct spw_stage_action {
    uint32_t act; /* enum spw_stage_act */
    uint32_t stage;
    /* SPW_ACT_SAVE: 0: the whole record; n: only what the stage's part n - 1 keeps, and SPW_ACT_BACK makes the rest. */
    uint32_t part;
};

/* Starts with an empty builder and stage 0's input stored, and executes all `actions`, then the tail and the end. The
 * forward of a stage consists of recorded operations the first time and of replays later. There has to be one backward
 * for each stage, last to first. Returns 0; -ENOSPC: something did not fit; -EINVAL: an action is not possible in its
 * place, or something is left to do; -ENOMEM. `ret_action`, if not NULL, gets the action that failed (the number of
 * actions: the tail). */
int spw_stages_run(const struct spw_chain *chain, struct spw_builder *builder, const struct spw_stage_action *actions,
                   size_t count, size_t *ret_action);
#endif
