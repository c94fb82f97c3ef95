/* transfers.h - tensors that leave and come back ahead of need, while the program goes on: nobody waits here unless memory
 * is needed that is not free yet.
 *
 * A block that leaves is EVICTING: its copy out is submitted behind its last use, and it waits in a queue of the device
 * until use and copy are complete; then its memory goes to the pool. One that waits for no copy is in a queue beside that
 * one, for its last use alone. A block that comes back takes memory from the pool and is RESTORING while the copy in runs;
 * where there is no memory yet it waits in a third queue, in order, and is served as soon as there is. Nothing here happens
 * by itself: the engine pumps, in the program's own calls.
 *
 * One that can be made again (dependents.h) may be dropped instead: it leaves like one that needs no copy, and is DROPPED
 * then.
 *
 *     RESIDENT --leave--> EVICTING --pump--> EVICTED --restore--> (queued) --pump--> RESTORING --first use--> RESIDENT
 *              --drop-->     |     --pump--> DROPPED ----------------made again (replay.h)------------------> RESIDENT
 *                            | claim: used before it was gone                          (an operation that needs it
 *                            v                                                          brings it in at once)
 *                         RESIDENT, COPYING while its copy out still reads it: clean where it is only read; whoever
 *                                   writes it comes after the copy, which is then void */
#ifndef SPILLWAY_SHIM_TRANSFERS_H
#define SPILLWAY_SHIM_TRANSFERS_H
#include "retire.h"
#include "transfer_queues.h"

/* The block is not needed for a while: its copy out is submitted now if it is dirty (its users' order is kept), and it is in
 * the queue of those that leave. One that waits to come back does so no longer. 0, also for a block to which nothing
 * happens, as it is absent, leaving, pinned or free; -EBUSY: it cannot leave yet, as it is held or suspected, or another
 * thread is submitting work on it, or no event can tell its users' end, or its copy would keep others from being copied;
 * -ENOMEM: no host memory; another failure of the driver. After a failure it is as it was. Needs the device's slow lock and
 * the engine lock, does not let go of either. */
int spw_transfer_evict_locked(struct spw_device *d, struct spw_block *b);

/* The block will be made again when it is needed: it leaves without a copy if that is possible as things are
 * (spw_dependents_can_drop_locked()) and needs one, else as above. As there. */
int spw_transfer_drop_locked(struct spw_device *d, struct spw_block *b);

/* The block is copied out as if it left, and stays: as long as nobody writes it, it can leave later without a copy. Nothing
 * happens to one that needs no copy, and to those above. As there. */
int spw_transfer_write_back_locked(struct spw_device *d, struct spw_block *b);

/* The same for one that nobody who is only believed to read it will use before it leaves: no digest is taken of it
 * (clean_check.h), and if that was a mistake it is copied once more. */
int spw_transfer_write_back_unchecked_locked(struct spw_device *d, struct spw_block *b);

/* The block will be needed: served at once where there is memory, else queued. A block that is leaving stays. Nothing
 * happens to one that is resident, EMPTY, DROPPED or free. 0 or a failure; then it is EVICTED as before, and comes on
 * demand. Locks as above. */
int spw_transfer_prefetch_locked(struct spw_device *d, struct spw_block *b);

/* Takes memory of blocks that are gone by now to the pool, and serves those that wait for it. Asks the driver about at most
 * one event that is not complete for each of the two queues, or for each stream where something is gated (streams.h), waits
 * for nothing. Locks as above. */
void spw_transfer_pump_locked(struct spw_device *d);

/* Only the first half of that: true when any memory went to the pool. */
bool spw_transfer_reap_locked(struct spw_device *d);

/* Nothing leaves, nothing waits: no need to pump. */
static inline bool spw_transfer_is_idle(const struct spw_device *d)
{
    return !d->queues[SPW_QUEUE_OUT].first && !d->queues[SPW_QUEUE_DROPPED].first && !d->queues[SPW_QUEUE_AWAITED].first;
}

/* The memory of the one that is gone first of those that leave goes to the pool before its users are done
 * (deferred_unmap.h). False: none leaves, or it has to be waited for. */
bool spw_transfer_hand_over_locked(struct spw_device *d);

/* Waits for the one that is gone first of those that leave. 1: memory of one or more went to the pool, or somebody wants it
 * after all; 0: nothing leaves but what is gated; -ETIME: it was waited for in vain; negative: the driver failed. Lets go of
 * the engine lock while it waits. */
int spw_transfer_wait_unlocking(struct spw_device *d);

/* The same for one of them: until it is gone, or stays after all. 0, also where it does not leave. */
int spw_transfer_wait_for_unlocking(struct spw_device *d, struct spw_block *b);

/* ---- for who makes room, and for who brings in on demand ---- */

/* Waits for the users of a block that is EVICTING and held, and for its copy; then its memory goes to the pool, and it is
 * let go of. -ETIME: they were waited for in vain, and it leaves by itself. On failure it stays where it is. Lets go of the
 * engine lock while it waits. */
int spw_transfer_finish_eviction_unlocking(struct spw_device *d, struct spw_block *b);

/* Before so many granules are taken from the pool: where its pieces do not serve as they are and may not be released for
 * others, gives up what does, without the host waiting for it. True: the pool serves them. */
bool spw_transfer_suit_locked(struct spw_device *d, uint32_t granules);

/* Makes one absent block resident; the caller holds the device's slow lock and the engine lock, and has made room. */
int spw_transfer_bring_in_locked(struct spw_device *d, struct spw_block *b);

void spw_transfer_reset(void); /* for tests */
#endif
