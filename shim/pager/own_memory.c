/* own_memory.c - makes the blocks for a device's stash and the workspace of replays, and room for its ring of digests. */
#include "own_memory.h"

#include <errno.h>

#include "lock.h"
#include "digest.h"
#include "engine.h"
#include "mempool_stats.h"
#include "plan/own.h"
#include "reclaim.h"
#include "stash.h"
#include "unmanaged.h"

/* Makes a block that is resident for good and is no allocation of the program. */
static int make_pinned_unlocking(struct spw_device *d, uint64_t bytes, struct spw_block **ret_block)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b;
    int r = spw_block_create_locked(d, bytes, &b);
    if (r < 0)
        return r;
    b->pool = spw_mempool_stats_of_locked(NULL); /* and no context */
    b->pinned = true;
    r = spw_engine_make_ready_unlocking(d, b);
    if (r < 0)
        spw_retire_block_locked(d, b);
    else
        *ret_block = b;
    return r;
}

int spw_workspace_ready_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b = d->workspace.block, *made;
    const uint64_t bytes = d->workspace.wanted_bytes;
    if (!bytes || (b && b->size_bytes >= bytes))
        return 0;
    if (b)
        return -ENOMEM;
    const int r = make_pinned_unlocking(d, bytes, &made);
    if (r == 0)
        d->workspace.block = made;
    return r;
}

uint64_t spw_workspace_bytes_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_block *b = d->workspace.block;
    const uint64_t granule = (uint64_t)1 << d->granule_shift, bytes = b ? b->size_bytes : d->workspace.wanted_bytes;
    return (bytes + granule - 1) & ~(granule - 1);
}

int spw_stash_ready_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b;
    spw_digest_charge = spw_unmanaged_take_locked;
    if (spw_stash_is_open_locked(d))
        return 0;
    int r = make_pinned_unlocking(d, spw_stash_bytes(d->handles.budget_bytes, (uint64_t)1 << d->granule_shift), &b);
    if (r < 0)
        return r;
    r = spw_stash_open_locked(d, b);
    if (r < 0)
        spw_retire_block_locked(d, b);
    return r;
}

bool spw_own_memory_give_unlocking(struct spw_device *d, uint64_t lacking_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *stash = spw_stash_close_locked(d);
    struct spw_block *workspace = d->workspace.users ? NULL : d->workspace.block;
    if (stash)
        spw_retire_block_locked(d, stash);
    if (workspace) {
        d->workspace.block = NULL;
        spw_retire_block_locked(d, workspace);
    }
    if (stash || workspace)
        return true;
    return lacking_bytes <= spw_digests_bytes_locked(d) && spw_digests_give_unlocking(d) == 0;
}

int spw_digests_open_unlocking(struct spw_device *d, CUcontext context)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t bytes;
    spw_digest_charge = spw_unmanaged_take_locked;
    int r = spw_digests_lacking_locked(d, context, &bytes);
    if (r == 0 && bytes)
        r = spw_reclaim_make(d, bytes);
    return r == 0 ? spw_digests_open_locked(d, context) : r;
}
