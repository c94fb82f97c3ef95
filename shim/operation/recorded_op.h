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
#include "saved_variables.h"
#include "call_args.h"
#include "verdicts.h"
#include "versions.h"

#define SPW_RECORDED_OPS_MAX_BYTES ((size_t)64 << 20) /* of all recorded operations together */

/* Small allocations up to this travel with what reads them, so that it does not matter who changes them. */
#define SPW_LENT_MAX_BYTES ((uint64_t)64 << 10)

enum { SPW_RECORDED_OP_DEPTH = 16 }; /* operations that one thing is made by, one after the other; more are not followed */

enum spw_recorded_op_access { SPW_RECORDED_OP_READS = 1, SPW_RECORDED_OP_WRITES = 2 };

struct spw_recorded_op_touch {  /* each block or slot once, in the order of the hits */
    struct spw_versioned *what; /* to be looked at only after spw_recorded_op_touch_is_there() */
    struct spw_block *block;    /* NULL: a slot; the same holds */
    CUdeviceptr address;        /* where it begins */
    uint64_t bytes, serial;     /* a serial that differs means that it is somebody else by now */
    uint64_t before, after;     /* versions; equal where it is only read */
    uint64_t hits;              /* bit per hit of the launch that lies in it; those from the 64th on: none */
    uint8_t access; /* enum spw_recorded_op_access, or-ed. A launch reads all it is given, a copy or set what it says */
    bool whole;     /* what it held before does not matter: nothing was ever written to it (versions.h), or a copy or set
                     * says that it overwrites all of it */
    struct spw_recorded_op *previous; /* of a block that is written and not `whole`: what wrote to it last, held, where that
                                       * is known; NULL: it is not, so that what it held cannot be made again */
    struct spw_read_check since; /* whether what `previous` left was as it was when this operation wrote it (read_check.h) */
    bool believed;  /* the kernel's type does not say that it only reads it, but that is what it was seen to do */
    bool lent;      /* a slot that is written, or of which no type says that it is not: while the launch runs again it holds
                     * what it held then, and afterwards what it held before that */
    uint32_t saved; /* of a slot that is lent and was read: what it held, offset in the stash plus 1; 0: none */
};

struct spw_recorded_op {
    uint64_t epoch;
    uint64_t order;     /* grows from one that is kept to the next */
    uint32_t operation; /* of the course */
    uint32_t holders;
    uint16_t depth; /* the longest way along `previous`, itself included */
    bool is_void;
    bool is_defined; /* what it leaves of fresh blocks was filled with a pattern before (kept_ops.c) */
    uint8_t compare; /* verify.c: whether what it makes again will be compared, once that is decided */
    uint64_t course; /* that it is an operation of (verify_records.h); 0: none, and nobody compares */
    CUcontext context;
    struct spw_stream *stream; /* where it ran */
    CUfunction function;       /* NULL: a copy or set */
    uint16_t touch_count;
    struct spw_recorded_op_touch *touches;
    struct spw_saved_variables variables; /* of its module, as they were before */
    size_t bytes;                         /* that it takes of SPW_RECORDED_OPS_MAX_BYTES */
    struct spw_kept_call_args *submission;
};

/* A launch is taken to read whatever it is given and has a content. */
static inline bool spw_touch_reads(const struct spw_recorded_op_touch *touch)
{
    return touch->access & SPW_RECORDED_OP_READS && !touch->whole;
}
static inline bool spw_touch_writes(const struct spw_recorded_op_touch *touch)
{
    return touch->access & SPW_RECORDED_OP_WRITES;
}
static inline bool spw_touch_makes(const struct spw_recorded_op_touch *touch)
{
    return spw_touch_writes(touch) && touch->whole;
}

/* SPW_REPLAYABLE where the operation can be kept, as far as that can be told before it is, else why not. */
enum spw_replay_verdict spw_recorded_op_verdict(const struct spw_op *op);

/* Keeps the operation that is about to be submitted, with the versions of before, and what the variables of its module hold
 * then; `after` is the caller's to fill in (versions.c). NULL, and the reason in *ret_why. One holder: the caller. */
struct spw_recorded_op *spw_recorded_op_make_locked(const struct spw_op *op, enum spw_replay_verdict *ret_why);

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

void spw_recorded_ops_reset(void); /* forgets the counts: for tests, after the last one was let go of */
#endif
