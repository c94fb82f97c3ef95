/* transfers.h - evicts and prefetches tensors ahead of need, while the program goes on. Nothing here waits unless memory is
 * needed that is not free yet.
 *
 * A block that is being evicted is EVICTING: its copy out is submitted after its last use, and the block waits in a queue
 * of the device until use and copy are complete; then its memory goes to the pool. A block that waits for no copy is in a
 * second queue, for its last use alone. A block that is prefetched takes memory from the pool and is RESTORING while its
 * copy in runs. If there is no memory yet it waits in a third queue, in order, and is served as soon as there is. Nothing
 * here happens by itself: the queues are pumped in the program's own calls.
 *
 * A block that can be made again (dependents.h) may be dropped instead: it leaves like a block that needs no copy, and is
 * DROPPED then.
 *
 *     RESIDENT --evict--> EVICTING --pump--> EVICTED --prefetch-> (queued) --pump--> RESTORING --first use--> RESIDENT
 *              --drop-->     |     --pump--> DROPPED ----------------made again (replay.h)------------------> RESIDENT
 *                            | cancel: used before it was gone                         (an operation that needs it
 *                            v                                                          brings it in at once)
 *                         RESIDENT, COPYING while its copy out still reads it: clean if it is only read; whoever
 *                                   writes it comes after the copy, which is then void */
#ifndef SPILLWAY_SHIM_TRANSFERS_H
#define SPILLWAY_SHIM_TRANSFERS_H
#include "retire.h"
#include "transfer_queues.h"

/* Evicts a block that is not needed for a while: submits its copy out if it is dirty, after its uses so far, and puts it
 * into a queue of evicted blocks. Takes it off the queue of blocks that wait to be brought in. Returns 0, also for a block
 * that nothing happens to because it is absent, leaving, pinned or free; -EBUSY if it cannot leave yet: it is held or
 * suspected, another thread is submitting work on it, no event can tell the end of its uses, or its copy would keep others
 * from being copied; -ENOMEM if there is no host memory; or another failure of the driver. After a failure it is as it was.
 * Needs the device's slow lock and the engine lock, and releases neither. */
int spw_transfer_evict_locked(struct spw_device *d, struct spw_block *b);

/* Drops a block that will be made again when it is needed: it leaves without a copy, if it would need one and that is
 * possible as things are (spw_dependents_can_drop_locked()); else it is evicted as above. Results and locks as above. */
int spw_transfer_drop_locked(struct spw_device *d, struct spw_block *b);

/* Writes the block back: copies it out, and keeps it on the device. As long as nobody writes it, it can be evicted later
 * without a copy. Does nothing to a block that needs no copy, or that cannot be evicted. Results and locks as above. */
int spw_transfer_write_back_locked(struct spw_device *d, struct spw_block *b);

/* The same for a block that no launch which is only believed to read it will use before it is evicted: no digest of it is
 * taken (clean_check.h). If that was a mistake, it is copied once more. */
int spw_transfer_write_back_unchecked_locked(struct spw_device *d, struct spw_block *b);

/* Prefetches a block that will be needed: brings it in at once if there is memory, else queues it. A block that is being
 * evicted stays. Does nothing to a block that is resident, EMPTY, DROPPED or free. Returns 0 or a failure; after a failure
 * the block is EVICTED as before, and comes in on demand. Locks as above. */
int spw_transfer_prefetch_locked(struct spw_device *d, struct spw_block *b);

/* Gives memory of blocks whose eviction is complete to the pool, and serves those that wait for memory. Asks the driver
 * about at most one incomplete event for each of the two queues, or for each stream where something is gated (streams.h).
 * Does not wait. Locks as above. */
void spw_transfer_pump_locked(struct spw_device *d);

/* Does only the first half of that. Returns true if any block was taken off a queue for good. */
bool spw_transfer_reap_locked(struct spw_device *d);

/* Returns true if no block is being evicted or waits to be brought in, so that there is no need to pump. */
static inline bool spw_transfer_is_idle(const struct spw_device *d)
{
    return !d->queues[SPW_QUEUE_OUT].first && !d->queues[SPW_QUEUE_DROPPED].first && !d->queues[SPW_QUEUE_AWAITED].first;
}

/* Gives the memory of the block that will be evicted next to the pool before its users are done (deferred_unmap.h). Returns
 * false if none is being evicted, or it has to be waited for. */
bool spw_transfer_hand_over_locked(struct spw_device *d);

/* Waits for the block that will be evicted next. Returns 1 if memory of a block went to the pool, or somebody wants the
 * block after all; 0 if no eviction is in flight but gated ones; -ETIME if the wait took too long; or a failure of the
 * driver. Releases the engine lock while it waits. */
int spw_transfer_wait_unlocking(struct spw_device *d);

/* The same for one block: waits until it is evicted, or stays after all. Returns 0, also if it is not being evicted, or a
 * failure. */
int spw_transfer_wait_for_unlocking(struct spw_device *d, struct spw_block *b);

/* ---- for who makes room, and for who brings in on demand ---- */

/* Waits for the users of a block that is EVICTING and held, and for its copy; then gives its memory to the pool and
 * releases the hold. Returns 0; -ETIME if the wait took too long, and then the block leaves by itself; after another
 * failure it stays where it is. Releases the engine lock while it waits. */
int spw_transfer_finish_eviction_unlocking(struct spw_device *d, struct spw_block *b);

/* Call before `granules` granules are taken from the pool. If the pool's pieces do not serve as they are, and may not be
 * released for others, gives up memory that does, without the host waiting for it. Returns true if the pool serves them. */
bool spw_transfer_suit_locked(struct spw_device *d, uint32_t granules);

/* Makes one absent block resident. The caller holds the device's slow lock and the engine lock, and has made room. */
int spw_transfer_bring_in_locked(struct spw_device *d, struct spw_block *b);

void spw_transfer_reset(void); /* for tests */
#endif
