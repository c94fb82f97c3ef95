/* follower.c - who follows the program, if anybody does. */
#include "follower.h"

const struct spw_follower *spw_follower;
atomic_bool spw_plan_follower_any;
