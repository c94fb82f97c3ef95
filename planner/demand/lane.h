/* lane.h - how much of a copy lane's time is taken, and when a copy would begin or end in what is left of it.
 *
 * Time is divided into equal parts, and a copy takes from each what is left there: so copies may share a part, and the lane
 * carries no more than it can. Good enough to choose by; the time line (timeline.h) has the last word. */
#ifndef SPILLWAY_PLANNER_LANE_H
#define SPILLWAY_PLANNER_LANE_H
#include <stdbool.h>
#include <stdint.h>

struct spw_lane {
    double part_us;
    double *left_us; /* of each part */
    uint32_t *skip;  /* for each part: a part before, or behind, which all parts are full; itself: it is not full */
    uint32_t count;
    bool is_backward;
};

/* A lane that is free for so long. Copies that go forward end as early as they can from some time on, those that go backward
 * begin as late as they can to end by some time; one lane has only one kind. 0 or -ENOMEM. */
int spw_lane_init(struct spw_lane *lane, double us, uint32_t parts, bool is_backward);
void spw_lane_clear(struct spw_lane *lane); /* all of it is free again */
void spw_lane_finish(struct spw_lane *lane);
/* Where a copy that takes `us` ends that goes forward from `at_us`, or begins that goes backward from there; beyond the
 * lane's ends there is room for everything. `take`: its time is taken from now on. */
double spw_lane_reach(struct spw_lane *lane, double at_us, double us, bool take);
#endif
