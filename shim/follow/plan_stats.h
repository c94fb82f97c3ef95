/* plan_stats.h - counts iterations, bytes and times by plan, for the status page, the summary and the line at the end.
 * Engine lock held in all functions.
 *
 * The callers report when a plan is adopted, when an iteration begins and by which plan, and when the program went another
 * way. */
#ifndef SPILLWAY_SHIM_PLAN_STATS_H
#define SPILLWAY_SHIM_PLAN_STATS_H
#include "ledger.h"
#include "steptime.h"

struct spw_plan_stats {          /* of a device, since the start of the process */
    uint64_t iterations;         /* followed from beginning to end, on demand or by plan */
    uint64_t planned_iterations; /* of these: by plan */
    uint64_t plans;              /* plans adopted, for iterations of any shape */
    uint64_t lost;               /* iterations by plan that left the course, and went on by demand from there */
};
extern struct spw_plan_stats spw_plan_stats[SPW_MAX_DEVICES];

/* Adopts a plan for iterations of that shape: `predicted_us` is the time that it predicts for one, `ops_us` how long the
 * operations of the recorded one took by themselves in all, `bound_us` the time that no plan is below (0: not known).
 * Returns the number under which its iterations are counted, from 1. */
uint32_t spw_plan_follower_adopt_locked(struct spw_device *d, uint32_t shape, double predicted_us, double ops_us,
                                        double bound_us);

/* Call when an iteration of that shape begins with what the calling thread submits to `s` next, by that plan (0: on
 * demand), and the one before is complete. Its time is measured (steptime.h). */
void spw_plan_follower_begins_locked(struct spw_device *d, const struct spw_stream *s, uint32_t shape, uint32_t plan);

/* Call when the program does something other than the iteration that has begun, or it is no longer known what it does. It
 * `counts` as lost if it was more than the first few operations. */
void spw_plan_follower_lost_locked(struct spw_device *d, bool counts);

/* The figures of one iteration, by the plan of the last one that went by plan; 0: not known. */
struct spw_plan_follower_step {
    uint32_t plan, shape; /* plan 0: no iteration went by plan yet; the rest is 0 */
    double predicted_us;
    double bound_us;              /* no plan is faster */
    double ops_us;                /* its operations alone, as measured when it was recorded */
    double step_us;               /* measured: mean of the last few by this plan */
    double on_demand_us;          /* the same for the shape's iterations on demand */
    uint64_t out_bytes, in_bytes; /* mean bytes moved in each, planned and on demand */

    /* The time of its copies is their bytes at the measured bandwidth, both directions added up. The stalls that they cause
     * are what the step takes longer than its operations by themselves: all of that is put down to copies, so the share is
     * rather too small. The hidden share is the part of the copies' time that is left without the stalls; 0 if the stalls
     * are longer. */
    double copies_us;
    double hidden_share; /* < 0: not known, or nothing is copied */
};
struct spw_plan_follower_step spw_plan_follower_step_locked(const struct spw_device *d);

/* Returns the times of iterations by that plan. */
struct spw_steptime spw_plan_follower_times_locked(const struct spw_device *d, uint32_t plan);
void spw_plan_stats_reset(void); /* for tests */
#endif
