/* engine.h - prepares operations so that they may run, and records what they leave behind.
 *
 * A hook describes its operation, begins it, makes the driver call, and ends it. After the beginning, every byte that the
 * operation may touch is resident, or ordered to be so before the operation starts. Decisions are made here and in
 * reclaim.c; only mover.c moves bytes. */
#ifndef SPILLWAY_SHIM_ENGINE_H
#define SPILLWAY_SHIM_ENGINE_H
#include "op.h"
#include "reclaim.h"
#include "versions.h"

/* Makes everything resident that the operation may touch, and numbers the operation on its stream. Returns 0: make the
 * driver call, then call spw_op_end() whether or not the driver accepted it. Returns -ENOMEM if the operation cannot be
 * made resident within the budget; a message has named it, its bytes and what would do. Other negative results: a driver
 * call of ours failed. After a failure nothing is held. Call with no lock held. */
int spw_op_begin(struct spw_op *op);

/* The same for an operation that may read memory before its stream has come that far: the host waits for everything that
 * brings in what it touches, instead of the stream. */
int spw_op_begin_early(struct spw_op *op);

/* Ends an operation while memory is short: records a mark if that is due, or carries out what a plan has due next. */
void spw_op_end_pressed(struct spw_stream *s);

static inline void spw_op_end_on(struct spw_stream *s)
{
    atomic_fetch_sub_explicit(&s->in_call, 1, memory_order_release);
    if (__atomic_load_n(&spw_reclaim_pressed, __ATOMIC_RELAXED) && !s->calm)
        spw_op_end_pressed(s);
}

static inline void spw_op_end(struct spw_op *op)
{
    spw_op_end_on(op->stream);
}

/* The same for an operation that may have been recorded (versions.h); `taken`: the driver has accepted it. */
static inline void spw_op_answered(struct spw_op *op, bool taken)
{
    if (op->recorded_op)
        spw_versions_op_end(op, taken);
    spw_op_end(op);
}

/* Records that everything numbered up to `begun` on the stream is done, after the program has synchronised the stream. The
 * caller has read `begun` before the driver call. */
void spw_note_stream_done(struct spw_stream *s, uint64_t begun);

struct spw_engine_counts { /* for the summary; engine lock */
    uint64_t slow_operations,
        refused_operations; /* operations that took the slow way, and that were refused; spw_tick counts all */
};

extern struct spw_engine_counts spw_engine_counts;

/* Makes one absent block resident, and room for it first. Needs the device's slow lock and the engine lock, which is
 * released while it waits for the GPU. */
int spw_engine_make_resident_unlocking(struct spw_device *d, struct spw_block *b);

/* The same for memory that is used without beginning an operation: also waits until its former owner's operations are done
 * (SPW_FENCED). */
int spw_engine_make_ready_unlocking(struct spw_device *d, struct spw_block *b);
#endif
