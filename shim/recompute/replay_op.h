/* replay_op.h - operations that were kept run again, one after the other, to make one thing: what they touch is made ready,
 * the small allocations that they write are lent the content that they had, and whoever comes after them is ordered.
 *
 * Used by replay.c alone, and by whoever is owed something. */
#ifndef SPILLWAY_SHIM_REPLAY_OP_H
#define SPILLWAY_SHIM_REPLAY_OP_H
#include "dependents.h"
#include "replay_run.h"

enum spw_replay_reason { SPW_REPLAY_DEMAND, SPW_REPLAY_PLAN, SPW_REPLAY_RESCUE, SPW_REPLAY_REASONS };

struct spw_replayed {                   /* since the start; engine lock */
    uint64_t count[SPW_REPLAY_REASONS]; /* blocks that were made again, with what they were made of */
    uint64_t bytes[SPW_REPLAY_REASONS];
    uint64_t submitted_count;          /* operations that ran again */
    uint64_t postponed_count;          /* planned, but there was no memory */
    uint64_t failed_count, owed_count; /* attempts; slots that could not be put back at once */
};
extern struct spw_replayed spw_replayed;

/* Holds the operations that it takes to make what `recorded_op` made, and the blocks that they touch. 0; -ESTALE: these are
 * not all there; -ENOMEM. To be ended in any case. */
int spw_replay_op_begin(struct spw_replay_op *run, struct spw_recorded_op *recorded_op);

/* Makes everything ready and submits it, to `s` if that can be. 0: whatever it writes is resident, and drops no more; else
 * what was absent is so still, or has come in, and what was overwritten in part is dropped. Needs the device's slow lock and
 * the engine lock, which it lets go of while it waits. */
int spw_replay_op_run_unlocking(struct spw_replay_op *run, struct spw_device *d, struct spw_stream *s);

/* Where the operation runs again for nobody in particular. That is `s`, the program's, where it has no other. What one of
 * several was given may not end before the program goes on, and all of them come behind the operation: so that runs on one
 * of ours then, where it waits for nothing but who uses what it touches. */
struct spw_stream *spw_replay_op_beside_locked(struct spw_device *d, const struct spw_recorded_op *recorded_op,
                                               struct spw_stream *s);

void spw_replay_op_end_locked(struct spw_replay_op *run);
#endif
