/* lane.h - tracks how much of a copy lane's time is taken, and finds when a copy could begin or end in the rest.
 *
 * Time is divided into equal parts, and a copy takes what is left of each. So copies may share a part, and the lane
 * carries no more than it can. That is accurate enough for choices; the time line (timeline.h) decides. */
#ifndef SPILLWAY_PLANNER_LANE_H
#define SPILLWAY_PLANNER_LANE_H
#include <stdbool.h>
#include <stdint.h>

struct spw_lane {
    double part_us;
    double *left_us; /* of each part */
    /* For each part: an earlier or later part up to which all parts are full; itself: it is not full. */
    uint32_t *skip;
    uint32_t count;
    bool is_backward;
};

/* Makes a lane that is free for `us`. On a forward lane, copies end as early as they can from a given time on; on a
 * backward lane, they begin as late as they can to end by a given time. Returns 0 or -ENOMEM. */
int spw_lane_init(struct spw_lane *lane, double us, uint32_t parts, bool is_backward);
void spw_lane_clear(struct spw_lane *lane); /* makes all of it free */
void spw_lane_finish(struct spw_lane *lane);
/* Returns where a copy of `us` that starts at `at_us` or later ends, or, on a backward lane, where one that ends by
 * `at_us` begins. Beyond the ends of the lane there is always room. `take`: its time is taken. */
double spw_lane_reach(struct spw_lane *lane, double at_us, double us, bool take);
#endif
