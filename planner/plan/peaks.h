/* peaks.h - computes the most bytes that a timed schedule uses at once. */
#ifndef SPILLWAY_PLANNER_PEAKS_H
#define SPILLWAY_PLANNER_PEAKS_H
#include "plan/graph.h"
#include "plan/schedule.h"

/* Computes the peaks on the device and of the host copies, counted as the checker does, from the start and end of each
 * step. A host copy counts from the start of the copy out to the end of the last copy in that reads it, or to the end of
 * the copy out if none does. Host copies that exist at the start count from the start. Those that have to exist at the
 * end count until the end, or until the start of a recorded operation that makes them stale. Returns 0 or -ENOMEM. */
int spw_peaks(const struct spw_graph *graph, const struct spw_schedule *schedule, const double *start_us,
              const double *end_us, uint64_t *ret_peak_bytes, uint64_t *ret_host_peak_bytes);
#endif
