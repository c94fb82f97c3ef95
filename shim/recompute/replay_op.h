/* replay_op.h - replays recorded operations one after the other to make one block: makes ready what they touch, lends the
 * small allocations that they write the content that they had, and orders later users after them.
 *
 * Only replay.c uses it. */
#ifndef SPILLWAY_SHIM_REPLAY_OP_H
#define SPILLWAY_SHIM_REPLAY_OP_H
#include "dependents.h"
#include "replay_run.h"

enum spw_replay_reason { SPW_REPLAY_DEMAND, SPW_REPLAY_PLAN, SPW_REPLAY_RESCUE, SPW_REPLAY_REASONS };

struct spw_replayed {                   /* since the start of the process; engine lock */
    uint64_t count[SPW_REPLAY_REASONS]; /* blocks that were made again, those that they were made from included */
    uint64_t bytes[SPW_REPLAY_REASONS];
    uint64_t submitted_count;          /* operations that were replayed */
    uint64_t postponed_count;          /* planned replays for which there was no memory */
    uint64_t failed_count, owed_count; /* replays that failed; slots whose contents could not be put back at once */
};
extern struct spw_replayed spw_replayed;

/* Holds the operations that it takes to make what `recorded_op` made, and the blocks that they touch. Returns 0; -ESTALE if
 * these are not all there; -ENOMEM. The caller calls spw_replay_op_end_locked() in any case. */
int spw_replay_op_begin(struct spw_replay_op *run, struct spw_recorded_op *recorded_op);

/* Makes everything ready and submits the operations, to `s` if that is possible. Returns 0: whatever they write is resident
 * and not dropped any more. On failure, blocks that were absent are still absent, or were brought in, and blocks that were
 * partly overwritten are dropped. Needs the device's slow lock and the engine lock, which is released while it waits. */
int spw_replay_op_run_unlocking(struct spw_replay_op *run, struct spw_device *d, struct spw_stream *s);

/* Returns the stream for a replay that nobody waits for in particular: `s`, if the program uses no other stream. If it uses
 * several, what one of them has got may not end before the program goes on, and all of them would come after the replay; so
 * it is a stream of ours, on which the replay waits only for users of what it touches. */
struct spw_stream *spw_replay_op_beside_locked(struct spw_device *d, const struct spw_recorded_op *recorded_op,
                                               struct spw_stream *s);

void spw_replay_op_end_locked(struct spw_replay_op *run);
#endif
