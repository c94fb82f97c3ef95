/* kept_ops.h - a device on a course whose plan has operations run again: which are kept when they come, which of them make
 * again what was dropped, and what the rooms below ask for on behalf of all that is dropped (rematerialiser.h).
 *
 * Operations that the plan has recorded are kept anew in each iteration, and the ones of the iteration before are let go of
 * then; blocks hold on to what made them. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_KEPT_OPS_H
#define SPILLWAY_SHIM_KEPT_OPS_H
#include "course/course.h"
#include "op.h"
#include "plan/actions.h"

/* The device follows a plan that has some operations run again, for a course with that number (verify_records.h). Versions
 * are kept from here on. 0; -ENOMEM: nothing will be kept, and whatever is to be dropped leaves with a copy. Needs the
 * device's slow lock as well, lets go of the engine lock while it waits: nothing is looked at after that. */
int spw_kept_ops_begin_unlocking(struct spw_device *d, const struct spw_course *course, uint64_t number,
                                 const struct spw_actions *actions);

/* It does not, any more. What is dropped stays so until somebody uses it. */
void spw_kept_ops_end_locked(struct spw_device *d);

/* The operation that was begun is that one of the course, and is wanted later. */
void spw_kept_ops_wish_locked(struct spw_op *op, uint32_t operation);

/* Behind this action of the plan none has to do with the tensor any more. */
bool spw_kept_ops_is_over_locked(const struct spw_device *d, uint32_t tensor, uint32_t action);

/* It is to run again now, on the stream `s`: replay.h says how, and about waiting. Locks as at the beginning. */
int spw_kept_ops_again_unlocking(struct spw_device *d, uint32_t operation, struct spw_stream *s, bool may_wait);

/* A replay of the operation gave other bytes: in the course that is followed no operation of its function can be replayed,
 * and what they write they may read as well. */
void spw_kept_ops_unlearn_locked(struct spw_device *d, struct spw_course *course, const struct spw_recorded_op *wrong);

void spw_kept_ops_reset(void); /* forgets everything: for tests, and in a forked child */
#endif
