/* timing.h - when operations ran on the device: a pair of events around each, while timing is on.
 *
 * Off, it costs nothing. On, the program's streams get two more events per operation, so what runs at once may run one after
 * another: durations are for planning, not for judging the program. Recorder lock held where a name says so; the others are
 * called without it. */
#ifndef SPILLWAY_SHIM_TIMING_H
#define SPILLWAY_SHIM_TIMING_H
#include <cuda.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ours.h"

struct spw_timed;

void spw_timing_set(bool on);
extern atomic_bool spw_timing_now SPW_OURS;

static inline bool spw_timing_is_on(void)
{
    return atomic_load_explicit(&spw_timing_now, memory_order_relaxed);
}

/* Before the driver call: NULL when timing is off, any stream captures, or an event cannot be had. */
struct spw_timed *spw_timing_begin(CUstream stream);

/* After the call: it was operation `op`. */
void spw_timing_end(struct spw_timed *timed, CUstream stream, uint64_t op);
void spw_timing_cancel(struct spw_timed *timed); /* it was none, or failed; NULL is fine */

/* The next operation, in the order of their ends, that is known to be complete; false: none is yet. Start counts from the
 * first timed operation of its context. */
bool spw_timing_next(uint64_t *ret_op, uint64_t *ret_start_ns, uint64_t *ret_duration_ns);

/* The context is about to be destroyed: its events are. */
void spw_timing_context_gone(CUcontext context);
void spw_timing_reset(void); /* forgets everything without a driver call: in a forked child, and for tests */
#endif
