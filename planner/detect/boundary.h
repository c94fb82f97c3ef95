/* boundary.h - at which of its rotations an iteration begins. */
#ifndef SPILLWAY_PLANNER_BOUNDARY_H
#define SPILLWAY_PLANNER_BOUNDARY_H
#include <stdbool.h>
#include <stdint.h>

#include "detect/history.h"

struct spw_window { /* an iteration in the history: bones [begin, end), events [begin_event, end_event) */
    uint64_t begin, end;
    uint64_t begin_event, end_event;
};

/* The event before which an iteration would begin in the gap before `bone`, the bone's own event at the latest. */
uint64_t spw_boundary_point(const struct spw_history *history, uint64_t bone);

/* The latest whole iteration of `period` bones that ends before bone `end`, given that the two periods before `end` are
 * equal. `phase`: a bone from which on the program is known to repeat itself. `live` tells what is slight. */
struct spw_window spw_boundary_choose(const struct spw_history *history, const struct spw_live *live, uint64_t end,
                                      uint64_t period, uint64_t phase);
#endif
