/* pofo.h - decides stage by stage which inputs and records of a chain stay, which go to the host, and what is recomputed.
 *
 * Beaumont, Eyraud-Dubois, Shilova, "Efficient combination of rematerialization and offloading for training DNNs", NeurIPS
 * 2021, section 4: dynamic programming over (stage, bytes that stay, bytes queued to leave, bytes due to be back), with the
 * segments that are recomputed left to rotor.h. Copies are fluid: they move byte by byte in parallel with the computation,
 * each item once. Guaranteed in the paper: the optimum of that class. Here the three amounts of bytes are a grid with
 * interpolation between its points, so the result is an estimate; the caller has to time the schedule that it leads to.
 *
 * The item before stage i is what its backward needs besides what the stage itself makes: the record of stage i - 1 if
 * that was saved, or else its plain input. */
#ifndef SPILLWAY_PLANNER_POFO_H
#define SPILLWAY_PLANNER_POFO_H
#include <stdbool.h>

#include "stages/rotor.h"

struct spw_pofo_request {
    const struct spw_rotor_stage *stages; /* their first option is used */
    uint32_t count;
    uint64_t bytes;                            /* memory for everything that the chain moves */
    double d2h_bytes_per_us, h2d_bytes_per_us; /* 0: no copies in that direction */
    bool may_replay;
    uint32_t slots, queue_slots; /* points of the grid: for the bytes that stay; for queued bytes */
};

/* The decision at a stage. Decisions are made at stage 0 and at the stage after each `last`. */
struct spw_pofo_choice {
    /* It is saved, and `last` is itself; false: the stages up to `last` are walked, and run again later. */
    bool save;
    bool offload; /* the item before it goes to the host, and comes back for its backward */
    uint32_t last;
    uint64_t redo_bytes; /* memory that running them again may take, as for spw_rotor_append() */
};

/* Fills choices, one for each stage (those of stages inside a segment mean nothing). Returns 0 and the estimated total
 * time; -ENOSPC: it finds no way; -ENOMEM. */
int spw_pofo(const struct spw_pofo_request *request, const struct spw_rotor *rotor, struct spw_pofo_choice *choices,
             double *ret_us);
#endif
