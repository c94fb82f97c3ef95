/* cached_blocks.c - chooses which cached block is given up first. */
#include "cached_blocks.h"

#include <errno.h>

#include "lock.h"
#include "copy_streams.h"
#include "deferred_unmap.h"
#include "retire.h"
#include "uses_wait.h"

static bool is_worth_waiting(const struct spw_block *b, enum spw_patience patience)
{
    if (patience != SPW_PATIENCE_NONE && spw_uses_gated_locked(&b->object.uses))
        return false;
    if (patience == SPW_PATIENCE_COPIES || spw_uses_seen_done_locked(&b->object.uses))
        return true;
    return patience == SPW_PATIENCE_USES && !spw_is_copying_out_locked(b);
}

/* Returns the cached block that is cheapest to give up for `bytes`: one of exactly that size, else the one used longest
 * ago. Sets *ret_busy if another thread is submitting work on a candidate, or is about to. */
static struct spw_block *cheapest_cached(struct spw_device *d, uint64_t bytes, enum spw_patience patience, bool *ret_busy)
{
    struct spw_block *best = NULL;
    uint64_t best_cost = UINT64_MAX;
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (!spw_object_is_cached(&b->object) || !is_worth_waiting(b, patience))
            continue;
        if (b->holds || spw_uses_in_call_locked(&b->object.uses)) {
            *ret_busy = true;
            continue;
        }
        uint64_t cost = spw_object_last_tick(&b->object) + (spw_block_mapped_bytes(d, b) == bytes ? 0 : spw_tick + 1);
        if (cost < best_cost) {
            best = b;
            best_cost = cost;
        }
    }
    return best;
}

int spw_cached_blocks_give_up_unlocking(struct spw_device *d, uint64_t bytes, enum spw_patience patience, bool *ret_busy)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b = NULL;
    for (enum spw_patience p = SPW_PATIENCE_NONE; p <= patience && !b; p++)
        b = cheapest_cached(d, bytes, p, ret_busy);
    if (!b)
        return 0;
    spw_block_uncache_this_locked(d, b);
    b->object.attention |= SPW_FREE; /* in no list, and still owned by nobody */
    int r = d->stale.allowed ? spw_dissolve_block_locked(d, b) : -EBUSY;
    if (r == -EBUSY) {
        b->holds++;
        r = spw_uses_wait_a_while_unlocking(&b->object.uses);
        b->holds--;
        if (r == 0)
            r = spw_dissolve_block_locked(d, b);
    }
    if (r < 0) {
        b->object.attention &= ~(uint32_t)SPW_FREE;
        spw_block_cache_locked(d, b);
        return r;
    }
    return 1;
}

bool spw_cached_blocks_make_locked(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool busy;
    while (spw_phys_pool_room_locked(&d->handles) < bytes)
        if (!d->free_bytes || spw_cached_blocks_give_up_unlocking(d, bytes, SPW_PATIENCE_NONE, &busy) <= 0)
            return false;
    return true;
}

uint32_t spw_cached_block_serves(const struct spw_block *b, uint32_t granules)
{
    uint32_t left = granules;
    for (uint32_t i = 0; i < b->memory.count && left; i++) {
        uint32_t piece = spw_memory_piece(&b->memory, i).granules;
        left -= piece <= left ? piece : 0;
    }
    return granules - left;
}

struct spw_block *spw_cached_blocks_most_suitable_locked(struct spw_device *d, uint32_t granules, enum spw_patience patience)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *best = NULL;
    uint32_t best_served = 0;
    for (uint32_t i = 0; d->free_bytes && i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (!spw_object_is_cached(&b->object) || b->holds || spw_uses_in_call_locked(&b->object.uses) ||
            !is_worth_waiting(b, patience))
            continue;
        uint32_t served = spw_cached_block_serves(b, granules);
        if (served > best_served || (best && served == best_served && b->memory.count < best->memory.count)) {
            best = b;
            best_served = served;
        }
    }
    return best;
}

struct spw_block *spw_cached_blocks_smallest_done_locked(const struct spw_device *d, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *best = NULL;
    for (uint32_t i = 0; d->free_bytes && i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        const bool is_enough = spw_object_is_cached(&b->object) && !b->holds && b->memory.granules >= granules;
        if (is_enough && spw_uses_seen_done_locked(&b->object.uses) && (!best || b->memory.granules < best->memory.granules))
            best = b;
    }
    return best;
}

void spw_cached_blocks_trim_locked(struct spw_device *d, uint64_t keep_bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t i = 0; i < d->block_count && d->free_bytes > keep_bytes;) {
        struct spw_block *b = d->blocks[i];
        if (!spw_object_is_cached(&b->object) || b->holds || !spw_uses_done_locked(&b->object.uses)) {
            i++;
            continue;
        }
        spw_block_uncache_this_locked(d, b);
        if (spw_dissolve_block_locked(d, b) < 0) { /* it stays; the next block to look at has not moved here */
            spw_block_cache_locked(d, b);
            i++;
        }
    }
    const uint64_t keep_pooled_bytes = keep_bytes > d->free_bytes ? keep_bytes - d->free_bytes : 0;
    if (d->handles.pooled_bytes > keep_pooled_bytes)
        spw_unmap_sweep_locked(
            d, 0); /* a piece that is still mapped somewhere would count as device memory until it is unmapped */
    spw_phys_pool_trim_locked(&d->handles, keep_pooled_bytes);
}
