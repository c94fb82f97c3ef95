/* again.h - computes how long it takes to run a stage of a chain again, where only the operations needed are run. */
#ifndef SPILLWAY_PLANNER_AGAIN_H
#define SPILLWAY_PLANNER_AGAIN_H
#include "stages/linear.h"

/* Times with the stage's input on the device and no other tensor that the chain moves. */
struct spw_again {
    double walk_us;   /* to make the next stage's input */
    double record_us; /* to make its record */
    double both_us;
};

/* Computes one entry for each stage. Returns 0 or -ENOMEM. */
int spw_chain_again(const struct spw_chain *chain, struct spw_again *ret_again);
#endif
