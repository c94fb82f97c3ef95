/* seek.h - addresses that nobody told of: those that kernels store in device memory, and those in copies whose bytes could
 * not be read on the host when they were submitted.
 *
 * What an address leads to may leave the device only while it is known where the address is stored (pointer_tables.h). As
 * long as nothing leaves, nothing is looked for. Before the first tensor is evicted, all memory is looked through once, by a
 * kernel of ours (seek.ptx). From then on every function is watched: behind its launches, what they were given is looked
 * through, until three left no address but those that copies told of: what a kernel has stored may have been stored by this
 * one, the same as before. Then it is trusted, and its launches cost nothing; those that are given a table count for
 * themselves, since what copies data may be given a table one day. A look that found what was gone or written over before it
 * could be read does not count, unless the answer shows that it was what copies had told of. A function that was seen to
 * store addresses is never trusted. The same goes for uploads, by their size. Every 4096 operations the function or size
 * whose turn it is is looked at again, once.
 *
 * A look comes behind the launch that it is for, and orders nothing else: streams whose order the program leaves open, or
 * makes by values in memory, may each be waiting for what the other does next. Whoever writes meanwhile is looked at as
 * well, so that the word of before and the word of after are all the same.
 *
 * The answer of a look comes when the stream has come so far. Meanwhile the addresses that the launch may have stored are
 * those of what it was given and of what that led to: all of it is *suspected*, and does not leave. When nothing else is
 * left that could, and when an upload's destination is used, the answers are waited for. Where there is an address, memory
 * is read back, and what leads to something alive, elsewhere than where it is stored, is noted in pointer_tables.h. So
 * chance finds make a tensor more resident, and nothing wrong.
 *
 * Whoever follows an address that nobody knows of yet may write what something dropped is made of. So nothing is dropped
 * while such a look has no answer. Where something is dropped when it begins, whoever uses what its launch may have written
 * waits for the answer instead: a look that is *heeded*, as all behind uploads are. Where what is trusted is looked at
 * again, nothing is suspected at all.
 *
 * Not found: a function that stores addresses for the first time after it was trusted, and not in a launch that is looked at
 * again. Those in variables of modules, host memory, memory that is not ours. See pointer_tables.h for what is no address
 * here.
 *
 * Engine lock where nothing else is said. */
#ifndef SPILLWAY_SHIM_SEEK_H
#define SPILLWAY_SHIM_SEEK_H
#include "op.h"
#include "layout.h"
#include "pointer_tables.h"
#include "seek_kinds.h"
#include <stdatomic.h>

extern bool spw_seek_allowed SPW_OURS;     /* set at start; without it nothing here ever happens: for tests */
extern atomic_bool spw_seeking SPW_OURS;   /* something has been evicted, or is about to be; written with the engine lock */
extern uint64_t spw_seek_learned SPW_OURS; /* raised when an address was found that was not known */

/* Memory has to be looked through before anything may leave. */
bool spw_seek_is_blind_locked(void);

/* Does that. The device's slow lock is held; lets go of the engine lock while it waits. 0, or a failure of the driver:
 * nothing may leave then. */
int spw_seek_open_unlocking(void);

/* Some look has no answer yet, or there was no room for one: what is suspected stays. The engine lock is held, or what is
 * asked about is what the calling thread has submitted itself. */
bool spw_seek_pending(void);

/* Somebody may be following an address that no look has told of yet, and write what it leads to without anybody's knowing:
 * nothing is dropped, that may be made of that. */
bool spw_seek_forbids_drops_locked(void);

/* Draws the conclusions from the answers that are there; with `wait`, waits for all of them. Lets go of the engine lock
 * meanwhile. 0, or a failure of the driver. */
int spw_seek_settle_unlocking(bool wait);

/* Who uses the block or slab at `address` needs to know of the addresses there (SPW_AWAITED): waits for the looks that are
 * heeded there, and for no others, unless some place could not be looked at. As above. */
int spw_seek_await_unlocking(CUdeviceptr address);

/* What lies at `source`, in the arena, is about to be copied to where nobody looks. All addresses in it are known when this
 * returns 0, so that what they lead to can be pinned. Negative: a failure of the driver. No lock held. */
int spw_seek_before_it_leaves(CUdeviceptr source);

/* Behind the driver's call, before the operation is ended. `is_unsettled`: when tables were told of the copy, some look had
 * no answer yet, so what it copies within the device may be more than was known. No lock held. */
void spw_seek_launched(struct spw_op *op);
void spw_seek_copied(struct spw_op *op, uint64_t bytes, bool is_unsettled);

/* Whether the first of them has to be called. The function may be watched since the launch was begun. */
static inline bool spw_seek_wants_launch(const struct spw_op *op)
{
    return __builtin_expect(atomic_load_explicit(&spw_seeking, memory_order_relaxed), 0) &&
           (op->reached > op->count || op->everything || spw_layout_of(op->function)->watched);
}

/* How many bytes of a copy are looked through on the host. */
static inline size_t spw_seek_reads(CUdeviceptr destination)
{
    if (!spw_in_arena(destination))
        return SIZE_MAX; /* nobody looks there later */
    return spw_seeking || !spw_seek_allowed ? SPW_POINTER_TABLES_MAX_COPY : SPW_POINTER_TABLES_MAX_EARLY;
}

struct spw_sought { /* since the start; engine lock */
    uint64_t looks, waits, sweeps, found;
};
extern struct spw_sought spw_sought SPW_OURS;

void spw_seek_context_gone_locked(CUcontext context);
void spw_seek_reset(void); /* for tests */
#endif
