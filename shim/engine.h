/* engine.h - what has to happen before an operation may run, and what it leaves behind.
 *
 * A hook describes its operation, begins it (every byte that it may touch is then resident, or ordered to be before it
 * starts), makes the driver call, and ends it. Deciding is done here and in room.c; bytes are moved by mover.c alone. */
#ifndef SPILLWAY_SHIM_ENGINE_H
#define SPILLWAY_SHIM_ENGINE_H
#include "durations.h"
#include "ledger.h"
#include "planned.h"
#include "room.h"
#include "verdicts.h"
#include "writesets.h"

struct spw_submission;
struct spw_rerun;
struct spw_trial;

struct spw_op {
    CUstream handle;   /* as the driver will get it: CU_STREAM_PER_THREAD where a per-thread call said 0 */
    CUdeviceptr *hits; /* addresses that it may touch; the caller's array, with room for more behind */
    unsigned count, room;
    unsigned read_only;                     /* the last so many of them are only read */
    unsigned doubtful;                      /* of a launch: the last so many are in places that are not trusted (scan.h) */
    const struct spw_scan_doubted *doubted; /* hits that it is not known by (scan.h); NULL: none. Only until begin returns */
    bool follows_no_tables;                 /* it moves bytes and reads none of them as addresses */
    bool everything;                        /* it could not be found out what it touches */
    CUfunction function;                    /* for messages: the kernel, or NULL */
    const char *name;                       /* for messages: the driver call */
    struct spw_signature signature;         /* what it is, for recognising it */
    const struct spw_submission *submission; /* what the driver will be told (reruns.h); NULL: it is not kept for later */
    struct spw_stream *stream;               /* set by begin */
    /* Set by begin: what measures how long it runs, or NULL. The caller gives it to spw_duration_before() and _after(),
     * directly around the driver call, and ends the operation after that. */
    struct spw_duration *timed;
    /* Set by begin. Those of the hits that lie behind `count` were reached through pointer tables. */
    unsigned reached;
    /* Of a launch, while versions are kept (versions.h), and not for later than that: what it is a launch of, and that again
     * where it is believed of this one. */
    const struct spw_writeset *kind, *writeset;
    uint64_t spared; /* bit per hit: it is in a place that is not trusted, and believed not to be written through */
    uint64_t fresh;  /* bit per hit: nothing was ever written there, so it is written now (versions.h) */
    /* Set while it is told of (spw_planned_op_locked()), while versions are kept: it is to be kept as operation `wish` - 1
     * of the course. */
    uint32_t wish;
    struct spw_rerun *rerun; /* then: what was kept, held until the driver has answered; NULL: `verdict` says why not */
    enum spw_replay_verdict verdict;
    struct spw_trial *trial; /* set by begin: spw_trial_after() comes directly behind the driver's call; else NULL */
};

/* Whether it may write what the hit leads to: what was reached through tables, yes; what the call only reads, no. */
static inline bool spw_op_may_write_hit(const struct spw_op *op, unsigned hit)
{
    return hit >= op->count || hit < op->count - op->read_only;
}

/* The same as far as is known: what a kernel has never been seen to write, it is believed not to. */
static inline bool spw_op_writes_hit(const struct spw_op *op, unsigned hit)
{
    const bool is_spared = hit < 64 && op->spared >> hit & 1, is_fresh = hit < 64 && op->fresh >> hit & 1;
    return hit >= op->count ||
           (hit < op->count - op->read_only && !is_spared && (is_fresh || spw_writeset_writes(op->writeset, hit)));
}

/* What a launch is given, and is not known to write, while the kernel's type does not say that it only reads it: that it
 * leaves it alike is a belief. */
static inline bool spw_op_believes_hit(const struct spw_op *op, unsigned hit)
{
    const bool is_constant = op->kind && op->kind->is_declared && hit < 64 && op->kind->declared.constant >> hit & 1;
    return op->function && spw_op_may_write_hit(op, hit) && !spw_op_writes_hit(op, hit) && !is_constant;
}

/* Makes everything resident that the operation may touch and numbers it on its stream. 0: go on, then call spw_op_end()
 * whether or not the driver took the operation. -ENOMEM: it cannot be made resident within the budget; said with name, bytes
 * and what would do. Other negative results: a driver call of ours failed. Nothing is held after a failure. No lock held. */
int spw_op_begin(struct spw_op *op);

/* The driver has answered, and memory is short: marks are worth their price, and a plan may have something to do. */
void spw_op_end_pressed(struct spw_stream *s);

static inline void spw_op_end_on(struct spw_stream *s)
{
    atomic_fetch_sub_explicit(&s->in_call, 1, memory_order_release);
    if (__atomic_load_n(&spw_room_pressed, __ATOMIC_RELAXED) && !s->calm)
        spw_op_end_pressed(s);
}

static inline void spw_op_end(struct spw_op *op)
{
    spw_op_end_on(op->stream);
}

/* The same where it may have been kept (versions.h): with what the driver has answered. */
static inline void spw_op_answered(struct spw_op *op, bool taken)
{
    if (op->rerun)
        spw_versions_op_end(op, taken);
    spw_op_end(op);
}

/* Waits until what was submitted through begin and end is complete and learns it: after the program has synchronised a
 * stream (NULL record: the whole context), everything that was numbered there before is known to be done. `begun` was read
 * before the driver call. */
void spw_note_stream_done(struct spw_stream *s, uint64_t begun);

struct spw_engine_counts {                        /* for the summary; engine lock */
    uint64_t slow_operations, refused_operations; /* of spw_tick in all */
};

extern struct spw_engine_counts spw_engine_counts;
extern bool spw_pinning_everything; /* spw_pin_everything() was called */

/* Makes one absent block resident; the caller holds the device's slow lock and the engine lock, and has made room. */
int spw_engine_bring_in_locked(struct spw_device *d, struct spw_block *b);

/* The same, making room first; lets go of the engine lock while it waits for the GPU. */
int spw_engine_make_resident_unlocking(struct spw_device *d, struct spw_block *b);

/* The same for memory that is used without an operation being begun: nobody is at it any more (SPW_FENCED). */
int spw_engine_make_ready_unlocking(struct spw_device *d, struct spw_block *b);
#endif
