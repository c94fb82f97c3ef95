/* status_engine.c - the engine's figures, as the status page tells them. */
#include "alloc.h"
#include "engine.h"
#include "hostpool.h"
#include "mover.h"
#include "recorder.h"
#include "status.h"

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
                                       .live_bytes_peak = d->live_bytes_peak};
    }
}

void spw_status_fill_engine(struct spw_status_page *p)
{
    const struct spw_hostpool *pool = spw_mover_hostpool_locked();
    fill_devices(p);
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
