/* follower.c - the pointer to the follower. */
#include "follower.h"

const struct spw_follower *spw_follower;
atomic_bool spw_plan_follower_any;
