/* status_engine.c - collects the engine's figures for the status page. */
#include "status_engine.h"

#include <string.h>

#include "alloc_parts.h"
#include "arrivals.h"
#include "bandwidth.h"
#include "transfers.h"
#include "engine.h"
#include "hostpool.h"
#include "mover.h"
#include "plan_stats.h"
#include "clean_check.h"
#include "recorder.h"
#include "refusals.h"
#include "replay.h"
#include "status.h"
#include "verify.h"

static uint64_t ns(double us)
{
    return us > 0 ? (uint64_t)(us * 1000 + 0.5) : 0;
}

static struct spw_status_planned planned(const struct spw_device *d)
{
    const struct spw_plan_stats *counts = &spw_plan_stats[d->ordinal];
    const struct spw_plan_follower_step step = spw_plan_follower_step_locked(d);
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
    p->left = spw_transfer_counts.left_count;
    p->restored = spw_transfer_counts.restored_count;
    p->restored_in_time = spw_transfer_counts.restored_in_time;
    p->late = spw_transfer_counts.late_count;
    p->cancelled = spw_transfer_counts.cancelled_count;
    p->failed = spw_transfer_counts.failed_count;
}

static void fill_recomputed(struct spw_status_page *p)
{
    const struct spw_replayed *r = &spw_replayed;
    const struct spw_verified *v = &spw_verified;
    p->recomputed =
        (struct spw_status_recomputed){.dropped = spw_transfer_counts.dropped_count,
                                       .dropped_bytes = spw_transfer_counts.dropped_bytes,
                                       .by_plan = r->count[SPW_REPLAY_PLAN],
                                       .by_plan_bytes = r->bytes[SPW_REPLAY_PLAN],
                                       .on_demand = r->count[SPW_REPLAY_DEMAND],
                                       .rescued = r->count[SPW_REPLAY_RESCUE],
                                       .operations = r->submitted_count,
                                       .failed = r->failed_count,
                                       .equal = v->equal_count,
                                       .mismatches = v->mismatch_count,
                                       .unanswered = v->unanswered_count,
                                       .repaired = v->repaired_count,
                                       .lost = v->lost_count,
                                       .proven = spw_clean_check_counts.proven_count,
                                       .refuted = spw_launch_classes_refuted_count,
                                       .unproven = spw_clean_check_counts.unproven_count,
                                       .kept_bytes = spw_recorded_op_counts.bytes,
                                       .kept_bytes_peak = spw_recorded_op_counts.bytes_peak,
                                       .kept_bytes_limit = spw_settings_get()->recompute ? SPW_RECORDED_OPS_MAX_BYTES : 0};
}

static void list_refusals(struct spw_status_page *p, const struct spw_device *d)
{
    const struct spw_refusals *r = d->refusals;
    for (uint32_t i = 0; r && i < r->count; i++) {
        if (p->refusal_count == SPW_STATUS_REFUSALS) {
            p->refusals_left_out++;
            continue;
        }
        struct spw_status_refusal *it = &p->refusals[p->refusal_count++];
        *it = (struct spw_status_refusal){.device = (uint32_t)d->ordinal,
                                          .verdict = r->list[i].verdict,
                                          .operations = r->list[i].operations,
                                          .bytes = r->list[i].bytes};
        memcpy(it->kernel, r->list[i].kernel, SPW_STATUS_KERNEL);
    }
    p->refusals_left_out += r ? r->left_out : 0;
}
_Static_assert((int)SPW_STATUS_KERNEL == (int)SPW_REFUSAL_KERNEL, "a name fits");

/* They seldom change. */
static void fill_refusals(struct spw_status_page *p)
{
    if (p->refusals_version == spw_refusals_changes)
        return;
    p->refusals_version = spw_refusals_changes;
    p->refusal_count = p->refusals_left_out = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        if (spw_devices[i].ready)
            list_refusals(p, &spw_devices[i]);
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
    const struct spw_hostpool *pool = spw_host_memory_pool_locked();
    fill_devices(p);
    fill_carried(p);
    fill_recomputed(p);
    fill_refusals(p);
    const struct spw_traced_iteration learned = spw_recorder_learned();
    spw_recorder_fill_status(p, &learned);
    p->host_limit_bytes = spw_host_memory_limit_locked();
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
    p->stalls = spw_reclaim_stalls.count;
    p->stalled_ns = spw_reclaim_stalls.ns;
}
