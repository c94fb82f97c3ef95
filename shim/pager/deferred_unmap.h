/* deferred_unmap.h - lets memory change hands on the device: its next owner gets it before the last operations of the
 * former owner are complete, and it stays mapped at the old address for a while.
 *
 * To wait for an operation, unmap the memory it used last, map that elsewhere and submit the next operation takes the host
 * a millisecond, in which the device has nothing to do. The driver allows memory to be mapped at several addresses at once
 * ("virtual aliasing", CUDA C++ Programming Guide, virtual memory management); each may be used once what was submitted
 * through the others is complete. So the pieces go to the pool at once. Operations of their next owner wait on the device
 * for those of the former owner (SPW_FENCED, ledger.h). The old address is *stale*: it is unmapped when the host has
 * nothing better to do, and in any case before it gets memory again.
 *
 *     owner's uses submitted --leave--> pieces in the pool, address stale --take--> mapped anew, fenced
 *                                              |
 *                                              +-- uses complete, host has time --> unmapped
 *
 * Meanwhile an access to the old address that spillway does not know of meets the bytes of another tensor, where it would
 * otherwise fault. So memory changes hands in this way only in iterations of a course that has been followed many times, in
 * which such an access would have faulted before. Stale addresses are unmapped before anything other than the course's
 * operations is submitted.
 *
 * Engine lock throughout; the device's slow lock where addresses are unmapped. */
#ifndef SPILLWAY_SHIM_DEFERRED_UNMAP_H
#define SPILLWAY_SHIM_DEFERRED_UNMAP_H
#include "ledger.h"

struct spw_deferred_unmap { /* a stale address: still mapped to memory that it has given up */
    CUdeviceptr address;
    struct spw_memory memory; /* what is mapped there */
    struct spw_uses uses;     /* operations that may still use the memory at this address */
    struct spw_block *block;  /* the block whose address it is; NULL: the block is gone, and its range of addresses is
                                 released with this record */
    uint32_t first, granules; /* that range */
    void *host_copy;          /* the host copy of a block that is gone, which may still be written to; or NULL */
    size_t host_bytes;
    struct spw_deferred_unmap *next; /* newer */
};

/* Returns true if the block's memory may be given up before its users are done. */
bool spw_unmap_can_defer_locked(struct spw_device *d, struct spw_block *b);

/* Gives the block's memory to the pool, whether or not its users are done, and makes its address stale. Returns false if
 * that is not allowed now, or not possible: then the caller has to wait for the users and unmap. */
bool spw_unmap_defer_locked(struct spw_device *d, struct spw_block *b);

/* Adds to `fence` the operations that may still use a piece that was just taken from the pool. */
void spw_unmap_fence_locked(struct spw_device *d, CUmemGenericAllocationHandle piece, struct spw_uses *fence);

/* Unmaps the block's own address if it is stale. Returns 0; -EBUSY if operations may still use it; or the driver's
 * refusal. */
int spw_unmap_now_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps stale addresses that nobody uses any more, until at most `keep_granules` granules are stale. Does not wait. */
void spw_unmap_sweep_locked(struct spw_device *d, uint64_t keep_granules);

/* The same, with the budget as the limit. */
void spw_unmap_limit_locked(struct spw_device *d);

/* Call before the host waits for the device: uses that time to unmap what nobody uses any more. Call with no lock held. */
void spw_unmap_host_waits(void);

/* Waits for all users of stale addresses, and unmaps these. Returns 0 or a failure. */
int spw_unmap_all_unlocking(struct spw_device *d);

/* Clears the way for a block that is held and could not be attached for -EBUSY: waits for what is in its way, and unmaps
 * that. With `again`, for when that was not enough, does so for all stale addresses: room that is made meanwhile adds more
 * of them. Returns 0 or a failure. */
int spw_unmap_clear_unlocking(struct spw_device *d, struct spw_block *b, bool again);

/* The same without waiting. Returns false if something is still in the way. */
bool spw_unmap_try_clear_locked(struct spw_device *d, struct spw_block *b);

/* Unmaps one stale address that keeps a pooled piece from being released and that nobody uses any more. Returns false if
 * there is none. */
bool spw_unmap_one_in_the_way_locked(struct spw_device *d);

/* Call before a block with a stale address is destroyed: its range of addresses and its host copy pass to the stale
 * record. */
void spw_unmap_inherit_locked(struct spw_block *b);

/* Allows or forbids that memory changes hands like this on the device. If it is forbidden, what is stale has to be unmapped
 * before the next operation (spw_unmap_is_due). */
void spw_unmap_allow_deferral_locked(struct spw_device *d, bool allowed);

/* True while addresses are stale on a device that does not allow that. The function unmaps them all; call it before the
 * operation that was begun is submitted. What cannot be unmapped now stays due for the next operation. */
extern bool spw_unmap_is_due SPW_OURS;
void spw_unmap_flush_unlocking(void);

/* Forgets all stale addresses of the device: for tests. */
void spw_unmap_reset(struct spw_device *d);

struct spw_unmap_counts {        /* since the start of the process; engine lock */
    uint64_t count, early_count; /* times that memory changed hands; of these, before its users were done */
};
extern struct spw_unmap_counts spw_unmap_counts;
#endif
