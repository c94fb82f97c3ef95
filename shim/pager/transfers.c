/* transfers.c - the queues of blocks that leave and of blocks that wait to come back, and their way through them. */
#include "transfers.h"

#include <errno.h>
#include <string.h>

#include "arrivals.h"
#include "context.h"
#include "engine.h"
#include "mover.h"
#include "dependents.h"
#include "now.h"
#include "clean_check.h"
#include "reclaim.h"
#include "rematerialiser.h"
#include "seek.h"
#include "deferred_unmap.h"
#include "drop_check.h"

struct spw_transfer_counts spw_transfer_counts;

/* ---- queues ---- */

static bool is_queued(const struct spw_block *b)
{
    return b->way != SPW_QUEUE_NONE && b->way < SPW_QUEUE_COUNT;
}

static void enqueue_behind(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way, struct spw_block *before)
{
    struct spw_queue *q = &d->queues[way];
    b->way = (uint8_t)way;
    b->previous = before;
    b->next = before ? before->next : q->first;
    *(before ? &before->next : &q->first) = b;
    *(b->next ? &b->next->previous : &q->last) = b;
}

static void enqueue(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way)
{
    enqueue_behind(d, b, way, d->queues[way].last);
}

/* Those whose memory waits for the stream of copies out, in the order of that. */
static void enqueue_out(struct spw_device *d, struct spw_block *b)
{
    struct spw_block *before = d->queues[SPW_QUEUE_OUT].last;
    while (before && before->leave_number > b->leave_number)
        before = before->previous;
    enqueue_behind(d, b, SPW_QUEUE_OUT, before);
}

/* Takes the block off whatever way it is on. */
static void take_off(struct spw_device *d, struct spw_block *b)
{
    if (is_queued(b)) {
        struct spw_queue *q = &d->queues[b->way];
        *(b->previous ? &b->previous->next : &q->first) = b->next;
        *(b->next ? &b->next->previous : &q->last) = b->previous;
        b->next = b->previous = NULL;
    }
    b->way = SPW_QUEUE_NONE;
}

static bool is_leaving(const struct spw_block *b)
{
    return b->way == SPW_QUEUE_OUT || b->way == SPW_QUEUE_DROPPED;
}

void spw_transfer_forget_locked(struct spw_device *d, struct spw_block *b)
{
    bool leaving = is_leaving(b);
    take_off(d, b);
    spw_arrival_forget_locked(d, b);
    if (!leaving)
        return;
    spw_mover_keep_locked(d, b);
    spw_dependents_remove_locked(d, b);
}

void spw_transfer_cancel_locked(struct spw_device *d, struct spw_block *b)
{
    if (b->way == SPW_QUEUE_NONE)
        return;
    if (is_leaving(b))
        spw_transfer_counts.cancelled_count++;
    else if (b->way == SPW_QUEUE_AWAITED) {
        spw_transfer_counts.late_count++;
        spw_arrival_missed_locked(d);
    } else if (spw_mover_copies_done_locked(d, b))
        spw_transfer_counts.restored_in_time++;
    spw_transfer_forget_locked(d, b);
}

/* ---- out ---- */

static bool may_leave(const struct spw_block *b)
{
    return !(b->object.attention & (SPW_ABSENT | SPW_EVICTING)) && !spw_object_is_cached(&b->object) && !b->pinned &&
           !b->doomed && !b->suspected && b->holds == 0 && !spw_seek_is_blind_locked();
}

/* Whatever the block is waited for by then is an event that exists. */
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
    else if (b->object.uses.overflow)
        r = spw_mover_gather_uses_locked(d, b);
    if (r < 0)
        return r;
    dropped = dropped && spw_rematerialiser->dropping(d, b, due);
    if (dropped)
        spw_dependents_add_locked(d, b);
    else
        spw_moved.dropped_count += !copied;
    b->object.attention |= SPW_EVICTING;
    take_off(d, b);
    if (copied || (!dropped && b->host_copy && spw_mover_is_copying_out_locked(d, b)))
        enqueue_out(d, b); /* who needs no copy goes without waiting for it */
    else
        enqueue(d, b, SPW_QUEUE_DROPPED);
    (void)spw_uses_mark_locked(&b->object.uses); /* or when it is looked for */
    return 0;
}

static int leave(struct spw_device *d, struct spw_block *b, bool dropped)
{
    if (b->way == SPW_QUEUE_AWAITED)
        take_off(d, b);
    if (b->suspected)
        (void)spw_seek_settle_unlocking(false); /* which waits for nothing */
    if (!may_leave(b))
        return 0;
    struct spw_context_guard guard;
    int r = spw_context_enter(&guard, NULL);
    if (r < 0)
        return r;
    r = begin_leaving(d, b, dropped);
    spw_context_leave(&guard);
    if (r == -EAGAIN || r == -EXDEV || r == -EBUSY)
        return 0;
    spw_transfer_counts.failed_count += r < 0;
    return r;
}

int spw_transfer_evict_locked(struct spw_device *d, struct spw_block *b)
{
    return leave(d, b, false);
}

int spw_transfer_drop_locked(struct spw_device *d, struct spw_block *b)
{
    return leave(d, b,
                 may_leave(b) && spw_object_dirty(&b->object) && spw_rematerialiser &&
                     spw_dependents_can_drop_locked(d, b) && spw_rematerialiser->may_drop(d, b));
}

int spw_transfer_write_back_locked(struct spw_device *d, struct spw_block *b)
{
    if (!may_leave(b) || !spw_object_dirty(&b->object))
        return 0;
    int r = spw_transfer_evict_locked(d, b);
    if (is_leaving(b))
        spw_transfer_forget_locked(d, b);
    return r;
}

int spw_transfer_write_back_unchecked_locked(struct spw_device *d, struct spw_block *b)
{
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

/* What it is made of may have been touched since that was asked about: then that is done again. */
enum spw_evict_outcome spw_transfer_evict_outcome_locked(struct spw_device *d, struct spw_block *b, bool may_ask)
{
    const bool is_shown = !b->drops || spw_drop_check_passed_locked(d, b);
    if (!is_shown && may_ask && spw_drop_check_request_locked(d, b) == 0)
        return SPW_EVICT_WAIT;
    if (!is_shown)
        spw_dependents_remove_locked(d, b);
    return spw_clean_check_forbids_locked(d, b) || (!is_shown && spw_object_dirty(&b->object)) ? SPW_EVICT_WRITE_BACK
                                                                                               : SPW_EVICT_RELEASE;
}

/* It was written, though nobody was believed to have done so, or what it is made of was: it goes the other way. */
static void copy_after_all(struct spw_device *d, struct spw_block *b)
{
    if (spw_mover_copy_out_locked(d, b) < 0) {
        spw_mover_keep_locked(d, b);
        spw_transfer_counts.failed_count++;
        return;
    }
    enqueue_out(d, b);
    (void)spw_uses_mark_locked(&b->object.uses);
}

/* Takes the oldest of a queue to the pool if it is gone. False: there is none, or it is not. */
static bool reap(struct spw_device *d, enum spw_transfer_queue way)
{
    struct spw_block *b = d->queues[way].first;
    if (!b)
        return false;
    if (!spw_uses_done_locked(&b->object.uses)) {
        (void)spw_uses_mark_locked(&b->object.uses);
        return false;
    }
    take_off(d, b);
    const enum spw_evict_outcome parting = spw_transfer_evict_outcome_locked(d, b, true);
    if (parting == SPW_EVICT_WAIT) {
        enqueue_behind(d, b, way, NULL);
        (void)spw_uses_mark_locked(&b->object.uses);
        return false;
    }
    if (parting == SPW_EVICT_WRITE_BACK) {
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
    bool any = false;
    while (reap(d, SPW_QUEUE_DROPPED))
        any = true;
    while (reap(d, SPW_QUEUE_OUT))
        any = true;
    return any;
}

/* Its memory goes before its users are done, who are waited for on the device. False: it is where it was. */
static bool hand_over(struct spw_device *d, struct spw_block *b)
{
    if (!spw_unmap_can_defer_locked(d, b) || spw_mover_detach_locked(d, b) < 0)
        return false;
    take_off(d, b);
    count_gone(d, b);
    return true;
}

static int wait_for_unlocking(struct spw_device *d, struct spw_block *b)
{
    uint64_t began = spw_now_ns();
    take_off(d, b);
    b->holds++;
    int r = spw_reclaim_finish_eviction_unlocking(d, b);
    if (r == 0 && !b->memory.count) /* else it was freed meanwhile */
        count_gone(d, b);
    spw_transfer_counts.waits++;
    spw_transfer_counts.waited_ns += spw_now_ns() - began;
    return r;
}

/* Who needs no copy goes with its last use, and until then the device has work. Copies take as long as the link needs, while
 * the device may well stand still. */
static struct spw_block *first_to_go(const struct spw_device *d)
{
    return d->queues[SPW_QUEUE_DROPPED].first ? d->queues[SPW_QUEUE_DROPPED].first : d->queues[SPW_QUEUE_OUT].first;
}

bool spw_transfer_hand_over_locked(struct spw_device *d)
{
    struct spw_block *b = first_to_go(d);
    return b && hand_over(d, b);
}

int spw_transfer_wait_unlocking(struct spw_device *d)
{
    struct spw_block *b = first_to_go(d);
    const int r = b && !hand_over(d, b) ? wait_for_unlocking(d, b) : 0;
    return r < 0 ? r : b != NULL;
}

int spw_transfer_wait_for_unlocking(struct spw_device *d, struct spw_block *b)
{
    return is_leaving(b) && b->holds == 0 ? wait_for_unlocking(d, b) : 0;
}

/* ---- in ---- */

static int bring_back(struct spw_device *d, struct spw_block *b)
{
    int r = spw_engine_bring_in_locked(d, b);
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
    while (!spw_reclaim_make_from_cache_locked(d, bytes))
        if (!spw_transfer_hand_over_locked(d))
            return false;
    return true;
}

/* There is memory; where pieces are to be spared, in such as need not be cut for it: a tensor smaller than the largest waits
 * for others, since its copy takes no longer than that; an operation that needs it waits for none. */
static bool has_room(struct spw_device *d, struct spw_block *b)
{
    const bool waits = spw_size_histogram_spares(&d->handles.demand) && b->granules < SPW_PIECE_GRANULES;
    if (spw_unmap_now_locked(d, b) < 0 || !has_memory(d, spw_block_lacking_bytes(d, b)))
        return false;
    const bool suits = spw_reclaim_suit_locked(d, b->granules - b->memory.granules);
    return suits || (!waits && spw_unmap_try_clear_locked(d, b));
}

static int restore(struct spw_device *d, struct spw_block *b)
{
    if (d->queues[SPW_QUEUE_AWAITED].first || !has_room(d, b)) {
        enqueue(d, b, SPW_QUEUE_AWAITED);
        return 0;
    }
    return bring_back(d, b);
}

int spw_transfer_prefetch_locked(struct spw_device *d, struct spw_block *b)
{
    if (is_leaving(b) && b->holds == 0) {
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

/* Serves the oldest of those that wait. False: there is none, or no memory for it. */
static bool serve(struct spw_device *d)
{
    struct spw_block *b = d->queues[SPW_QUEUE_AWAITED].first;
    if (!b || !has_room(d, b))
        return false;
    take_off(d, b);
    (void)bring_back(d, b); /* or it comes on demand */
    return true;
}

void spw_transfer_pump_locked(struct spw_device *d)
{
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
