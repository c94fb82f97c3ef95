/* peaks.h - the most bytes at once that a timed schedule takes. */
#ifndef SPILLWAY_PLANNER_PEAKS_H
#define SPILLWAY_PLANNER_PEAKS_H
#include "timeline.h"

/* Fills in peak_bytes and host_peak_bytes; `start_us` is what the timer gave. A host copy counts from the start of the copy
 * out, in the order of the steps, until a write makes it stale or its tensor has been used for the last time. 0 or -ENOMEM.
 */
int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              struct spw_timing *timing);
#endif
