/* transfers.c - takes blocks through the queues: those that are being evicted, and those that wait to be brought in. */
#include "transfers.h"

#include <errno.h>
#include <string.h>

#include "lock.h"
#include "arrivals.h"
#include "cached_blocks.h"
#include "context.h"
#include "result.h"
#include "mover.h"
#include "dependents.h"
#include "now.h"
#include "clean_check.h"
#include "rematerialiser.h"
#include "residency.h"
#include "seek.h"
#include "deferred_unmap.h"
#include "drop_check.h"

/* ---- out ---- */

/* Returns 0 if it may leave; -EBUSY if not yet; 1 if there is nothing to evict, or the block stays. */
static int may_not_leave(const struct spw_block *b)
{
    if (b->object.attention & (SPW_ABSENT | SPW_EVICTING) || spw_object_is_cached(&b->object) || b->pinned || b->doomed ||
        spw_seek_is_blind_locked())
        return 1;
    return b->suspected || b->holds ? -EBUSY : 0;
}

static bool may_leave(const struct spw_block *b)
{
    return may_not_leave(b) == 0;
}

/* The eviction completes by itself. A block that needs no copy does not wait for copies. */
static void enqueue(struct spw_device *d, struct spw_block *b, bool copied)
{
    if (copied || (!b->drops && b->host_copy && spw_is_copying_out_locked(b)))
        spw_transfer_enqueue_out_locked(d, b);
    else
        spw_transfer_enqueue_locked(d, b, SPW_QUEUE_DROPPED);
}

/* Records events first, so that the eviction later waits only for events that exist. */
static int begin_leaving(struct spw_device *d, struct spw_block *b, bool dropped)
{
    int r = spw_uses_mark_locked(&b->object.uses);
    if (r == 0)
        r = spw_clean_check_ask_locked(d, b);
    if (r < 0)
        return r;
    spw_drop_check_leaving_locked(d, b);
    dropped = dropped && spw_drop_check_request_locked(d, b) == 0;
    const enum spw_due due = dropped ? spw_rematerialiser->due(d, b) : SPW_DUE_NOT;
    const bool copied = (!dropped || due == SPW_DUE_BY_COPY) && spw_object_dirty(&b->object);
    if (copied)
        r = spw_mover_copy_out_locked(d, b);
    else if (b->object.uses.everybody)
        r = spw_copy_streams_gather_uses_locked(d, b, &(struct spw_stream *){NULL});
    if (r < 0)
        return r;
    dropped = dropped && spw_rematerialiser->dropping(d, b, due);
    if (dropped)
        spw_dependents_add_locked(d, b);
    else
        spw_moved.dropped_count += !copied;
    spw_block_become_locked(b, SPW_RESIDENCY_EVICTING);
    spw_transfer_take_off_locked(d, b);
    enqueue(d, b, copied);
    (void)spw_uses_mark_locked(&b->object.uses); /* or when the queue is looked at */
    return 0;
}

static int leave(struct spw_device *d, struct spw_block *b, bool dropped)
{
    if (b->way == SPW_QUEUE_AWAITED)
        spw_transfer_take_off_locked(d, b);
    if (b->suspected)
        (void)spw_seek_settle_unlocking(false); /* does not wait */
    int r = may_not_leave(b);
    if (r != 0)
        return r < 0 ? r : 0;
    struct spw_context_guard guard;
    r = spw_context_enter(&guard, NULL);
    if (r < 0)
        return r;
    r = begin_leaving(d, b, dropped);
    spw_context_leave(&guard);
    if (r == -EAGAIN || r == -EXDEV || r == -EBUSY) {
        spw_clean_check_cancel_locked(b); /* the digest is asked for again with the next try */
        return -EBUSY;
    }
    spw_transfer_counts.failed_count += r < 0;
    return r;
}

int spw_transfer_evict_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return leave(d, b, false);
}

int spw_transfer_drop_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return leave(d, b,
                 may_leave(b) && spw_object_dirty(&b->object) && spw_rematerialiser &&
                     spw_dependents_can_drop_locked(d, b) && spw_rematerialiser->may_drop(d, b));
}

int spw_transfer_write_back_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const int why_not = may_not_leave(b);
    if (why_not != 0 || !spw_object_dirty(&b->object))
        return why_not < 0 && spw_object_dirty(&b->object) ? why_not : 0;
    int r = spw_transfer_evict_locked(d, b);
    if (spw_transfer_is_leaving(b))
        spw_transfer_forget_locked(d, b);
    return r;
}

int spw_transfer_write_back_unchecked_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    b->proof.is_spared = true;
    const int r = spw_transfer_write_back_locked(d, b);
    b->proof.is_spared = false;
    return r;
}

static void count_gone(const struct spw_device *d, const struct spw_block *b)
{
    if (b->drops) {
        spw_transfer_counts.dropped_count++;
        spw_transfer_counts.dropped_bytes += spw_block_mapped_bytes(d, b);
        return;
    }
    spw_transfer_counts.left_count++;
    spw_transfer_counts.left_bytes += spw_block_mapped_bytes(d, b);
}

enum evict_outcome {
    RELEASE,   /* its memory may be released */
    WAIT,      /* it has further uses, which bring the answer */
    WRITE_BACK /* it has to be copied after all, and is not dropped */
};

/* Decides what becomes of an evicted block whose uses are done. If what it is made from was touched since it was checked,
 * asks again. */
static enum evict_outcome outcome_of(struct spw_device *d, struct spw_block *b, bool may_ask)
{
    const bool is_shown = !b->drops || spw_drop_check_passed_locked(d, b);
    if (!is_shown && may_ask && spw_drop_check_request_locked(d, b) == 0)
        return WAIT;
    if (!is_shown)
        spw_dependents_remove_locked(d, b);
    const bool is_forbidden = spw_clean_check_forbids_locked(d, b);
    spw_moved.dropped_count -= is_forbidden;
    return is_forbidden || (!is_shown && spw_object_dirty(&b->object)) ? WRITE_BACK : RELEASE;
}

int spw_transfer_finish_eviction_unlocking(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    enum { TIMES = 4 }; /* others may touch what it is made from meanwhile */
    enum evict_outcome parting = WAIT;
    int r = 0;
    for (int i = 1; i <= TIMES && r == 0 && parting == WAIT; i++) {
        r = spw_copy_streams_wait_unlocking(d, b);
        parting = r == 0 && !b->doomed ? outcome_of(d, b, i < TIMES) : RELEASE;
    }
    if (r == 0 && parting == WRITE_BACK) {
        r = spw_mover_copy_out_locked(d, b);
        if (r == 0)
            r = spw_copy_streams_wait_unlocking(d, b);
    }
    if (r == -ETIME && !b->doomed)
        enqueue(d, b, b->has_true_copy);
    else if (r == 0 && !b->doomed)
        r = spw_mover_detach_locked(d, b);
    if (r < 0 && r != -ETIME) { /* it stays where it is; after a completed copy its host copy is valid as well */
        spw_mover_keep_locked(d, b);
        spw_dependents_remove_locked(d, b);
        if (!b->host_copy_valid)
            spw_object_soil(&b->object);
    }
    spw_release_hold_locked(d, b);
    return r;
}

/* Copies the block out: it was written although no launch was believed to, or what it is made from was. */
static void copy_after_all(struct spw_device *d, struct spw_block *b)
{
    if (spw_mover_copy_out_locked(d, b) < 0) {
        spw_mover_keep_locked(d, b);
        spw_transfer_counts.failed_count++;
        return;
    }
    spw_transfer_enqueue_out_locked(d, b);
    (void)spw_uses_mark_locked(&b->object.uses);
}

/* Returns the oldest block of a queue whose eviction is complete, or NULL. While anything is gated, passes over an
 * incomplete one if those behind it need not come after it. */
static struct spw_block *first_gone(const struct spw_device *d, enum spw_transfer_queue way)
{
    uint32_t waits[SPW_OUTS] = {0}; /* copy-out streams that have not come so far */
    unsigned count = 0;
    for (struct spw_block *b = d->queues[way].first; b; b = b->next) {
        unsigned i = 0;
        while (way == SPW_QUEUE_OUT && i < count && waits[i] != b->leave_stream)
            i++;
        if (i < count)
            continue;
        if (spw_uses_done_locked(&b->object.uses))
            return b;
        (void)spw_uses_mark_locked(&b->object.uses);
        if (!spw_gated_streams || count == SPW_OUTS || (way == SPW_QUEUE_DROPPED && !spw_uses_gated_locked(&b->object.uses)))
            return NULL;
        if (way == SPW_QUEUE_OUT)
            waits[count++] = b->leave_stream;
    }
    return NULL;
}

/* Completes one eviction of the queue and gives the memory to the pool. Returns false if none is complete. */
static bool reap(struct spw_device *d, enum spw_transfer_queue way)
{
    struct spw_block *b = first_gone(d, way);
    if (!b)
        return false;
    spw_transfer_take_off_locked(d, b);
    const enum evict_outcome parting = outcome_of(d, b, true);
    if (parting == WAIT) {
        spw_transfer_enqueue_behind_locked(d, b, way, NULL);
        (void)spw_uses_mark_locked(&b->object.uses);
        return false;
    }
    if (parting == WRITE_BACK) {
        copy_after_all(d, b);
        return true;
    }
    if (spw_mover_detach_locked(d, b) < 0) {
        spw_mover_keep_locked(d, b);
        spw_dependents_remove_locked(d, b);
        spw_transfer_counts.failed_count++;
        return true;
    }
    count_gone(d, b);
    return true;
}

bool spw_transfer_reap_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool any = false;
    while (reap(d, SPW_QUEUE_DROPPED))
        any = true;
    while (reap(d, SPW_QUEUE_OUT))
        any = true;
    return any;
}

/* Gives the memory up before its users are done, who are waited for on the device. Returns false if nothing has changed. */
static bool hand_over(struct spw_device *d, struct spw_block *b)
{
    if (!spw_unmap_can_defer_locked(d, b) || spw_mover_detach_locked(d, b) < 0)
        return false;
    spw_transfer_take_off_locked(d, b);
    count_gone(d, b);
    return true;
}

static int wait_for_unlocking(struct spw_device *d, struct spw_block *b)
{
    uint64_t began = spw_now_ns();
    spw_transfer_take_off_locked(d, b);
    b->holds++;
    int r = spw_transfer_finish_eviction_unlocking(d, b);
    if (r == 0 && !b->memory.count) /* else it was freed meanwhile */
        count_gone(d, b);
    spw_transfer_counts.waits++;
    spw_transfer_counts.waited_ns += spw_now_ns() - began;
    return r;
}

static struct spw_block *first_that_ends(const struct spw_device *d, enum spw_transfer_queue way)
{
    struct spw_block *b = d->queues[way].first;
    while (b && spw_uses_gated_locked(&b->object.uses))
        b = b->next;
    return b;
}

/* Returns the first block to go that is not gated. A block that needs no copy goes with its last use, and until then the
 * device has work. A copy takes as long as the link needs, while the device may stand idle. */
static struct spw_block *first_to_go(const struct spw_device *d)
{
    struct spw_block *clean = first_that_ends(d, SPW_QUEUE_DROPPED);
    return clean ? clean : first_that_ends(d, SPW_QUEUE_OUT);
}

bool spw_transfer_hand_over_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b = first_to_go(d);
    return b && hand_over(d, b);
}

int spw_transfer_wait_unlocking(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *b = first_to_go(d);
    const int r = b && !hand_over(d, b) ? wait_for_unlocking(d, b) : 0;
    return r < 0 ? r : b != NULL;
}

int spw_transfer_wait_for_unlocking(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    return spw_transfer_is_leaving(b) && b->holds == 0 ? wait_for_unlocking(d, b) : 0;
}

/* ---- in ---- */

static bool dissolve(struct spw_device *d, struct spw_block *b)
{
    spw_block_uncache_this_locked(d, b);
    if (spw_dissolve_block_locked(d, b) == 0)
        return true;
    spw_block_cache_locked(d, b);
    return false;
}

/* Gives up some memory, without waiting for it, when the pool could not serve `granules`. First come pieces that nobody
 * uses any more, then blocks that the program has freed and whose last operations are still to run; that is in order for
 * operations behind these. A block that is being copied out comes last: an operation that gets its memory waits for the
 * link, with the device idle, although enough may have been freed in other pieces. Returns false if there is nothing. */
static bool give_up_some(struct spw_device *d, uint32_t granules)
{
    struct spw_block *b = spw_cached_blocks_most_suitable_locked(d, granules, SPW_PATIENCE_NONE);
    if (!b && spw_unmap_one_in_the_way_locked(d))
        return true;
    if (!b && d->stale.allowed)
        b = spw_cached_blocks_most_suitable_locked(d, granules, SPW_PATIENCE_USES);
    if (!b)
        b = spw_cached_blocks_smallest_done_locked(d, granules);
    return b ? dissolve(d, b) : spw_transfer_hand_over_locked(d);
}

bool spw_transfer_suit_locked(struct spw_device *d, uint32_t granules)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    for (uint32_t left; (left = spw_phys_pool_unserved_locked(&d->handles, granules)) != 0;)
        if (!give_up_some(d, left))
            return false;
    return true;
}

int spw_transfer_bring_in_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool evicted = (b->object.attention & SPW_EVICTED) != 0;
    spw_transfer_suit_locked(d, b->granules - b->memory.granules);
    int r = spw_mover_attach_locked(d, b);
    if (r < 0 || !evicted)
        return r;
    r = spw_mover_copy_in_locked(d, b);
    if (r == 0)
        return 0;
    if (spw_mover_detach_locked(d, b) < 0)
        spw_block_become_locked(
            b, SPW_RESIDENCY_EVICTED); /* mapped, but only the host copy has the bytes: the next try copies again */
    return r;
}

static int bring_back(struct spw_device *d, struct spw_block *b)
{
    int r = spw_transfer_bring_in_locked(d, b);
    if (r < 0) {
        spw_transfer_counts.failed_count++;
        return r;
    }
    b->way = SPW_QUEUE_RETURNED;
    spw_arrival_expect_locked(d, b);
    spw_transfer_counts.restored_count++;
    spw_transfer_counts.restored_bytes += spw_block_mapped_bytes(d, b);
    (void)spw_uses_mark_locked(&b->object.uses);
    return 0;
}

static bool has_memory(struct spw_device *d, uint64_t bytes)
{
    while (!spw_cached_blocks_make_locked(d, bytes))
        if (!spw_transfer_hand_over_locked(d))
            return false;
    return true;
}

static bool has_room(struct spw_device *d, struct spw_block *b)
{
    if (spw_unmap_now_locked(d, b) < 0 || !has_memory(d, spw_block_lacking_bytes(d, b)))
        return false;
    return spw_transfer_suit_locked(d, b->granules - b->memory.granules) || spw_unmap_try_clear_locked(d, b);
}

static int restore(struct spw_device *d, struct spw_block *b)
{
    if (d->queues[SPW_QUEUE_AWAITED].first || !has_room(d, b)) {
        spw_transfer_enqueue_locked(d, b, SPW_QUEUE_AWAITED);
        return 0;
    }
    return bring_back(d, b);
}

int spw_transfer_prefetch_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (spw_transfer_is_leaving(b) && b->holds == 0) {
        spw_transfer_cancel_locked(d, b);
        return 0;
    }
    if (!(b->object.attention & SPW_EVICTED) || b->way != SPW_QUEUE_NONE || b->holds)
        return 0;
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, NULL);
    if (r < 0)
        return r;
    r = restore(d, b);
    spw_context_leave(&guard);
    return r;
}

/* Serves the oldest block that waits. Returns false if there is none, or no memory for it. */
static bool serve(struct spw_device *d)
{
    struct spw_block *b = d->queues[SPW_QUEUE_AWAITED].first;
    if (!b || !has_room(d, b))
        return false;
    spw_transfer_take_off_locked(d, b);
    (void)bring_back(d, b); /* on failure it comes in on demand */
    return true;
}

void spw_transfer_pump_locked(struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_context_guard guard;
    if (spw_transfer_is_idle(d) || spw_context_enter(&guard, NULL) < 0)
        return;
    (void)spw_transfer_reap_locked(d);
    while (serve(d))
        continue;
    spw_context_leave(&guard);
}

void spw_transfer_reset(void)
{
    memset(&spw_transfer_counts, 0, sizeof(spw_transfer_counts));
    spw_arrivals_reset();
}
