/* arrivals.h - measures whether prefetched tensors have arrived when the device gets to their first use.
 *
 * It is more than necessary that the copy is complete when the host submits the use, because the host is ahead of the
 * device. So two events are compared once both are complete: one behind the copy, and one on the using stream before it
 * begins to wait for the copy. If the copy ends later, the stream stood still, and for how long is known. A copy that is
 * already complete at the submission was in time without that. The engine lock is held for all functions. */
#ifndef SPILLWAY_SHIM_ARRIVALS_H
#define SPILLWAY_SHIM_ARRIVALS_H
#include "ledger.h"

struct spw_arrivals {    /* of a device, since the start */
    uint64_t used_count; /* prefetched blocks that were used, and of which it is known whether they had arrived */
    uint64_t in_time_count;
    double late_us; /* how long streams stood still for the others; without those that came on demand after all */
};
extern struct spw_arrivals spw_arrivals[SPW_MAX_DEVICES];

/* A prefetch of the block was submitted. No effect if no event can be had: then it does not count. */
void spw_arrival_expect_locked(struct spw_device *d, struct spw_block *b);

/* The operation that is submitted to `s` next uses the block, for the first time since its prefetch. Called before `s` is
 * ordered behind the copy. */
void spw_arrival_used_locked(struct spw_device *d, struct spw_block *b, const struct spw_stream *s);

/* A block was to be prefetched, and an operation needed it before there was memory for it. */
void spw_arrival_missed_locked(struct spw_device *d);

/* The block was freed, or evicted again, without a use. No effect on a block that is not expected. */
void spw_arrival_forget_locked(struct spw_device *d, struct spw_block *b);

/* Reads the events that are complete; spw_arrival_expect_locked() does that, too. */
void spw_arrivals_collect_locked(struct spw_device *d);

/* The context is about to be destroyed, and the events with it. */
void spw_arrivals_context_gone_locked(CUcontext context);
void spw_arrivals_reset(void); /* forgets everything without a driver call: for tests */
#endif
