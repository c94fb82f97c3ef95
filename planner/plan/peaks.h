/* peaks.h - the most bytes at once that a timed schedule takes. */
#ifndef SPILLWAY_PLANNER_PEAKS_H
#define SPILLWAY_PLANNER_PEAKS_H
#include "plan/graph.h"
#include "plan/schedule.h"

/* On the device and in host copies, as the checker counts them, from when each step starts and ends. A host copy
 * counts from the start of the copy out to the end of the last copy in that reads it, or to that of the copy out where none
 * does; those that exist at the start count from the start, and those that have to be there at the end count until then, or
 * until a recorded operation that makes them stale starts. 0 or -ENOMEM. */
int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              const double *end_us, uint64_t *ret_peak_bytes, uint64_t *ret_host_peak_bytes);
#endif
