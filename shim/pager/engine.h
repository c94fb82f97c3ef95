/* engine.h - what has to happen before an operation may run, and what it leaves behind.
 *
 * A hook describes its operation, begins it (every byte that it may touch is then resident, or ordered to be before it
 * starts), makes the driver call, and ends it. Deciding is done here and in reclaim.c; bytes are moved by mover.c alone. */
#ifndef SPILLWAY_SHIM_ENGINE_H
#define SPILLWAY_SHIM_ENGINE_H
#include "op.h"
#include "reclaim.h"
#include "versions.h"

/* Makes everything resident that the operation may touch and numbers it on its stream. 0: go on, then call spw_op_end()
 * whether or not the driver took the operation. -ENOMEM: it cannot be made resident within the budget; said with name, bytes
 * and what would do. Other negative results: a driver call of ours failed. Nothing is held after a failure. No lock held. */
int spw_op_begin(struct spw_op *op);

/* The same for one that may read before its stream has come that far: the host has waited for all that brings in what it
 * touches, where else the stream would. */
int spw_op_begin_early(struct spw_op *op);

/* The driver has answered, and memory is short: marks are worth their price, and a plan may have something to do. */
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

/* The same where it may have been kept (versions.h): with what the driver has answered. */
static inline void spw_op_answered(struct spw_op *op, bool taken)
{
    if (op->recorded_op)
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

/* Makes one absent block resident, making room first; needs the device's slow lock and the engine lock, lets go of the
 * engine lock while it waits for the GPU. */
int spw_engine_make_resident_unlocking(struct spw_device *d, struct spw_block *b);

/* The same for memory that is used without an operation being begun: nobody is at it any more (SPW_FENCED). */
int spw_engine_make_ready_unlocking(struct spw_device *d, struct spw_block *b);
#endif
