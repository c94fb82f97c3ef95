/* recorded_op.h - operations of the program kept such that they can be submitted again: everything that the driver was told,
 * with the versions of what they touched.
 *
 * A recorded operation is made when its operation is begun, just before the driver is told of it, and belongs to whoever
 * holds it: the operation itself until the driver has answered, the iteration that it is a part of, and each block whose
 * bytes it made. It is void when the driver refused the operation, or once something happened that it cannot know about: the
 * epoch went on. Their memory is bounded. Engine lock throughout. */
#ifndef SPILLWAY_SHIM_RECORDED_OP_H
#define SPILLWAY_SHIM_RECORDED_OP_H
#include "ledger.h"
#include "call_args.h"
#include "recorded_touch.h"
#include "verdicts.h"

struct spw_op;

#define SPW_RECORDED_OPS_MAX_BYTES ((size_t)64 << 20) /* of all recorded operations together */

/* Small allocations up to this travel with what reads them, so that it does not matter who changes them. */
#define SPW_LENT_MAX_BYTES ((uint64_t)64 << 10)

enum { SPW_RECORDED_OP_DEPTH = 64 }; /* operations that one thing is made by, one after the other; more are not followed */

/* SPW_REPLAYABLE where the operation can be kept, as far as that can be told before it is, else why not. */
enum spw_replay_verdict spw_recorded_op_verdict(const struct spw_op *op);

/* Keeps the operation that is about to be submitted, with the versions of before, and what the variables of its module hold
 * then; `after` is the caller's to fill in (versions.c). NULL, and the reason in *ret_why. One holder: the caller. */
struct spw_recorded_op *spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why);

/* Whether what the variables of its module held is known to be no address: it is run again where they are PLAIN alone. */
enum spw_saved_state spw_recorded_op_variables_locked(struct spw_recorded_op *recorded_op);

/* Submits it again to `s`, as the operation of that stream that was numbered last: the driver's call alone, for the twin
 * of the function (twins.h), whose variables hold what the module's held. Whatever it touches is resident and ordered,
 * behind what ran in the twin before as well, side buffers are in place, its context is current. 0 or a failure of the
 * driver. */
int spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s);

void spw_recorded_op_hold(struct spw_recorded_op *recorded_op);
void spw_recorded_op_let_go(struct spw_recorded_op *recorded_op); /* the last one frees it; NULL is fine */

/* Whom the operation touched, if that is still so; NULL: it has gone, or is somebody else. */
struct spw_block *spw_touched_block_locked(const struct spw_recorded_op_touch *touch);
struct spw_slot *spw_touched_slot_locked(const struct spw_recorded_op_touch *touch);

/* Whose it was is still there at that address, be it as a retained block (dependents.h). */
bool spw_recorded_op_touch_is_there(const struct spw_recorded_op_touch *touch);

/* True when running it again now would give what is left of its making: it is not void, of this epoch, and each touch is
 * whose it was. Versions are the caller's to compare. */
bool spw_recorded_op_is_good(const struct spw_recorded_op *recorded_op);

struct spw_recorded_op_counts {
    uint64_t alive, bytes, bytes_peak;
    uint64_t made, refused_for_room;
};
extern struct spw_recorded_op_counts spw_recorded_op_counts SPW_OURS;

extern bool spw_recorded_op_order_unseen; /* no operation is kept any more (versions.h) */

void spw_recorded_ops_reset(void); /* forgets the counts: for tests, after the last one was let go of */
#endif
