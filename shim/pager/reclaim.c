/* reclaim.c - decides what goes when memory is short: cached blocks first, then tensors that need no copy, then the least
 * useful.
 *
 * The choice follows "bytes x distance" without knowing the future. How long nobody used a block stands for how long nobody
 * will (least recently used). That is weighted by how much of the block is really needed (evicting a large tensor for a
 * small one moves bytes for nothing), and by whether its memory fits the newcomer as it is (no other pieces to map). */
#include "reclaim.h"

#include <errno.h>
#include <time.h>

#include "residency.h"
#include "transfers.h"
#include "lock.h"
#include "mover.h"
#include "dependents.h"
#include "now.h"
#include "follower.h"
#include "pool_reserves.h"
#include "clean_check.h"
#include "seek.h"
#include "rematerialiser.h"
#include "slab.h"
#include "deferred_unmap.h"
#include "drop_check.h"
#include "uses_wait.h"

enum { BATCH = 32 }; /* victims whose copies are in flight at once */

bool spw_reclaim_pressed;
struct spw_reclaim_stalls spw_reclaim_stalls;

static int give_up_empty_slab(struct spw_device *d)
{
    struct spw_block *b = spw_slab_remove_empty_locked(d);
    if (!b)
        return 0;
    spw_block_cache_locked(d, b);
    return 1;
}

/* ---- eviction ---- */

static bool may_go(const struct spw_block *b)
{
    return !(b->object.attention & (SPW_ABSENT | SPW_EVICTING)) && !spw_object_is_cached(&b->object) && !b->pinned &&
           !b->suspected && b->holds == 0;
}

static double worth_evicting(const struct spw_device *d, const struct spw_block *b, uint64_t needed)
{
    double mapped = (double)spw_block_mapped_bytes(d, b);
    double worth = (double)(spw_tick - spw_object_last_tick(&b->object) + 1);
    if (mapped > (double)needed)
        worth *= (double)needed / mapped;
    else if (mapped == (double)needed)
        worth *= 2;
    if (!spw_object_dirty(&b->object))
        worth *= 1e6; /* needs no copy */
    if (b->way == SPW_QUEUE_RETURNED)
        worth *= 1e-12; /* it will be used soon: any other goes before it */
    return worth;
}

/* True for a block that only replays use and that can be made again: its bytes need not be kept. Not while other blocks are
 * being made from what is there. */
static bool goes_without_trace(struct spw_device *d, struct spw_block *b)
{
    return b->object.attention & SPW_RETAINED && !d->making && spw_object_dirty(&b->object) && spw_rematerialiser &&
           spw_dependents_can_drop_locked(d, b) && spw_rematerialiser->may_drop(d, b) &&
           spw_rematerialiser->due(d, b) == SPW_DUE_NOT && spw_drop_check_passed_locked(d, b);
}

/* Returns the block to evict next, never a gated one. The host is known to have no room for `host_bytes`. `out_of_use`:
 * only blocks that nobody uses. Sets *ret_busy if another thread is submitting work on a candidate. */
static struct spw_block *choose_victim(struct spw_device *d, uint64_t needed, uint64_t host_bytes, bool out_of_use,
                                       bool *ret_busy)
{
    struct spw_block *best = NULL;
    double best_worth = 0;
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        const bool has_nowhere_to_go = spw_object_dirty(&b->object) && !b->host_copy && b->size_bytes >= host_bytes;
        if (!may_go(b) || (has_nowhere_to_go && !goes_without_trace(d, b)))
            continue;
        double worth = worth_evicting(d, b, needed);
        if (worth <= best_worth || spw_uses_gated_locked(&b->object.uses) ||
            (out_of_use && !spw_uses_done_locked(&b->object.uses)))
            continue;
        if (spw_uses_in_call_locked(&b->object.uses)) {
            *ret_busy = true;
            continue;
        }
        best = b;
        best_worth = worth;
    }
    return best;
}

/* Begins an eviction: a dirty block is copied out, any other needs no copy. The block is held until the eviction is
 * finished. */
static int begin_eviction(struct spw_device *d, struct spw_block *b)
{
    spw_transfer_forget_locked(d, b); /* it may have been prefetched for a use that is still to come */
    int r = spw_clean_check_ask_locked(d, b);
    if (r < 0)
        return r;
    spw_drop_check_leaving_locked(d, b);
    if (goes_without_trace(d, b)) {
        spw_dependents_add_locked(d, b);
        spw_block_become_locked(b, SPW_RESIDENCY_EVICTING);
    } else if (spw_object_dirty(&b->object)) {
        r = spw_mover_copy_out_locked(d, b);
        if (r < 0)
            return r;
    } else {
        spw_block_become_locked(b, SPW_RESIDENCY_EVICTING);
        spw_moved.dropped_count++;
    }
    b->holds++;
    return 0;
}

/* Evicts until `needed` bytes are free or no block is left that could go. Returns 0 if at least one went; sets *ret_busy if
 * a candidate could not be considered. */
static int evict(struct spw_device *d, uint64_t needed, bool *ret_busy)
{
    struct spw_block *going[BATCH];
    unsigned count = 0, gone = 0;
    uint64_t bytes = 0, host_bytes = UINT64_MAX;
    bool out_of_use = false;
    int r = 0;
    while (count < BATCH && bytes < needed) {
        struct spw_block *b = choose_victim(d, needed - bytes, host_bytes, out_of_use, ret_busy);
        if (!b)
            break;
        r = begin_eviction(d, b);
        if (r == -ENOMEM && !b->host_copy && b->size_bytes < host_bytes) {
            host_bytes = b->size_bytes; /* a smaller one may still find room, and a clean one needs none */
            continue;
        }
        if (r == -EBUSY) { /* its copy would keep others from being copied now; it can go once it is seen to be out of use */
            r = 0;
            (void)spw_uses_mark_locked(&b->object.uses);
            if (out_of_use)
                break;
            out_of_use = true;
            continue;
        }
        if (r < 0)
            break;
        going[count++] = b;
        bytes += spw_block_mapped_bytes(d, b);
    }
    int first_failure = count ? 0 : r;
    for (unsigned i = 0; i < count; i++) {
        r = spw_transfer_finish_eviction_unlocking(d, going[i]);
        if (r == 0)
            gone++;
        else if (first_failure == 0 && r != -ETIME) /* that block leaves by itself */
            first_failure = r;
    }
    if (gone)
        return 0;
    if (count == 0 && first_failure == 0)
        return -ENOMEM;
    return first_failure;
}

/* The same. If the host has no room, drops host copies of blocks that stay, to make room for the next try, or gives back
 * what was taken for finding out about the program. */
static int evict_or_spare_unlocking(struct spw_device *d, uint64_t needed, bool *ret_busy)
{
    const uint64_t refused = spw_moved.host_refused_count;
    const int r = evict(d, needed, ret_busy);
    if (r != -ENOMEM || spw_moved.host_refused_count == refused)
        return r;
    int spared = spw_mover_spare_host_copies_unlocking(d, needed);
    if (spared == 0 && spw_plan_follower_any)
        spared = spw_follower->give_host_memory();
    return spared > 0 ? 0 : spared < 0 ? spared : r;
}

/* Waits for the block that will be free next among those that nobody uses any more or that are being evicted; one that is
 * still being copied out comes last. Returns 1 if one is free; 0 if there is none, or, with *ret_busy, none now; -ETIME if
 * the wait took too long; or a failure. */
static int await_idle_unlocking(struct spw_device *d, uint64_t missing, bool *ret_busy)
{
    int r = spw_transfer_reap_locked(d) ? 1 : spw_cached_blocks_give_up_unlocking(d, missing, SPW_PATIENCE_USES, ret_busy);
    if (r == 0)
        r = spw_transfer_wait_unlocking(d);
    return r == 0 ? spw_cached_blocks_give_up_unlocking(d, missing, SPW_PATIENCE_COPIES, ret_busy) : r;
}

/* True if the block has memory although its bytes are elsewhere: the driver has refused to unmap it. */
static bool is_stuck(const struct spw_block *b)
{
    return b->object.attention & SPW_ABSENT && b->memory.count && !b->holds;
}

/* Tries again to unmap such memory, since the driver may not refuse for ever. Waits first for what was submitted on it
 * before. Returns true if any was unmapped. */
static bool reclaim_stuck_unlocking(struct spw_device *d)
{
    bool any = false;
    for (uint32_t i = 0; i < d->block_count; i++) {
        struct spw_block *b = d->blocks[i];
        if (!is_stuck(b) || spw_uses_in_call_locked(&b->object.uses))
            continue;
        b->holds++;
        int r = spw_uses_wait_a_while_unlocking(&b->object.uses);
        b->holds--;
        any |= r == 0 && is_stuck(b) && spw_mover_detach_locked(d, b) == 0;
        if (b->doomed && !b->holds && !is_stuck(b)) { /* freed long ago, or during the wait */
            b->doomed = false;
            spw_retire_block_locked(d, b);
            i--; /* another block has its place */
        }
    }
    return any;
}

uint64_t spw_reclaim_unmovable_bytes_locked(const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < d->block_count; i++)
        if (d->blocks[i]->pinned)
            bytes += (uint64_t)d->blocks[i]->memory.granules << d->granule_shift;
    return bytes;
}

bool spw_reclaim_let_others_finish_unlocking(struct timespec *start)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    enum { SECONDS = 20 };
    struct timespec now, moment = {.tv_nsec = 50000};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!start->tv_sec)
        *start = now;
    spw_unlock();
    (void)nanosleep(&moment, NULL);
    spw_lock();
    return now.tv_sec - start->tv_sec < SECONDS;
}

int spw_reclaim_make_of_idle_unlocking(struct spw_device *d, uint64_t bytes)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_retained_all_sweep_locked(d);
    for (uint64_t room; (room = spw_phys_pool_room_locked(&d->handles)) < bytes;) {
        bool busy;
        const int r = await_idle_unlocking(d, bytes - room, &busy);
        if (r <= 0)
            return r == -ETIME ? 0 : r;
    }
    return 1;
}

/* Takes what is left when no tensor can go. Returns 0 if there was something, -ENOMEM if nothing, -EAGAIN if not now. */
static int give_up_the_rest_unlocking(struct spw_device *d)
{
    if (d->handles.lingering_bytes && spw_unmap_all_unlocking(d) == 0)
        return 0;
    const int r = spw_plan_follower_any ? spw_follower->give_room(d) : 0;
    if (r > 0 || reclaim_stuck_unlocking(d) || spw_pool_reserves_trim_unlocking(d) ||
        spw_phys_pool_ask_again_locked(&d->handles))
        return 0;
    return r < 0 ? r : -ENOMEM;
}

/* True if some block could go once it is not gated any more, or once a use that is not done yet is: its copy might have
 * kept others from being copied until then. */
static bool is_any_gated(struct spw_device *d)
{
    bool any = spw_gated_streams && spw_pool_reserves_pending_locked(d);
    for (uint32_t i = 0; i < d->block_count && !any && spw_gated_streams; i++) {
        struct spw_block *b = d->blocks[i];
        any = (spw_transfer_is_leaving(b) || spw_object_is_cached(&b->object) || may_go(b)) &&
              !spw_uses_done_locked(&b->object.uses);
    }
    return any;
}

/* Takes one step. Returns 0 if there may be more room; -ENOMEM if nothing can go, or, with *ret_busy, not now; or a
 * failure. */
static int take_some_unlocking(struct spw_device *d, uint64_t missing, bool *ret_busy)
{
    if (spw_pool_reserves_trim_locked(d))
        return 0;
    int r = await_idle_unlocking(d, missing, ret_busy);
    if (r != 0)
        return r > 0 ? 0 : r;
    if (give_up_empty_slab(d))
        return 0;
    r = spw_seek_is_blind_locked() ? spw_seek_open_unlocking() : evict_or_spare_unlocking(d, missing, ret_busy);
    if (r == -ENOMEM && spw_seek_pending() && spw_seek_settle_unlocking(false) == 0 && !spw_seek_pending())
        return 0; /* blocks that were suspected may be free to go */
    return r;
}

void spw_reclaim_press_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    __atomic_store_n(&spw_reclaim_pressed, true, __ATOMIC_RELAXED);
    if (spw_follower)
        spw_follower->press(d);
}

static int make_room(struct spw_device *d, uint64_t bytes)
{
    struct timespec start = {0};
    spw_retained_all_sweep_locked(d);
    while (spw_phys_pool_room_locked(&d->handles) < bytes) {
        spw_reclaim_press_locked(d);
        bool busy = false;
        (void)spw_streams_gated_locked(); /* finds out which streams are no longer gated */
        int r = take_some_unlocking(d, bytes - spw_phys_pool_room_locked(&d->handles), &busy);
        if (r == -ETIME)
            continue; /* it counts as gated now; there may be other blocks */
        if (r == -ENOMEM && busy && spw_reclaim_let_others_finish_unlocking(&start))
            continue; /* other threads are in the driver with our candidates, or about to use them */
        if (r == -ENOMEM)
            r = give_up_the_rest_unlocking(d);
        if (r == -EAGAIN && spw_reclaim_let_others_finish_unlocking(&start))
            continue;
        if (r == -ENOMEM && is_any_gated(d)) {
            spw_streams_await_gate_unlocking();
            continue;
        }
        if (r == -ENOMEM && spw_seek_pending()) /* last: a look may have to wait for what the program does next */
            r = spw_seek_settle_unlocking(true);
        if (r < 0)
            return r == -EAGAIN || (r == -ENOMEM && busy) ? -ETIMEDOUT : r;
    }
    return 0;
}

int spw_reclaim_make(struct spw_device *d, uint64_t bytes)
{
    if (spw_phys_pool_room_locked(&d->handles) >= bytes)
        return 0;
    uint64_t began = spw_now_ns();
    spw_waits_begin();
    int r = make_room(d, bytes);
    spw_waits_end();
    spw_reclaim_stalls.count++;
    spw_reclaim_stalls.ns += spw_now_ns() - began;
    return r;
}
