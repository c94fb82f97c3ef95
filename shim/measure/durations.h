/* durations.h - measures how long the device takes for each operation of an iteration that is recorded, by a pair of events
 * directly around the driver call.
 *
 * The first event is recorded behind everything that the operation waits for (prefetches are ordered before it), so the
 * time is the operation's own. timing.h, which is for traces, measures what the program's call cost in all; the two are
 * independent and may be on at once. If the device is faster than the host, the time from one submission to the next is
 * included. If operations of several streams run at once, that time counts once, for the one submitted first: together they
 * take as long as they took.
 *
 * The engine takes a pair for an operation that it wants timed and leaves it in spw_op.timed; the caller that makes the
 * driver call for that operation records both events. Other operations cost nothing. Functions whose names say so need the
 * engine lock; the others need none. */
#ifndef SPILLWAY_SHIM_DURATIONS_H
#define SPILLWAY_SHIM_DURATIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

struct spw_duration; /* a pair of events */

/* Returns a pair for the operation that is submitted to `s` next, which the caller knows as `ordinal`. It belongs to the
 * operation until spw_duration_after(). NULL: the operation is not timed, since a stream captures or no event can be had. */
struct spw_duration *spw_duration_take_locked(struct spw_device *d, const struct spw_stream *s, uint32_t ordinal);

/* Called directly before and after the driver call, which has `submitted` the operation or refused it. NULL has no
 * effect. */
void spw_duration_begin(struct spw_duration *pair);
void spw_duration_end(struct spw_duration *pair, bool submitted);

static inline void spw_duration_before(struct spw_duration *pair)
{
    if (__builtin_expect(pair != NULL, 0))
        spw_duration_begin(pair);
}

static inline void spw_duration_after(struct spw_duration *pair, bool submitted)
{
    if (__builtin_expect(pair != NULL, 0))
        spw_duration_end(pair, submitted);
}

/* Returns what a copy of the program's own, of `bytes` bytes to or from the host, takes itself if `measured_us` was
 * measured: other copies in its direction, ours, may have delayed it all the time. `bytes_per_us`: the speed of our
 * copies. */
double spw_duration_of_copy_us(double measured_us, uint64_t bytes, double bytes_per_us);

/* Calls `tell` for each of the device's operations that are complete, once, with its time in microseconds. Returns true if
 * none is left: each was reported, was refused, or could not be measured. Waits for nothing. To be called now and then
 * while an iteration is timed, so that its events are reused. */
bool spw_durations_collect_locked(struct spw_device *d, void (*tell)(void *context, uint32_t ordinal, double us),
                                  void *context);

/* Forgets what was not reported yet, and releases the device's events. */
void spw_durations_stop_locked(struct spw_device *d);

/* The context is about to be destroyed: what was measured in it is lost. */
void spw_durations_context_gone_locked(CUcontext context);

void spw_durations_reset(void); /* forgets everything without a driver call: for tests */
#endif
