/* arrivals.h - whether tensors that come back ahead of need are there when the device gets to their first use.
 *
 * That the copy is complete when the host submits the use is more than is needed: the host is ahead of the device. So an
 * event behind the copy and one on the using stream, before it begins to wait for the copy, are compared when both are
 * complete: where the copy ends later, the stream stood still for it, and for how long is known. A copy that is complete at
 * the submission already was in time without that. Engine lock held in all of these. */
#ifndef SPILLWAY_SHIM_ARRIVALS_H
#define SPILLWAY_SHIM_ARRIVALS_H
#include "ledger.h"

struct spw_arrivals {    /* of a device, since the start */
    uint64_t used_count; /* came back by plan, were used, and it is known whether they were there */
    uint64_t in_time_count;
    double late_us; /* for which streams stood still for the others; without those that came on demand after all */
};
extern struct spw_arrivals spw_arrivals[SPW_MAX_DEVICES];

/* The copy back into the block was submitted by plan. Nothing where no event can be had: then it does not count. */
void spw_arrival_expect_locked(struct spw_device *d, struct spw_block *b);

/* What is submitted to `s` next uses the block, for the first time since then; before `s` is ordered after the copy. */
void spw_arrival_used_locked(struct spw_device *d, struct spw_block *b, const struct spw_stream *s);

/* It was to come back by plan, and an operation needed it before there was memory for it. */
void spw_arrival_missed_locked(struct spw_device *d);

/* Freed, or gone again, without a use. Nothing for a block that nobody expects. */
void spw_arrival_forget_locked(struct spw_device *d, struct spw_block *b);

/* Reads what is complete; expect() does it too. */
void spw_arrivals_collect_locked(struct spw_device *d);

/* The context is about to be destroyed, and the events with it. */
void spw_arrivals_context_gone_locked(CUcontext context);
void spw_arrivals_reset(void); /* forgets everything without a driver call: for tests */
#endif
