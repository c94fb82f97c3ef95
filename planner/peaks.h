/* peaks.h - the most bytes at once that a timed schedule takes. */
#ifndef SPILLWAY_PLANNER_PEAKS_H
#define SPILLWAY_PLANNER_PEAKS_H
#include "timeline.h"

/* Fills in peak_bytes and host_peak_bytes; `start_us` is what the timer gave. Host copies count as docs/planning.md says,
 * with copies as long as the graph has them. 0 or -ENOMEM. */
int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              struct spw_timing *timing);
#endif
