/* replay.h - makes bytes again that are nowhere: the operations that wrote them are submitted once more, in their order.
 *
 * They run on a stream of the program, or beside its streams, behind everything that uses what they touch. What they read is
 * brought in first, or made in its turn; what they write gets memory and has the bytes, and the version, that it had. Small
 * allocations that they write hold afterwards what they held before: what is needed of their content of then was saved
 * (stash.h), and what they hold by now is put away meanwhile. If that cannot be put back, the slab is OWED it, and no
 * operation uses it before.
 *
 * Ghosts that were made on the way go again right behind their last use. Nothing else is dropped while something is being
 * made, and nothing at all while somebody makes sure that nothing needs what is about to be written (device->making): memory
 * comes from what can leave with a copy. So it always comes to an end. What a plan wants made may wait for what is leaving
 * by itself, and takes memory from nobody. */
#ifndef SPILLWAY_SHIM_REPLAY_H
#define SPILLWAY_SHIM_REPLAY_H
#include "replay_op.h"

/* Makes the bytes of a DROPPED block, submitted to `s` where that is possible, and as the program's other streams see it
 * before whatever is submitted to them next. `s` may be NULL. 0: it is resident; -ENOMEM: no memory; -ESTALE: what it was
 * made of is not what it was; or a failure of the driver: it stays dropped. Needs the device's slow lock and the engine
 * lock, lets go of the latter while it waits. */
int spw_replay_make_unlocking(struct spw_device *d, struct spw_block *b, struct spw_stream *s);

/* What a plan says: the operation runs again, beside the program's streams where it has more than `s`. What of its output is
 * dropped is made, what has left with a copy comes back; nothing happens if there is no room for it but by taking it from
 * others: then it comes on demand. -EAGAIN, if it is not to be waited for: there is none yet, and nothing was done, nor was
 * any lock let go of. As there. */
int spw_replay_operation_unlocking(struct spw_device *d, struct spw_recorded_op *recorded_op, struct spw_stream *s,
                                   bool may_wait);

/* Something is about to happen to `what`: whatever would be made of it is made now. NULL: whatever is dropped, since nothing
 * that was kept will be good any more. On failure, which is said, that must not happen: it would lose bytes. As there. */
int spw_replay_rescue_unlocking(struct spw_device *d, const struct spw_versioned *what, bool is_known, struct spw_stream *s);

void spw_replay_reset(void); /* for tests */
#endif
