/* replay_run.h - the data of one replay of operations, from its beginning to its end. */
#ifndef SPILLWAY_SHIM_REPLAY_RUN_H
#define SPILLWAY_SHIM_REPLAY_RUN_H
#include "rebuild.h"

struct spw_running_part {    /* a block that the operations touch */
    struct spw_block *block; /* held */
    bool writes;
    bool attached; /* it was given memory to be written anew, and holds nothing yet */
};

struct spw_replay_op {
    struct spw_recorded_op *recorded_op; /* what this operation made is wanted */
    struct spw_rebuild *rebuild;         /* what that takes; its operations are held */
    struct spw_running_part *parts;      /* rebuild->part_count of them */
    bool is_begun;                       /* some operation was submitted */

    /* verify.c */
    unsigned looks; /* times that it was made again to find out why it differed */
    unsigned mismatch_count;
    const struct spw_block *different;
};
#endif
