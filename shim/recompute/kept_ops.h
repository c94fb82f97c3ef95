/* kept_ops.h - keeps the operations that a plan may replay: which are kept when they come, which make dropped blocks again,
 * and the functions that rooms below call for everything that is dropped (rematerialiser.h).
 *
 * The operations that the plan has recorded are kept anew in each iteration, and those of the iteration before are released
 * then; blocks hold the operations that made them. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_KEPT_OPS_H
#define SPILLWAY_SHIM_KEPT_OPS_H
#include "course/course.h"
#include "op.h"
#include "plan/actions.h"

/* Call when the device begins to follow a plan that has operations replayed. `number` identifies its course
 * (verify_records.h). Versions are kept from here on. Returns 0, or -ENOMEM: then nothing is kept, and whatever is to be
 * dropped is evicted with a copy. Needs the device's slow lock as well, and releases the engine lock while it waits, after
 * its last look at the arguments. */
int spw_kept_ops_begin_unlocking(struct spw_device *d, const struct spw_course *course, uint64_t number,
                                 const struct spw_actions *actions);

/* Call when it does so no longer. What is dropped stays so until it is used. */
void spw_kept_ops_end_locked(struct spw_device *d);

/* Asks for the operation that was begun to be kept: it is operation `operation` of the course. */
void spw_kept_ops_wish_locked(struct spw_op *op, uint32_t operation);

/* Returns true if no action of the plan after this one concerns the tensor. */
bool spw_kept_ops_is_over_locked(const struct spw_device *d, uint32_t tensor, uint32_t action);

/* Replays the operation now, on the stream `s`; replay.h says how, and what `may_wait` means. Locks as for the first
 * function. */
int spw_kept_ops_again_unlocking(struct spw_device *d, uint32_t operation, struct spw_stream *s, bool may_wait);

/* Call when a replay of the operation gave other bytes: in the course that is followed, no operation of its function counts
 * as replayable any more, and each is taken to read what it writes. */
void spw_kept_ops_unlearn_locked(struct spw_device *d, struct spw_course *course, const struct spw_recorded_op *wrong);

void spw_kept_ops_reset(void); /* forgets everything: for tests, and in a forked child */
#endif
