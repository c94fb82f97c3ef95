/* recorded_op.h - keeps operations of the program so that they can be submitted again: all arguments of the driver call,
 * with the versions of the memory that they touched.
 *
 * A recorded operation is made when its operation begins, just before the driver call. It is freed when its last holder
 * releases it: the operation itself holds it until the driver call has returned, and so do the iteration that it is a part
 * of and each block whose bytes it made. It becomes void if the driver refuses the operation, and it is no longer good once
 * the epoch has been raised, after something that it cannot know about. The memory of all recorded operations is bounded.
 * The caller holds the engine lock throughout. */
#ifndef SPILLWAY_SHIM_RECORDED_OP_H
#define SPILLWAY_SHIM_RECORDED_OP_H
#include "ledger.h"
#include "call_args.h"
#include "recorded_touch.h"
#include "verdicts.h"

struct spw_op;

#define SPW_RECORDED_OPS_MAX_BYTES ((size_t)64 << 20) /* of all recorded operations together */

/* Small allocations up to this size are saved with the operations that read them, so that it does not matter who changes
 * them later. */
#define SPW_LENT_MAX_BYTES ((uint64_t)64 << 10)

enum { SPW_RECORDED_OP_DEPTH = 64 }; /* most operations in a row that make one thing; longer chains are not followed */

/* Returns SPW_REPLAYABLE if the operation can be kept, as far as that can be told beforehand, else the reason. */
enum spw_replay_verdict spw_recorded_op_verdict(const struct spw_op *op);

/* Keeps the operation that is about to be submitted, with the versions before it and with what the variables of its module
 * hold. The caller fills in the versions `after` (versions.c). Returns NULL with the reason in *ret_why, or the recorded
 * operation with one holder: the caller. */
struct spw_recorded_op *spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why);

/* Returns whether the saved variables of its module are known to hold no address. The operation can be run again only if
 * they are PLAIN. */
enum spw_saved_state spw_recorded_op_variables_locked(struct spw_recorded_op *recorded_op);

/* Submits the operation again to `s`, as the operation of that stream that was numbered last. This is the driver call
 * alone, for the twin of the function (twins.h), whose variables are set to what the module's held. The caller has made
 * everything that it touches resident, ordered it, also behind what ran in the twin before, put side buffers in place and
 * made its context current. Returns 0 or a failure of the driver. */
int spw_recorded_op_submit_locked(const struct spw_recorded_op *recorded_op, struct spw_stream *s);

void spw_recorded_op_hold(struct spw_recorded_op *recorded_op);
void spw_recorded_op_let_go(struct spw_recorded_op *recorded_op); /* the last holder frees it; NULL has no effect */

/* Return the block or slot that the operation touched, or NULL if it is gone or the memory belongs to another allocation. */
struct spw_block *spw_touched_block_locked(const struct spw_recorded_op_touch *touch);
struct spw_slot *spw_touched_slot_locked(const struct spw_recorded_op_touch *touch);

/* Returns true if the allocation that was touched still lies at that address, in use or as a retained block
 * (dependents.h). */
bool spw_recorded_op_touch_is_there(const struct spw_recorded_op_touch *touch);

/* Returns true if running the operation again could still give what it made: it is not void, it is of this epoch, and every
 * allocation that it touched is still there. Versions are for the caller to compare. */
bool spw_recorded_op_is_good(const struct spw_recorded_op *recorded_op);

struct spw_recorded_op_counts {
    uint64_t alive, bytes, bytes_peak;
    uint64_t made, refused_for_room;
};
extern struct spw_recorded_op_counts spw_recorded_op_counts SPW_OURS;

extern bool spw_recorded_op_order_unseen; /* no operation is kept any more (versions.h) */

void spw_recorded_ops_reset(void); /* resets the counts: for tests, after the last recorded operation was freed */
#endif
