/* replay.h - makes bytes again that are nowhere, by submitting the operations that wrote them once more, in their order.
 *
 * The replay runs on a stream of the program, or beside its streams, after everything that uses what it touches. What the
 * operations read is brought in first, or made in its turn; what they write gets memory, and then has the bytes and the
 * version that it had. Small allocations that they write hold afterwards what they held before: their contents of the first
 * time, as far as needed, were saved (stash.h), and their present contents are put away meanwhile. If these cannot be put
 * back, the slab is OWED them, and no operation uses it before.
 *
 * Retained blocks that were made on the way are dropped again right after their last use. Nothing else is dropped while
 * something is being made, and nothing at all while somebody makes sure that nothing needs what is about to be written
 * (device->making): memory comes from blocks that can be evicted with a copy. So a replay always comes to an end. A replay
 * that a plan wants may wait for blocks that are leaving anyway, and takes memory from no other. */
#ifndef SPILLWAY_SHIM_REPLAY_H
#define SPILLWAY_SHIM_REPLAY_H
#include "replay_op.h"

/* Makes the bytes of a DROPPED block, submitted to `s` if that is possible (`s` may be NULL); whatever is submitted next to
 * the program's other streams is ordered after it. Returns 0: the block is resident. On failure it stays dropped: -ENOMEM
 * if there is no memory, -ESTALE if what it was made from has changed, or a failure of the driver. Needs the device's slow
 * lock and the engine lock, which is released while it waits. */
int spw_replay_make_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

/* Replays an operation for a plan, beside the program's streams if the program uses others than `s`. Makes the outputs that
 * are dropped, and brings in those that were evicted with a copy. Does nothing if there is room only by taking it from
 * others: then the outputs are made on demand. Without `may_wait` it returns -EAGAIN if there is no room yet; then nothing
 * was done, and no lock was released. Locks and other results as above. */
int spw_replay_operation_unlocking(struct spw_device *d, struct spw_recorded_op *recorded_op, struct spw_stream *s,
                                   bool may_wait);

/* Makes everything that would be made from `what`, since something is about to happen to that. NULL: makes whatever is
 * dropped, since nothing that is kept will be good any more. On failure, which is logged, that must not happen: bytes would
 * be lost. Locks and results as above; `is_known` as in rematerialiser.h. */
int spw_replay_rescue_unlocking(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s);

void spw_replay_reset(void); /* for tests */
#endif
