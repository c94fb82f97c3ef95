/* op.h - an operation of the program while it is begun, submitted and ended: what it may touch, and what is known of it. */
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
    CUstream handle;   /* as the driver will get it: CU_STREAM_PER_THREAD where a per-thread call said 0 */
    CUdeviceptr *hits; /* addresses that it may touch; the caller's array, with room for more behind */
    unsigned count, room;
    CUdeviceptr *long_hits; /* NULL, or of malloc() and the same as `hits`. Begin makes one where tables lead to more than
                             * there is room for. The caller frees it, whether or not begin succeeds */
    unsigned read_only;     /* the last so many of them are only read */
    unsigned doubtful;      /* of a launch: the last so many are in places that are not trusted (scan.h) */
    const struct spw_scan_doubted *doubted; /* hits that it is not known by (scan.h); NULL: none. Only until begin returns */
    bool follows_no_tables;                 /* it moves bytes and reads none of them as addresses */
    bool everything;                        /* it could not be found out what it touches */
    CUfunction function;                    /* for messages: the kernel, or NULL */
    const char *name;                       /* for messages: the driver call */
    struct spw_signature signature;         /* what it is, for recognising it */
    /* What the driver will be told (recorded_op.h); NULL: it is not kept for later. */
    const struct spw_call_args *submission;
    struct spw_stream *stream; /* set by begin */
    bool reads_early;          /* set by begin, on its slow way: spw_op_begin_early() */
    /* Set by begin: what measures how long it runs, or NULL. The caller gives it to spw_duration_before() and _after(),
     * directly around the driver call, and ends the operation after that. */
    struct spw_duration *timed;
    /* Set by begin. Those of the hits that lie behind `count` were reached through pointer tables. */
    unsigned reached;
    /* Of a launch, while versions are kept (versions.h), and not for later than that: what it is a launch of, and that again
     * where it is believed of this one. */
    struct spw_launch_class *class;
    const struct spw_launch_class *believed;
    uint64_t writes; /* bit per hit: what that said when the operation was looked at. What is learned while it is being begun
                      * holds for later ones: all that is noted of this one has to agree */
    uint64_t spared; /* bit per hit: it is in a place that is not trusted, and believed not to be written through */
    uint64_t fresh;  /* bit per hit: nothing was ever written there, so it is written now (versions.h) */
    uint64_t inputs; /* bit per hit: the library that launches promises to only read there (library_inputs.h) */
    uint64_t scratch; /* bit per hit: it lies in the workspace of the library's call, and holds nothing else than what the
                       * call has set there */
    /* Set while it is told of (follower.h), while versions are kept: it is to be kept as operation `wish` - 1
     * of the course. */
    uint32_t wish;
    /* Then: what was kept, held until the driver has answered; NULL: `verdict` says why not. */
    struct spw_recorded_op *recorded_op;
    enum spw_replay_verdict verdict;
    struct spw_probe *probe; /* set by begin: spw_probe_after() comes directly behind the driver's call; else NULL */
};

/* Whether it may write what the hit leads to: what was reached through tables, yes; what the call only reads, no. */
static inline bool spw_op_may_write_hit(const struct spw_op *op, unsigned hit)
{
    return hit >= op->count || hit < op->count - op->read_only;
}

/* The same as far as is known: what a kernel has never been seen to write, it is believed not to. */
static inline bool spw_op_writes_hit(const struct spw_op *op, unsigned hit)
{
    const bool is_read = hit < 64 && (op->spared | op->inputs) >> hit & 1, is_fresh = hit < 64 && op->fresh >> hit & 1;
    const bool is_written = !op->believed || hit >= SPW_CLASS_HITS || op->writes >> hit & 1;
    return hit >= op->count || (hit < op->count - op->read_only && !is_read && (is_fresh || is_written));
}

/* Of a launch: that it only reads there is told by the kernel's type, or by the library that launches it. */
static inline bool spw_op_is_told_to_read_hit(const struct spw_op *op, unsigned hit)
{
    return (hit < 64 && op->inputs >> hit & 1) || spw_launch_class_is_constant(op->class, hit);
}

/* False where the call, the kernel's type or its library says that it only reads. What was observed of it does not count. */
static inline bool spw_op_may_change_hit(const struct spw_op *op, unsigned hit)
{
    return spw_op_may_write_hit(op, hit) && !(op->function && spw_op_is_told_to_read_hit(op, hit));
}

/* What a launch is given, and is not known to write, while nobody tells that it only reads it: that it leaves it alike is a
 * belief. */
static inline bool spw_op_believes_hit(const struct spw_op *op, unsigned hit)
{
    return op->function && spw_op_may_write_hit(op, hit) && !spw_op_writes_hit(op, hit) &&
           !spw_op_is_told_to_read_hit(op, hit);
}
#endif
