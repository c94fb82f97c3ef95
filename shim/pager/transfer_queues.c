/* transfer_queues.c - puts blocks into the queues and takes them out. */
#include "transfer_queues.h"

#include "lock.h"
#include "arrivals.h"
#include "dependents.h"
#include "mover.h"

struct spw_transfer_counts spw_transfer_counts;

static bool is_queued(const struct spw_block *b)
{
    return b->way != SPW_QUEUE_NONE && b->way < SPW_QUEUE_COUNT;
}

void spw_transfer_enqueue_behind_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way,
                                        struct spw_block *before)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_queue *q = &d->queues[way];
    b->way = (uint8_t)way;
    b->previous = before;
    b->next = before ? before->next : q->first;
    *(before ? &before->next : &q->first) = b;
    *(b->next ? &b->next->previous : &q->last) = b;
}

void spw_transfer_enqueue_locked(struct spw_device *d, struct spw_block *b, enum spw_transfer_queue way)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    spw_transfer_enqueue_behind_locked(d, b, way, d->queues[way].last);
}

void spw_transfer_enqueue_out_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    struct spw_block *before = d->queues[SPW_QUEUE_OUT].last;
    while (before && before->leave_stream == b->leave_stream && before->leave_number > b->leave_number)
        before = before->previous;
    spw_transfer_enqueue_behind_locked(d, b, SPW_QUEUE_OUT, before);
}

void spw_transfer_take_off_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (is_queued(b)) {
        struct spw_queue *q = &d->queues[b->way];
        *(b->previous ? &b->previous->next : &q->first) = b->next;
        *(b->next ? &b->next->previous : &q->last) = b->previous;
        b->next = b->previous = NULL;
    }
    b->way = SPW_QUEUE_NONE;
}

bool spw_transfer_is_leaving(const struct spw_block *b)
{
    return b->way == SPW_QUEUE_OUT || b->way == SPW_QUEUE_DROPPED;
}

void spw_transfer_forget_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    bool leaving = spw_transfer_is_leaving(b);
    spw_transfer_take_off_locked(d, b);
    spw_arrival_forget_locked(d, b);
    if (!leaving)
        return;
    spw_mover_keep_locked(d, b);
    spw_dependents_remove_locked(d, b);
}

void spw_transfer_cancel_locked(struct spw_device *d, struct spw_block *b)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    if (b->way == SPW_QUEUE_NONE)
        return;
    if (spw_transfer_is_leaving(b))
        spw_transfer_counts.cancelled_count++;
    else if (b->way == SPW_QUEUE_AWAITED) {
        spw_transfer_counts.late_count++;
        spw_arrival_missed_locked(d);
    } else if (spw_copies_done_locked(d, b))
        spw_transfer_counts.restored_in_time++;
    spw_transfer_forget_locked(d, b);
}
