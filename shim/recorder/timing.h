/* timing.h - measures when operations ran on the device: a pair of events around each, while timing is on.
 *
 * While it is off it costs nothing. While it is on, the program's streams get two more events for each operation, so
 * operations that would run at once may run one after another: durations are for planning, not for judging the program.
 * Recorder lock held where a name says so; the other functions are called without it. */
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

/* Call before the driver call. Returns NULL if timing is off, any stream captures, or no event can be had. */
struct spw_timed *spw_timing_begin(CUstream stream);

/* Call after the driver call, which was operation `op`. */
void spw_timing_end(struct spw_timed *timed, CUstream stream, uint64_t op);
void spw_timing_cancel(struct spw_timed *timed); /* it was no operation, or failed; NULL is fine */

/* Returns the next operation, in the order in which they ended, that is known to be complete; false: none yet. The start
 * counts from the first timed operation of its context. */
bool spw_timing_next(uint64_t *ret_op, uint64_t *ret_start_ns, uint64_t *ret_duration_ns);

/* Call before the context, and with it its events, is destroyed. */
void spw_timing_context_gone(CUcontext context);
void spw_timing_reset(void); /* forgets everything without a driver call: in a forked child, and for tests */
#endif
