/* durations.h - how long the device takes for each operation of an iteration that is recorded: a pair of events directly
 * around the driver's call.
 *
 * The first event is recorded behind everything that the operation waits for (copies that bring something in are ordered
 * before it), so the time is the operation's own; timing.h, which is for traces, measures what the program's call cost in
 * all. The two know nothing of each other and may be on at once. Where the device is faster than the host, the time from
 * one submission to the next is part of it. Where operations of several streams go on at once, that time counts once, for
 * the one submitted first: together they take as long as they took.
 *
 * The engine takes a pair for an operation that it wants timed and leaves it in spw_op.timed; whoever makes the driver call
 * for that operation records both events. Other operations cost nothing. Engine lock where a name says so, none otherwise.
 */
#ifndef SPILLWAY_SHIM_DURATIONS_H
#define SPILLWAY_SHIM_DURATIONS_H
#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"

struct spw_duration; /* a pair of events */

/* A pair for the operation that is submitted to `s` next, which the caller knows as `ordinal`. Belongs to the operation
 * until spw_duration_after(). NULL: it is not timed, since a stream captures or no event can be had. */
struct spw_duration *spw_duration_take_locked(struct spw_device *d, const struct spw_stream *s, uint32_t ordinal);

/* Directly before the driver's call and directly after it, which has `submitted` the operation or refused it. NULL is fine.
 */
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

/* What a copy of the program's own, of so many bytes to or from the host, takes itself, where so much was measured: others
 * of its direction, ours, may have gone before it all the while. `bytes_per_us`: at which ours go. */
double spw_duration_of_copy_us(double measured_us, uint64_t bytes, double bytes_per_us);

/* Tells of the device's operations that are complete, each once, in microseconds. True when none is left: all that were
 * taken have been told, or were refused, or could not be measured. Waits for nothing. To be called now and then while an
 * iteration is timed, so that its events are used again. */
bool spw_durations_collect_locked(struct spw_device *d, void (*tell)(void *context, uint32_t ordinal, double us),
                                  void *context);

/* Forgets what was not told yet, and gives the device's events back to the driver. */
void spw_durations_stop_locked(struct spw_device *d);

/* The context is about to be destroyed: what was measured in it is lost. */
void spw_durations_context_gone_locked(CUcontext context);

void spw_durations_reset(void); /* forgets everything without a driver call: for tests */
#endif
