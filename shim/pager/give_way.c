/* give_way.c - finds out whether spillway's own memory is all that is in the way; if so, gives it back. */
#include "give_way.h"

#include "digest.h"
#include "follower.h"
#include "lock.h"
#include "plan/own.h"
#include "settings.h"
#include "stash.h"

static uint64_t own_bytes(const struct spw_device *d)
{
    const struct spw_block *stash = spw_stash_block_locked(d), *workspace = d->workspace.block;
    return (stash ? spw_block_mapped_bytes(d, stash) : 0) + (workspace ? spw_block_mapped_bytes(d, workspace) : 0) +
           spw_digests_bytes_locked(d);
}

uint64_t spw_give_way_to_come_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t granule = UINT64_C(1) << d->granule_shift, workspace = d->workspace.block ? 0 : d->workspace.wanted_bytes;
    uint64_t digests;
    if (!spw_settings_get()->recompute)
        return 0;
    (void)spw_digests_lacking_locked(d, NULL, &digests);
    return digests + ((workspace + granule - 1) & ~(granule - 1)) +
           (spw_stash_is_open_locked(d) ? 0 : spw_stash_bytes(d->handles.budget_bytes, granule));
}

uint64_t spw_give_way_lacking_locked(const struct spw_device *d, uint64_t needed_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const uint64_t budget = d->handles.budget_bytes, lacking = needed_bytes > budget ? needed_bytes - budget : 0;
    return spw_plan_follower_any && lacking <= own_bytes(d) ? lacking : 0;
}

uint64_t spw_give_way_displaced_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 0; i < d->block_count; i++)
        if (d->blocks[i]->drops && !d->blocks[i]->has_true_copy)
            return 0;
    return spw_plan_follower_any && own_bytes(d) ? UINT64_C(1) << d->granule_shift : 0;
}

/* Nothing is dropped meanwhile, so no dropped block can be left behind that nobody knows how to make any more. */
bool spw_give_way_unlocking(struct spw_device *d, uint64_t lacking_bytes, struct spw_stream *s)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    d->making++;
    const bool gave = spw_follower->give_own_memory_unlocking(d, lacking_bytes, s);
    d->making--;
    return gave;
}

bool spw_give_way_to_unlocking(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t staying = 0, needed;
    for (uint32_t i = 0; i < d->block_count; i++)
        if (spw_give_way_stays(d->blocks[i]))
            staying += (uint64_t)d->blocks[i]->memory.granules << d->granule_shift;
    if (__builtin_add_overflow(staying, bytes, &needed))
        return false;
    const uint64_t lacking = spw_give_way_lacking_locked(d, needed);
    return lacking && spw_give_way_unlocking(d, lacking, NULL);
}
