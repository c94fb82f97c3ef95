/* versions.h - gives the bytes of blocks and slots version numbers: each possible write gives them a new version.
 *
 * Versions follow the order of submission over all streams and threads. A program without races could run in that order:
 * whatever orders two of its operations (a stream, an event, the legacy stream, a wait of the host), the first one has been
 * submitted first. Waits for values in memory and for semaphores are the exception (spw_versions_order_is_unseen).
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. They are kept only
 * while recomputation needs them, and then for everything in our arenas. A possible write whose extent is not known raises
 * the epoch; then earlier versions say nothing any more. Pinned objects have no versions, since operations do not tell who
 * writes them.
 *
 * Something is *needed* while dropped blocks depend on what it holds. Before it is written, or the epoch raised, the blocks
 * that depend on it are made again, by the rematerialiser (rematerialiser.h). */
#ifndef SPILLWAY_SHIM_VERSIONS_H
#define SPILLWAY_SHIM_VERSIONS_H
#include "versioned.h"
#include "ours.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_op;

/* Starts to keep versions, in a new epoch, or stops; nothing may be dropped when it stops. Informs the follower. No effect
 * if that is already so. Needs the engine lock. */
void spw_versions_keep_locked(bool keep);

/* ---- called by the engine for each operation while versions are kept; engine lock ---- */

/* Looks up the operation's class (op->class), and decides whether the class may be believed for it (op->believed). */
void spw_versions_look_locked(struct spw_op *op);

/* Returns true if the operation has to be begun the slow way, since it may write something needed, or anything. */
bool spw_versions_endangers(const struct spw_op *op);

/* Has the dropped blocks made again that the operation would ruin. Needs the slow locks of their devices. Returns 0 or a
 * negative result. */
int spw_versions_before_op_locked(struct spw_op *op);

/* The operation is certain to be submitted next: gives what it may write new versions. If it is to be kept (op->wish),
 * records it (op->recorded_op; NULL: op->verdict is the reason). */
void spw_versions_op_locked(struct spw_op *op);

/* The driver call has returned; `taken`: the driver accepted it, else the recorded operation becomes void. Releases
 * op->recorded_op. No lock held. */
void spw_versions_op_end(struct spw_op *op, bool taken);

/* ---- changes that no operation shows; no lock held ---- */

/* Called before something that may change the outcome of operations without showing in any of them: variables of a module
 * are written, a module is unloaded, a function gets other attributes. Has everything made again that is dropped, and
 * raises the epoch. Does nothing while no versions are kept. Negative: that failed, and the program's call must not be
 * made. */
int spw_versions_break(void);

/* The same for a write to memory at `address`, which only matters outside our arenas and outside host memory. */
int spw_versions_break_for(CUdeviceptr address);

/* Called before a stream of the program waits for a value in memory or for a semaphore. Such a stream may continue after
 * operations that are submitted later, so the order of submission, which versions follow, is not the order of execution.
 * Has everything made again that is dropped; from then on nothing is kept (SPW_REPLAY_UNSEEN_ORDER). Negative: the call
 * must not be made. */
int spw_versions_order_is_unseen(void);

/* Calls spw_versions_break() before `what` is set to `value` for a function, kernel or context, and returns 1. Returns 0 if
 * this is the value that was set last (function_attrs.h), or a negative result as that does. */
int spw_versions_settle(const void *whose, unsigned what, uint64_t value);
void spw_versions_unsettle(void); /* the driver refused: the last values are not known any more */

void spw_versions_reset(void); /* forgets everything: for tests, and in a forked child */
#endif
