/* status_engine.c - the engine's figures, as the status page tells them. */
#include "alloc.h"
#include "arrivals.h"
#include "bandwidth.h"
#include "carry.h"
#include "engine.h"
#include "hostpool.h"
#include "mover.h"
#include "planned_counts.h"
#include "recorder.h"
#include "status.h"

static uint64_t ns(double us)
{
    return us > 0 ? (uint64_t)(us * 1000 + 0.5) : 0;
}

static struct spw_status_planned planned(const struct spw_device *d)
{
    const struct spw_planned_counts *counts = &spw_planned_counts[d->ordinal];
    const struct spw_planned_step step = spw_planned_step_locked(d);
    struct spw_bandwidth b;
    bool measured = spw_bandwidth_locked(d->ordinal, &b);
    return (struct spw_status_planned){.iterations = counts->iterations,
                                       .planned_iterations = counts->planned_iterations,
                                       .plans = counts->plans,
                                       .lost = counts->lost,
                                       .prefetches = spw_arrivals[d->ordinal].used_count,
                                       .prefetches_in_time = spw_arrivals[d->ordinal].in_time_count,
                                       .predicted_ns = ns(step.predicted_us),
                                       .step_ns = ns(step.step_us),
                                       .on_demand_ns = ns(step.on_demand_us),
                                       .out_bytes = step.out_bytes,
                                       .in_bytes = step.in_bytes,
                                       .plan = step.plan,
                                       .hidden_permille = step.hidden_share < 0 ? SPW_STATUS_UNKNOWN
                                                                                : (uint32_t)(step.hidden_share * 1000 + 0.5),
                                       .d2h_bytes_per_s = measured ? (uint64_t)(b.d2h_bytes_per_us * 1e6) : 0,
                                       .h2d_bytes_per_s = measured ? (uint64_t)(b.h2d_bytes_per_us * 1e6) : 0};
}

static void fill_carried(struct spw_status_page *p)
{
    p->left = spw_carried.left_count;
    p->restored = spw_carried.restored_count;
    p->restored_in_time = spw_carried.restored_in_time;
    p->late = spw_carried.late_count;
    p->cancelled = spw_carried.cancelled_count;
    p->failed = spw_carried.failed_count;
}

static void fill_devices(struct spw_status_page *p)
{
    p->device_count = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++) {
        const struct spw_device *d = &spw_devices[i];
        if (!d->ready)
            continue;
        p->devices[p->device_count++] =
            (struct spw_status_device){.ordinal = (uint32_t)d->ordinal,
                                       .budget_bytes = d->handles.budget_bytes + d->foreign_bytes,
                                       .physical_bytes = d->handles.made_bytes + d->foreign_bytes,
                                       .live_bytes = d->live_bytes,
                                       .live_bytes_peak = d->live_bytes_peak,
                                       .planned = planned(d)};
    }
}

void spw_status_fill_engine(struct spw_status_page *p)
{
    const struct spw_hostpool *pool = spw_mover_hostpool_locked();
    fill_devices(p);
    fill_carried(p);
    const struct spw_learned learned = spw_recorder_learned();
    spw_status_fill_learned(p, &learned);
    p->host_limit_bytes = spw_mover_host_limit_locked();
    p->host_held_bytes = pool ? spw_hostpool_bytes_held(pool) : 0;
    p->host_used_bytes = pool ? spw_hostpool_bytes_in_use(pool) : 0;
    p->out_bytes = spw_moved.out_bytes;
    p->in_bytes = spw_moved.in_bytes;
    p->operations = spw_tick;
    p->slow_operations = spw_engine_counts.slow_operations;
    p->refused_operations = spw_engine_counts.refused_operations;
    p->allocations = spw_serials;
    p->refused_allocations = spw_alloc_counts.refused;
    p->cache_hits = spw_alloc_counts.from_cache;
    p->cache_misses = spw_alloc_counts.not_cached;
    p->stalls = spw_room_stalls.count;
    p->stalled_ns = spw_room_stalls.ns;
}
