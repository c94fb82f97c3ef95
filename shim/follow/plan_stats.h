/* plan_stats.h - what planned execution comes to: iterations, bytes and times by plan, for the status page, the summary
 * and the line at the end. Engine lock held in all of these.
 *
 * The engine says when a plan is adopted, when an iteration begins, by which plan, and when the program went another way. */
#ifndef SPILLWAY_SHIM_PLAN_STATS_H
#define SPILLWAY_SHIM_PLAN_STATS_H
#include "ledger.h"
#include "steptime.h"

struct spw_plan_stats {          /* of a device, since the start */
    uint64_t iterations;         /* that were followed from beginning to end, on demand or by plan */
    uint64_t planned_iterations; /* of these: by plan */
    uint64_t plans;              /* adopted, for whatever shape of iteration */
    uint64_t lost;               /* times that an iteration by plan took another course; on demand from there on */
};
extern struct spw_plan_stats spw_plan_stats[SPW_MAX_DEVICES];

/* A plan for iterations of that shape: the time that it predicts for one, how long the operations of the recorded one took
 * by themselves, in all, and the time that no plan is below (0: not known). The number under which its iterations are
 * counted, from 1. */
uint32_t spw_plan_follower_adopt_locked(struct spw_device *d, uint32_t shape, double predicted_us, double ops_us,
                                        double bound_us);

/* The one before is complete, and an iteration of that shape begins with what the calling thread submits to `s` next, by
 * that plan (0: on demand). Its time is taken (steptime.h). */
void spw_plan_follower_begins_locked(struct spw_device *d, const struct spw_stream *s, uint32_t shape, uint32_t plan);

/* The program does something else than the iteration that has begun, or it is not known any more what it does. It
 * `counts` where it was more than the first few operations. */
void spw_plan_follower_lost_locked(struct spw_device *d, bool counts);

/* What one iteration comes to, by the plan of the last one that went by plan. Figures of 0: not known. */
struct spw_plan_follower_step {
    uint32_t plan, shape; /* plan 0: no iteration went by plan yet; the rest is 0 */
    double predicted_us;
    double bound_us;              /* no plan is faster */
    double ops_us;                /* its operations alone, as measured when it was recorded */
    double step_us;               /* measured: mean of the last few by this plan */
    double on_demand_us;          /* the same of the shape's iterations on demand */
    uint64_t out_bytes, in_bytes; /* moved in each, planned and on demand; mean */

    /* The time that its copies take is their bytes at the measured bandwidth, both directions added up. The stalls that they
     * cause are what the step takes longer than its operations by themselves: all of it is put down to copies, so that
     * the share is rather too small. Hidden is what is left of the copies' time without the stalls, as a part of it; 0 where
     * the stalls are longer. */
    double copies_us;
    double hidden_share; /* < 0: not known, or nothing is copied */
};
struct spw_plan_follower_step spw_plan_follower_step_locked(const struct spw_device *d);

/* What iterations by that plan took. */
struct spw_steptime spw_plan_follower_times_locked(const struct spw_device *d, uint32_t plan);
void spw_plan_stats_reset(void); /* for tests */
#endif
