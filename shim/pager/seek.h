/* seek.h - finds addresses in device memory that no host copy showed: those that kernels store there, and those in copies
 * whose bytes could not be read on the host when they were submitted.
 *
 * A tensor may leave the device only while it is known where its address is stored (pointer_tables.h). As long as nothing
 * leaves, nothing is searched. Before the first tensor is evicted, all memory is searched once, by a kernel of ours
 * (seek.ptx). From then on every function is watched: after each of its launches, a *look* searches what the launch was
 * passed. Once three looks have found no address but those that copies had shown, the function is trusted, and its launches
 * cost nothing. (An address that a kernel stored does not count as known: this function may have stored it again.) Launches
 * that are passed a table are counted apart, since a function that copies data may be passed a table one day. A look does
 * not count if what it found was gone or overwritten before it could be read, unless the answer shows that it was what
 * copies had shown. A function that was seen to store addresses is never trusted. The same goes for uploads, by their size.
 * Every 4096 operations, the next function or size in turn is looked at again, once.
 *
 * A look is ordered after the launch that it is for, and orders nothing else: streams whose order the program leaves open,
 * or makes by values in memory, may each wait for what the other does next. A launch that writes meanwhile is looked at as
 * well, so it does not matter whether a look sees the word from before it or from after it.
 *
 * The answer of a look is known when its stream has come that far. Meanwhile the launch may have stored the addresses of
 * everything that it was passed, and of what that led to: all of it is *suspected*, and is not evicted. The answers are
 * waited for when nothing else is left to evict, and when the destination of an upload is used. Where a look found an
 * address, the memory is read back, and words that lead to something alive, other than the allocation where they are
 * stored, are noted in pointer_tables.h. So a chance find keeps a tensor resident, and does no other harm.
 *
 * A kernel that follows an address which nobody knows of yet may write what a dropped block is made from. So nothing is
 * dropped while such a look has no answer. If something is dropped already when the look begins, operations that use what
 * the launch may have written wait for the answer instead: such a look is *heeded*, as are all looks after uploads. When a
 * trusted function is looked at again, nothing is suspected.
 *
 * Not found: addresses that a function stores for the first time after it was trusted, unless in a launch that is looked at
 * again; and addresses in variables of modules, in host memory, and in memory that is not ours. pointer_tables.h says which
 * words do not count as addresses.
 *
 * Engine lock where nothing else is said. */
#ifndef SPILLWAY_SHIM_SEEK_H
#define SPILLWAY_SHIM_SEEK_H
#include "op.h"
#include "layout.h"
#include "pointer_tables.h"
#include "seek_kinds.h"
#include <stdatomic.h>

extern bool spw_seek_allowed SPW_OURS;     /* set at start; without it nothing here happens: for tests */
extern atomic_bool spw_seeking SPW_OURS;   /* something has been evicted, or is about to be; written with the engine lock */
extern uint64_t spw_seek_learned SPW_OURS; /* raised when an address was found that was not known */

/* Returns true if memory has to be searched before anything may be evicted. */
bool spw_seek_is_blind_locked(void);

/* Searches all memory and begins to watch functions. The device's slow lock is held; the engine lock is released while it
 * waits. Returns 0, or a failure of the driver: then nothing may be evicted. */
int spw_seek_open_unlocking(void);

/* Returns true if some look has no answer yet, or there was no room for one: what is suspected stays. Call with the engine
 * lock, or without for what the calling thread has submitted itself. */
bool spw_seek_pending(void);

/* Returns true if a kernel may be following an address that no look has shown yet, and write what it leads to: then nothing
 * may be dropped that could be made from that. */
bool spw_seek_forbids_drops_locked(void);

/* Draws the conclusions from the answers that are known; with `wait`, waits for all of them. Releases the engine lock
 * meanwhile. Returns 0 or a failure of the driver. */
int spw_seek_settle_unlocking(bool wait);

/* For an operation that uses the block or slab at `address` and needs to know the addresses there (SPW_AWAITED): waits for
 * the heeded looks at it, and for no others, unless some place could not be looked at. Locks and results as above. */
int spw_seek_await_unlocking(CUdeviceptr address);

/* Call before memory at `source`, in the arena, is copied to where no look searches. When it returns 0, all addresses in
 * that memory are known, so that what they lead to can be pinned. Negative: a failure of the driver. Call with no lock
 * held. */
int spw_seek_before_it_leaves(CUdeviceptr source);

/* Call after the driver call, before the operation is ended. `is_unsettled`: some look had no answer yet when the pointer
 * tables noted the copy, so a copy within the device may copy more than was known. Call with no lock held. */
void spw_seek_launched(struct spw_op *op);
void spw_seek_copied(struct spw_op *op, uint64_t bytes, bool is_unsettled);

/* Returns true if spw_seek_launched() has to be called. The function may have come under watch since the launch was
 * begun. */
static inline bool spw_seek_wants_launch(const struct spw_op *op)
{
    return __builtin_expect(atomic_load_explicit(&spw_seeking, memory_order_relaxed), 0) &&
           (op->reached > op->count || op->everything || spw_layout_of(op->function)->watched);
}

/* Returns how many bytes of a copy are searched on the host. */
static inline size_t spw_seek_reads(CUdeviceptr destination)
{
    if (!spw_in_arena(destination))
        return SIZE_MAX; /* no look searches there later */
    return spw_seeking || !spw_seek_allowed ? SPW_POINTER_TABLES_MAX_COPY : SPW_POINTER_TABLES_MAX_EARLY;
}

struct spw_sought { /* since the start of the process; engine lock */
    uint64_t looks, waits, sweeps, found;
};
extern struct spw_sought spw_sought SPW_OURS;

void spw_seek_context_gone_locked(CUcontext context);
void spw_seek_reset(void); /* for tests */
#endif
