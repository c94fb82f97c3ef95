/* versions.h - which bytes something holds: each possible write gives it a new version.
 *
 * Versions follow the order of submission, over all streams and threads. That is an order in which a program without races
 * could run: whatever it orders two operations by (a stream, an event, the legacy stream, the host that waits), the one that
 * comes first has been submitted first. Waits for values in memory and for semaphores are the exception
 * (spw_versions_order_is_unseen).
 *
 * Versions are numbers of one clock of the process, so equal versions of one thing mean equal bytes. They are kept only
 * while recomputation wants them, of everything in our arenas at once. What may have been written without anybody seeing
 * what exactly raises the epoch, and then no version of before says anything any more. What is pinned is not versioned: by
 * whom it is written no operation tells.
 *
 * Something is *needed* while dropped blocks are made again with what is in it. Whoever is about to write it, or to raise
 * the epoch, has what depends on it made again first: that is asked of who makes it
 * (rematerialiser.h). */
#ifndef SPILLWAY_SHIM_VERSIONS_H
#define SPILLWAY_SHIM_VERSIONS_H
#include "versioned.h"
#include "ours.h"
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

struct spw_op;

/* Begins to keep versions (with a new epoch), or stops; nothing is dropped then. The follower is told. Makes no difference
 * twice. Engine lock. */
void spw_versions_keep_locked(bool keep);

/* ---- what the engine asks and tells of each operation while versions are kept; engine lock ---- */

/* Finds out what is known of what the operation writes (op->class), and whether that holds of it (op->believed). */
void spw_versions_look_locked(struct spw_op *op);

/* True when the operation has to be begun the slow way: it may write something needed, or everything. */
bool spw_versions_endangers(const struct spw_op *op);

/* With the slow locks of its devices held: what the operation would ruin is made again. 0 or a negative result. */
int spw_versions_before_op_locked(struct spw_op *op);

/* The operation is certain to be submitted next: what it may write gets new versions, and if it is to be kept (op->wish), it
 * is (op->recorded_op, or op->verdict says why not). */
void spw_versions_op_locked(struct spw_op *op);

/* The driver has answered: what it refused is void. Lets go of op->recorded_op. No lock held. */
void spw_versions_op_end(struct spw_op *op, bool taken);

/* ---- changes that nobody sees exactly; no lock held ---- */

/* Before something that may change the outcome of any operation without any of them showing it: variables of modules are
 * written, a module is unloaded, functions are told how to run. What is dropped is made again, and the epoch raised. Does
 * nothing while no versions are kept. Negative: that could not be done, and the call that it is about must not be made. */
int spw_versions_break(void);

/* The same for a write to memory at `address`, which matters when that is outside of our arenas and not the host's. */
int spw_versions_break_for(CUdeviceptr address);

/* Before a stream of the program waits for a value in memory or for a semaphore: it may go on after what is submitted later,
 * so that the order of submission, which versions follow, is not the order in which things happen. What is dropped is made
 * again, and nothing is kept from here on (SPW_REPLAY_UNSEEN_ORDER). Negative: the call must not be made. */
int spw_versions_order_is_unseen(void);

/* As spw_versions_break(), where a function, kernel or context is told `value` of the matter `what`, unless that is what it
 * was told last (function_attrs.h): 0. 1: it may be something else. */
int spw_versions_settle(const void *whose, unsigned what, uint64_t value);
void spw_versions_unsettle(void); /* the driver refused: what was told last is not known any more */

void spw_versions_reset(void); /* forgets everything: for tests and a forked child */
#endif
