/* probe_snapshot.c - takes scratch and host memory for probes, copies to and from it, and gives it back. */
#include "probe_snapshot.h"

#include "lock.h"
#include "ask.h"
#include "context.h"
#include "driver.h"
#include "engine.h"
#include "hostpool.h"
#include "mover.h"
#include "mempool_stats.h"
#include "result.h"
#include "reclaim.h"

bool spw_probe_snapshot_take_scratch_unlocking(struct spw_probe_snapshot *a, struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b;
    if (a->scratch)
        return true;
    if (spw_block_create_locked(d, bytes, &b) < 0)
        return false;
    b->pool = spw_mempool_stats_of_locked(NULL); /* and no context: it is not an allocation of the program */
    b->pinned = true;
    struct spw_context_guard guard;
    const bool entered = spw_context_enter(&guard, NULL) == 0;
    const int r = spw_engine_make_ready_unlocking(d, b);
    if (entered)
        spw_context_leave(&guard);
    if (r < 0) {
        spw_retire_block_locked(d, b);
        return false;
    }
    a->scratch = b;
    return true;
}

void spw_probe_snapshot_give_scratch_locked(struct spw_probe_snapshot *a, struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (a->scratch)
        spw_retire_block_locked(d, a->scratch);
    a->scratch = NULL;
}

bool spw_probe_snapshot_may_use_host_locked(uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return bytes <= spw_host_memory_limit_locked() / SPW_PROBE_SNAPSHOT_HOST_SHARE;
}

void spw_probe_snapshot_reap_locked(struct spw_probe_snapshot *a)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (!a->host || !spw_uses_done_locked(&a->host_uses))
        return;
    spw_hostpool_give(spw_host_memory_pool_locked(), a->host, a->host_bytes);
    a->host = NULL;
    a->host_bytes = 0;
    a->host_uses = (struct spw_uses){0};
}

bool spw_probe_snapshot_begin_locked(struct spw_probe_snapshot *a, uint64_t host_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    void *host;
    if (!host_bytes)
        return true;
    spw_probe_snapshot_reap_locked(a);
    if (a->host || !spw_probe_snapshot_may_use_host_locked(host_bytes) || spw_host_memory_take_locked(host_bytes, &host) < 0)
        return false;
    a->host = host;
    a->host_bytes = host_bytes;
    return true;
}

static int copy_within(struct spw_stream *s, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return spw_result(SPW_ASK_QUIETLY(cuMemcpyDtoDAsync_v2, to, from, bytes, s->handle));
}

int spw_probe_snapshot_save_locked(struct spw_probe_snapshot *a, struct spw_stream *s, uint64_t place, CUdeviceptr from,
                                   size_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return place & SPW_PROBE_SNAPSHOT_HOST
               ? spw_mover_copy_range_locked(s, from, a->host + (place ^ SPW_PROBE_SNAPSHOT_HOST), bytes, true)
               : copy_within(s, a->scratch->address + place, from, bytes);
}

int spw_probe_snapshot_load_locked(struct spw_probe_snapshot *a, struct spw_stream *s, CUdeviceptr to, uint64_t place,
                                   size_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return place & SPW_PROBE_SNAPSHOT_HOST
               ? spw_mover_copy_range_locked(s, to, a->host + (place ^ SPW_PROBE_SNAPSHOT_HOST), bytes, false)
               : copy_within(s, to, a->scratch->address + place, bytes);
}

void spw_probe_snapshot_used_locked(struct spw_probe_snapshot *a, struct spw_stream *s, uint64_t number)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (a->host)
        spw_uses_add_locked(&a->host_uses, s, number);
    if (a->scratch)
        spw_uses_add_locked(&a->scratch->object.uses, s, number);
}
