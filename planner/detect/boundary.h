/* boundary.h - chooses at which of its rotations an iteration begins. */
#ifndef SPILLWAY_PLANNER_BOUNDARY_H
#define SPILLWAY_PLANNER_BOUNDARY_H
#include <stdbool.h>
#include <stdint.h>

#include "detect/history.h"

struct spw_window { /* an iteration in the history: bones [begin, end), events [begin_event, end_event) */
    uint64_t begin, end;
    uint64_t begin_event, end_event;
};

/* Returns the event before which an iteration would begin in the gap before `bone`; at the latest the bone's own event. */
uint64_t spw_boundary_point(const struct spw_history *history, uint64_t bone);

/* Returns the latest whole iteration of `period` bones that ends before bone `end`. The two periods before `end` have to
 * be equal. `phase`: a bone from which on the program is known to repeat itself. `live` defines which allocations are
 * slight. */
struct spw_window spw_boundary_choose(const struct spw_history *history, const struct spw_live *live, uint64_t end,
                                      uint64_t period, uint64_t phase);
#endif
