/* drift.c - looks at step times now and then, and at the speed of copies if these have changed. */
#include "drift.h"

#include <math.h>

#include "arrivals.h"
#include "bandwidth.h"
#include "log.h"
#include "plan_stats.h"

enum {
    LOOK_EVERY = 6, /* iterations between looks, so that none counts twice */
    STRANGE = 2,    /* looks that must agree */
    RESTS = 64,     /* iterations after copies were measured again, which takes two events for each, for a while */
};
static const double CHANGED = 0.02; /* share by which a step differs from what it was */
static const double LATE = 0.01;    /* share of a step that counts as much */
static const double OTHER = 0.08;   /* share by which speed differs from what a plan was made with */

static bool differs(double value, double from, double share)
{
    return fabs(value - from) > share * from;
}

static bool is_another_link(const struct spw_device *d, struct spw_course_plan *plan)
{
    struct spw_bandwidth now;
    if (!spw_bandwidth_locked(d->ordinal, &now) || (!differs(now.h2d_bytes_per_us, plan->h2d_bytes_per_us, OTHER) &&
                                                    !differs(now.d2h_bytes_per_us, plan->d2h_bytes_per_us, OTHER)))
        return false;
    spw_info("device %d: copies go at %.0f MB/s to the host and %.0f MB/s back, where a plan was made for %.0f and %.0f: "
             "planning anew",
             d->ordinal, now.d2h_bytes_per_us, now.h2d_bytes_per_us, plan->d2h_bytes_per_us, plan->h2d_bytes_per_us);
    plan->d2h_bytes_per_us = now.d2h_bytes_per_us;
    plan->h2d_bytes_per_us = now.h2d_bytes_per_us;
    return true;
}

/* True if steps take another time than they did, or much of what they need came late since the last look. */
static bool is_strange(struct spw_drift *drift, const struct spw_device *d, double step_us)
{
    const double late_us = spw_arrivals[d->ordinal].late_us - drift->late_us;
    drift->late_us += late_us;
    return differs(step_us, drift->usual_us, CHANGED) || late_us > LATE * step_us * LOOK_EVERY;
}

bool spw_drift_iteration_locked(struct spw_drift *drift, const struct spw_device *d, struct spw_course_plan *plan,
                                uint32_t number, double usual_us, double *ret_step_us)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (drift->plan != number)
        *drift = (struct spw_drift){.plan = number, .usual_us = usual_us, .late_us = spw_arrivals[d->ordinal].late_us};
    drift->resting -= drift->resting > 0;
    if (!number || drift->resting || ++drift->iterations < LOOK_EVERY)
        return false;
    const struct spw_steptime times = spw_plan_follower_times_locked(d, number);
    if (times.count < LOOK_EVERY || (drift->doubts && spw_bandwidth_in_doubt_locked(d->ordinal)))
        return false;
    drift->iterations = 0;
    if (drift->usual_us <= 0)
        drift->usual_us = times.median_us;
    drift->strange = is_strange(drift, d, times.median_us) ? drift->strange + 1 : 0;
    if (drift->doubts) {
        drift->doubts = false;
        drift->resting = RESTS;
        drift->strange = 0;
        drift->usual_us = *ret_step_us = times.median_us;
        return is_another_link(d, plan);
    }
    if (drift->strange < STRANGE)
        return false;
    drift->doubts = true;
    spw_bandwidth_doubt_locked(d->ordinal);
    return false;
}
