/* timeline.h - when each step of a schedule starts, and what that adds up to: three lanes, memory over time.
 *
 * A schedule is timed in one pass, in the order of its steps (schedule.h says what that order means). */
#ifndef SPILLWAY_PLANNER_TIMELINE_H
#define SPILLWAY_PLANNER_TIMELINE_H
#include "plan/graph.h"
#include "plan/schedule.h"

/* What the time line takes into account besides the graph. All zero, and duplex 1: model S+. */
struct spw_machine {
    uint64_t host_bytes;     /* most bytes of host copies at once; 0: any number */
    double map_us, unmap_us; /* host time to attach or detach the memory of one tensor */
    double launch_us;        /* host time to submit one step */
    uint32_t run_ahead;      /* most steps that the host is ahead of the device; 0: any number */
    double duplex;           /* speed of a copy while one runs in the other direction, as a share: 0 < duplex <= 1 */
    uint64_t chunk_bytes;    /* copies go in pieces of this size, each of which costs chunk_us more; 0: in one piece */
    double chunk_us;
};

struct spw_timing {
    double time_us;     /* the last operation has ended and all lanes are idle */
    double ops_us;      /* the last recorded operation has ended */
    double replayed_us; /* compute time spent in replays */
    double stall_us;    /* time_us in which the compute lane runs nothing */
    uint64_t peak_bytes, host_peak_bytes, d2h_bytes, h2d_bytes;
    size_t replays;
};

struct spw_timer; /* what is worth keeping between two time lines for the same graph */
int spw_timer_create(const struct spw_graph *graph, const struct spw_machine *machine, struct spw_timer **ret_timer);
void spw_timer_destroy(struct spw_timer *timer);
/* As spw_timeline(), without the peaks. The timing is filled in as far as it came where it fails. */
int spw_timer_run(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double *ret_start_us,
                  struct spw_timing *ret_timing, size_t *ret_stuck);

/* The same without the starts, for who wants to know only times up to `limit_us`: as soon as it is certain that the time
 * will be above that, since `work_us` is what all operations and replays of the schedule take together, or since it is with
 * no copy slowed down by another, it says -ETIME. */
int spw_timer_run_within(struct spw_timer *timer, const struct spw_schedule *schedule, uint64_t budget_bytes, double work_us,
                         double limit_us, struct spw_timing *ret_timing);

/* 0; -ENOSPC: step `ret_stuck` does not fit even after all that was dropped before it; -EINVAL: it makes no sense there
 * (reads what is absent, copies in what has no host copy, ...); -ENOMEM. `machine` may be NULL. `ret_start_us`, one number
 * for each step, and `ret_stuck` may be NULL. */
int spw_timeline(const struct spw_graph *graph, const struct spw_schedule *schedule, const struct spw_machine *machine,
                 uint64_t budget_bytes, double *ret_start_us, struct spw_timing *ret_timing, size_t *ret_stuck);
#endif
