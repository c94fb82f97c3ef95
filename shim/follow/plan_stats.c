/* plan_stats.c - counts the iterations of each device by the plan that they followed. */
#include "plan_stats.h"

#include <string.h>

#include "bandwidth.h"

enum { PLANS = 16 }; /* plans whose figures are kept: at least the last so many adopted */

/* The step times of planned iterations are kept apart from those of the same shape on demand, and from plan to plan. */
#define BY_PLAN 0x80000000u

struct spw_plan_stats spw_plan_stats[SPW_MAX_DEVICES];

struct plan {
    uint32_t number, shape;
    double predicted_us, ops_us, bound_us;
    uint64_t iterations, out_bytes, in_bytes;
};

static struct device {
    struct plan plans[PLANS]; /* number n is at n % PLANS */
    uint32_t adopted, latest; /* plans adopted; number of the plan that the last planned iteration followed */
    bool running;             /* an iteration has begun and is followed */
    uint32_t running_plan;
    uint64_t out_before, in_before;
} devices[SPW_MAX_DEVICES];

static struct plan *plan_of(struct device *v, uint32_t number)
{
    struct plan *p = &v->plans[number % PLANS];
    return number && p->number == number ? p : NULL;
}

uint32_t spw_plan_follower_adopt_locked(struct spw_device *d, uint32_t shape, double predicted_us, double ops_us,
                                        double bound_us)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    uint32_t number = ++v->adopted;
    v->plans[number % PLANS] = (struct plan){
        .number = number, .shape = shape, .predicted_us = predicted_us, .ops_us = ops_us, .bound_us = bound_us};
    spw_plan_stats[d->ordinal].plans++;
    return number;
}

static void complete(const struct spw_device *d, struct device *v)
{
    struct spw_plan_stats *counts = &spw_plan_stats[d->ordinal];
    struct plan *p = plan_of(v, v->running_plan);
    counts->iterations++;
    if (v->running_plan)
        counts->planned_iterations++;
    if (!p)
        return;
    p->iterations++;
    p->out_bytes += d->out_bytes - v->out_before;
    p->in_bytes += d->in_bytes - v->in_before;
    v->latest = p->number;
}

void spw_plan_follower_begins_locked(struct spw_device *d, const struct spw_stream *s, uint32_t shape, uint32_t plan)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    if (v->running)
        complete(d, v);
    v->running = true;
    v->running_plan = plan;
    v->out_before = d->out_bytes;
    v->in_before = d->in_bytes;
    spw_steptime_begins_locked(d->ordinal, s, plan ? BY_PLAN | plan : shape);
}

void spw_plan_follower_lost_locked(struct spw_device *d, bool counts)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    if (v->running && v->running_plan && counts)
        spw_plan_stats[d->ordinal].lost++;
    v->running = false;
    spw_steptime_broken_locked(d->ordinal);
}

static double hidden_share(const struct spw_plan_follower_step *step)
{
    if (step->copies_us <= 0 || step->step_us <= 0)
        return -1;
    double stalls_us = step->step_us > step->ops_us ? step->step_us - step->ops_us : 0;
    return stalls_us < step->copies_us ? 1 - stalls_us / step->copies_us : 0;
}

struct spw_plan_follower_step spw_plan_follower_step_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct device *v = &devices[d->ordinal];
    const struct plan *p = plan_of(v, v->latest);
    struct spw_bandwidth b;
    if (!p)
        return (struct spw_plan_follower_step){.hidden_share = -1};
    struct spw_plan_follower_step step = {.plan = p->number,
                                          .shape = p->shape,
                                          .predicted_us = p->predicted_us,
                                          .ops_us = p->ops_us,
                                          .bound_us = p->bound_us,
                                          .step_us = spw_steptime_locked(d->ordinal, BY_PLAN | p->number).mean_us,
                                          .on_demand_us = spw_steptime_locked(d->ordinal, p->shape).mean_us,
                                          .out_bytes = p->out_bytes / p->iterations,
                                          .in_bytes = p->in_bytes / p->iterations};
    if (spw_bandwidth_locked(d->ordinal, &b))
        step.copies_us = (double)step.out_bytes / b.d2h_bytes_per_us + (double)step.in_bytes / b.h2d_bytes_per_us;
    step.hidden_share = hidden_share(&step);
    return step;
}

struct spw_steptime spw_plan_follower_times_locked(const struct spw_device *d, uint32_t plan)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_steptime_locked(d->ordinal, BY_PLAN | plan);
}

void spw_plan_stats_reset(void)
{
    memset(spw_plan_stats, 0, sizeof(spw_plan_stats));
    memset(devices, 0, sizeof(devices));
}
