/* timeline.h - computes when each step of a schedule starts, how long the iteration takes and how much memory it uses.
 *
 * A schedule is timed in one pass, in the order of its steps (schedule.h says what that order means). */
#ifndef SPILLWAY_PLANNER_TIMELINE_H
#define SPILLWAY_PLANNER_TIMELINE_H
#include "plan/graph.h"
#include "plan/schedule.h"

/* The costs and limits of a machine. All zero, except duplex 1: model S+. */
struct spw_machine {
    uint64_t host_bytes;     /* most bytes of host copies at once; 0 or UINT64_MAX: no limit */
    double map_us, unmap_us; /* host time to map or unmap the memory of one tensor */
    double launch_us;        /* host time to submit one step */
    uint32_t run_ahead;      /* most steps that the host is ahead of the device; 0: no limit */
    /* Speed of a copy while another runs in the other direction, as a share: 0 < duplex <= 1. */
    double duplex;
    /* Copies are split into pieces of this size, each of which costs chunk_us more; 0: not split. */
    uint64_t chunk_bytes;
    double chunk_us;
};

struct spw_timing {
    double time_us;     /* when the last operation has ended and all lanes are idle */
    double ops_us;      /* when the last recorded operation has ended */
    double replayed_us; /* compute time spent in replays */
    double stall_us;    /* the part of time_us in which the compute lane is idle */
    uint64_t peak_bytes, host_peak_bytes, d2h_bytes, h2d_bytes;
    size_t replays;
};

struct spw_timer; /* memory reused between time lines of the same graph */
int spw_timer_create(const struct spw_graph *graph, const struct spw_machine *machine, struct spw_timer **ret_timer);
void spw_timer_destroy(struct spw_timer *timer);
/* Times a schedule as spw_timeline() does, without the peaks. If it fails, `ret_timing` covers the steps up to the
 * failure. */
int spw_timer_run(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double *ret_start_us,
                  struct spw_timing *ret_timing, size_t *ret_stuck);

/* Times a schedule without returning the starts, for a caller that only needs times up to `limit_us`. `work_us` is the
 * sum of the durations of the schedule's operations and replays. Returns -ETIME as soon as the time is certain to exceed
 * the limit: because of the work that the compute lane has left, or because the schedule exceeds it even with no copy
 * slowed down by another. */
int spw_timer_run_within(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double work_us,
                         double limit_us, struct spw_timing *ret_timing);

/* Times a schedule. Returns 0; -ENOSPC: step `ret_stuck` does not fit, even after all drops before it; -EINVAL: the step
 * is not possible there (it reads an absent tensor, copies in without a host copy, ...); -ENOMEM. `machine` may be NULL.
 * `ret_start_us`, one number for each step, and `ret_stuck` may be NULL. */
int spw_timeline(const struct spw_graph *graph, const struct spw_schedule *schedule, const struct spw_machine *machine,
                 uint64_t budget_bytes, double *ret_start_us, struct spw_timing *ret_timing, size_t *ret_stuck);
#endif
