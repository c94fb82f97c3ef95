/* pofo.h - which inputs and records of a chain stay, which go to the host, and what is recomputed: decided stage by stage.
 *
 * Beaumont, Eyraud-Dubois, Shilova, "Efficient combination of rematerialization and offloading for training DNNs", NeurIPS
 * 2021, section 4: dynamic programming over (stage, bytes that stay, bytes queued to leave, bytes due to be back), with the
 * segments that are recomputed left to rotor.h. Copies are fluid: they leave and return byte by byte beside the computation,
 * each item once. Guaranteed in the paper: the optimum of that class. Here the three amounts of bytes are a grid, and values
 * between its points are interpolated, so that the result is an estimate; whoever uses it times the schedule that it makes.
 *
 * The item before stage i is what its backward needs beside what the stage itself makes: the record of stage i - 1 where
 * that was saved, or else its plain input. */
#ifndef SPILLWAY_PLANNER_POFO_H
#define SPILLWAY_PLANNER_POFO_H
#include <stdbool.h>

#include "stages/rotor.h"

struct spw_pofo_request {
    const struct spw_rotor_stage *stages; /* their first option is used */
    uint32_t count;
    uint64_t bytes;                            /* memory for all that the chain moves */
    double d2h_bytes_per_us, h2d_bytes_per_us; /* 0: no copies that way */
    bool may_replay;
    uint32_t slots, queue_slots; /* of the grid: for what stays; for what is queued */
};

/* For the stage at which a decision is made: 0, and the one behind each `last`. */
struct spw_pofo_choice {
    bool save;    /* it is saved, and `last` is itself; false: stages up to `last` are walked over, and redone later */
    bool offload; /* the item before it goes to the host, and comes back for its backward */
    uint32_t last;
    uint64_t redo_bytes; /* memory that redoing it may take, as spw_rotor_append() has it */
};

/* Fills choices, one for each stage (those of stages inside a segment mean nothing). 0 and the estimate of the whole time;
 * -ENOSPC: no way is seen; -ENOMEM. */
int spw_pofo(const struct spw_pofo_request *request, const struct spw_rotor *rotor, struct spw_pofo_choice *choices,
             double *ret_us);
#endif
