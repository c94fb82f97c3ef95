/* replay_run.h - operations that run again to make one thing, from their beginning to their end, as data. */
#ifndef SPILLWAY_SHIM_REPLAY_RUN_H
#define SPILLWAY_SHIM_REPLAY_RUN_H
#include "rebuild.h"

struct spw_running_part {    /* a block that they touch */
    struct spw_block *block; /* held */
    bool writes;
    bool attached; /* it was given memory to be written anew, and holds nothing yet */
};

struct spw_replay_op {
    struct spw_recorded_op *recorded_op; /* whose making is wanted */
    struct spw_rebuild *rebuild;         /* what that takes; the operations are held */
    struct spw_running_part *parts;      /* rebuild->part_count of them */
    bool is_begun;                       /* some of it was submitted */

    /* verify.c */
    unsigned looks; /* it differed, and was made so often again to find out why */
    unsigned mismatch_count;
    const struct spw_block *different;
};
#endif
