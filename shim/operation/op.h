/* op.h - an operation of the program from its beginning to its end: the memory that it may touch, and what is known about
 * it. */
#ifndef SPILLWAY_SHIM_OP_H
#define SPILLWAY_SHIM_OP_H
#include "durations.h"
#include "ledger.h"
#include "place.h"
#include "verdicts.h"
#include "launch_class.h"

struct spw_call_args;
struct spw_recorded_op;
struct spw_probe;

struct spw_op {
    CUstream handle;   /* the stream as the driver gets it: CU_STREAM_PER_THREAD where a per-thread call said 0 */
    CUdeviceptr *hits; /* the addresses that it may touch, in the caller's array, which has room for `room` addresses */
    unsigned count, room;
    CUdeviceptr *long_hits;                 /* NULL, or an array from malloc() that replaces `hits`. spw_op_begin() makes one
                                             * if pointer tables lead to more addresses than there is room for. The caller
                                             * frees it, whether or not begin succeeds */
    unsigned read_only;                     /* number of hits, the last ones, that are only read */
    unsigned doubtful;                      /* of a launch: number of hits, the last ones, that lie in untrusted places
                                             * (scan.h) */
    const struct spw_scan_doubted *doubted; /* the hits by which the operation is not recognised (scan.h); NULL: none. Valid
                                             * only until begin returns */
    bool follows_no_tables;                 /* it moves bytes and does not read any of them as an address */
    bool everything;                        /* it may touch anything: its addresses could not be found out */
    CUfunction function;                    /* the kernel, or NULL */
    const char *name;                       /* the driver call, for messages */
    struct spw_signature signature;         /* what it is recognised by */
    /* The arguments for the driver (recorded_op.h); NULL: the operation cannot be kept. */
    const struct spw_call_args *submission;
    struct spw_stream *stream; /* set by begin */
    bool reads_early;          /* set by spw_op_begin_early(): it may read before its stream has come that far */
    /* Set by begin: the measurement of its duration, or NULL. The caller calls spw_duration_before() and _after() with it,
     * directly around the driver call, and ends the operation after that. */
    struct spw_duration *timed;
    /* Set by begin: number of hits, including those found through pointer tables, which lie behind `count`. */
    unsigned reached;
    /* Of a launch, while versions are kept (versions.h), and valid only during the operation: its class, and the same again
     * if this launch may be believed to act like its class. */
    struct spw_launch_class *class;
    const struct spw_launch_class *believed;
    uint64_t writes;  /* bit per hit: what the class said when the operation was looked at. What is learned while the
                       * operation is being begun holds for later ones only, so that all notes about this one agree */
    uint64_t spared;  /* bit per hit: it lies in an untrusted place, and nothing is believed to be written through it */
    uint64_t fresh;   /* bit per hit: nothing was ever written there, so this launch is taken to write it (versions.h) */
    uint64_t inputs;  /* bit per hit: the library that launches promises to only read there (library_inputs.h) */
    uint64_t scratch; /* bit per hit: it lies in the workspace of the library call, which holds only what the call has set */
    /* Set by the follower (follower.h) while versions are kept: the operation is to be kept as operation `wish` - 1 of the
     * course. 0: it is not. */
    uint32_t wish;
    /* Set if `wish` is: the recorded operation, held until the driver call has returned. NULL: `verdict` is the reason why
     * not. */
    struct spw_recorded_op *recorded_op;
    enum spw_replay_verdict verdict;
    struct spw_probe *probe; /* set by begin: spw_probe_after() has to be called directly after the driver call; NULL: no
                              * probe */
};

/* Returns true if the operation may write what the hit leads to. That holds for whatever was reached through tables, and
 * not for what the call only reads. */
static inline bool spw_op_may_write_hit(const struct spw_op *op, unsigned hit)
{
    return hit >= op->count || hit < op->count - op->read_only;
}

/* The same, taking beliefs into account: what a kernel was never seen to write, it is believed not to write. */
static inline bool spw_op_writes_hit(const struct spw_op *op, unsigned hit)
{
    const bool is_read = hit < 64 && (op->spared | op->inputs) >> hit & 1, is_fresh = hit < 64 && op->fresh >> hit & 1;
    const bool is_written = !op->believed || hit >= SPW_CLASS_HITS || op->writes >> hit & 1;
    return hit >= op->count || (hit < op->count - op->read_only && !is_read && (is_fresh || is_written));
}

/* Of a launch: returns true if the kernel's type or the library that launches it says that it only reads there. */
static inline bool spw_op_is_told_to_read_hit(const struct spw_op *op, unsigned hit)
{
    return (hit < 64 && op->inputs >> hit & 1) || spw_launch_class_is_constant(op->class, hit);
}

/* Returns false if the call, the kernel's type or its library says that it only reads there. What was observed does not
 * count. */
static inline bool spw_op_may_change_hit(const struct spw_op *op, unsigned hit)
{
    return spw_op_may_write_hit(op, hit) && !(op->function && spw_op_is_told_to_read_hit(op, hit));
}

/* Returns true if it is only a belief that the launch leaves this hit unchanged: it was not observed to write it, and
 * neither type nor library says that it only reads it. */
static inline bool spw_op_believes_hit(const struct spw_op *op, unsigned hit)
{
    return op->function && spw_op_may_write_hit(op, hit) && !spw_op_writes_hit(op, hit) &&
           !spw_op_is_told_to_read_hit(op, hit);
}
#endif
