/* deferred_unmap.h - memory that changes hands on the device: it goes to the next owner before the last operations of the
 * former one are complete, and stays mapped at the old address for a while.
 *
 * To wait for an operation, to unmap what it was the last to use, to map that elsewhere and to submit the next operation
 * takes the host a millisecond in which the device has nothing to do. The driver maps memory at several addresses at once
 * ("virtual aliasing", CUDA C++ Programming Guide, virtual memory management), of which each may be used once what was
 * submitted through the others is complete. So the pieces go to the pool at once; whoever gets them has its operations wait
 * for the former owner's on the device (SPW_FENCED, ledger.h); and the old address is unmapped when the host has nothing
 * better to do, in any case before it gets memory again.
 *
 *     owner's uses submitted --leave--> pieces in the pool, address stale --take--> mapped anew, fenced
 *                                              |
 *                                              +-- uses complete, host has time --> unmapped
 *
 * Meanwhile an access that nobody has announced meets the bytes of another tensor, where it would be a fault otherwise. So
 * memory changes hands in this way only in iterations of a course that has been followed many times, in which such an access
 * would have been a fault before; and what is stale is unmapped before anything else than the course's operations is
 * submitted.
 *
 * Engine lock throughout; slow lock of the device where addresses are unmapped. */
#ifndef SPILLWAY_SHIM_DEFERRED_UNMAP_H
#define SPILLWAY_SHIM_DEFERRED_UNMAP_H
#include "ledger.h"

struct spw_deferred_unmap { /* an address that is mapped to memory that it has given up */
    CUdeviceptr address;
    struct spw_memory memory; /* what is mapped there */
    struct spw_uses uses;     /* who may still be at it */
    struct spw_block *block;  /* whose address it is; NULL: the block is gone, and its range of addresses goes with this */
    uint32_t first, granules; /* that range */
    void *host_copy;          /* of a block that is gone, which may still be written to; or NULL */
    size_t host_bytes;
    struct spw_deferred_unmap *next; /* newer */
};

/* Its memory may go before its users are done. */
bool spw_unmap_can_defer_locked(struct spw_device *d, struct spw_block *b);

/* True: the block's memory is in the pool, whether or not its users are done, and its address is stale. False: it has to be
 * waited for and unmapped: this is not allowed now, or cannot be. */
bool spw_unmap_defer_locked(struct spw_device *d, struct spw_block *b);

/* Adds to `fence` those who may still be at a piece that was just taken from the pool. */
void spw_unmap_fence_locked(struct spw_device *d, CUmemGenericAllocationHandle piece, struct spw_uses *fence);

/* Unmaps the block's own address, if it is stale. -EBUSY: somebody may still be at it; or the driver refuses. */
int spw_unmap_now_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps what nobody is at any more until at most so many granules are stale. Waits for nothing. */
void spw_unmap_sweep_locked(struct spw_device *d, uint64_t keep_granules);

/* So that there is no more of it than the budget. */
void spw_unmap_limit_locked(struct spw_device *d);

/* The host is about to wait for the device: it has time to unmap what nobody is at any more. No lock held. */
void spw_unmap_host_waits(void);

/* Waits for everybody, and unmaps all. 0 or a failure. */
int spw_unmap_all_unlocking(struct spw_device *d);

/* The block, which is held, could not be attached for -EBUSY: waits for what is in its way; where that was done and was not
 * enough (`again`), for all that is stale: room made meanwhile leaves more of it. 0 or a failure. */
int spw_unmap_clear_unlocking(struct spw_device *d, struct spw_block *b, bool again);

/* The same without waiting. False: something is in its way still. */
bool spw_unmap_try_clear_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps a stale address that keeps a pooled piece from being released and that nobody is at any more. False: there is none.
 */
bool spw_unmap_one_in_the_way_locked(struct spw_device *d);

/* The block is about to go: its range of addresses, and a host copy, belong to what is stale from now on. */
void spw_unmap_inherit_locked(struct spw_block *b);

/* From here on memory may, or may not, change hands like this. Where it may not, what is stale is in doubt. */
void spw_unmap_allow_deferral_locked(struct spw_device *d, bool allowed);

/* Something is in doubt: ends all that is, before the operation that was begun is submitted. What cannot be ended now is in
 * doubt still when the next one comes. */
extern bool spw_unmap_is_due SPW_OURS;
void spw_unmap_flush_unlocking(void);

/* Forgets all: for tests. */
void spw_unmap_reset(struct spw_device *d);

struct spw_unmap_counts {        /* since the start; engine lock */
    uint64_t count, early_count; /* times that memory changed hands; of these, before its users were done */
};
extern struct spw_unmap_counts spw_unmap_counts;
#endif
