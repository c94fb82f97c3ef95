/* uses_wait.h - functions by which the host waits: for uses, for a gate, or for threads that wait for these. Each releases
 * the engine lock meanwhile. The caller makes sure that the owner of the uses stays, and checks again what it knew. */
#ifndef SPILLWAY_SHIM_USES_WAIT_H
#define SPILLWAY_SHIM_USES_WAIT_H
#include "streams.h"

/* Waits until every use is complete. Returns 0 or a failure. */
int spw_uses_wait_unlocking(struct spw_uses *u);

/* The same, but while something is gated on any stream, it waits only as long as the streams make progress. Returns -ETIME
 * if a stream has made none for a tenth of a second for each operation up to its next mark, which would show progress:
 * eight operations at most, or one if a wait for the stream was given up before; and after 20 seconds in any case. The uses
 * then count as gated. A use that is gated already is given a tenth of a second in all. */
int spw_uses_wait_a_while_unlocking(struct spw_uses *u);

#define SPW_WAIT_MOST_NS UINT64_C(20000000000) /* those 20 seconds */

/* Between these two calls the thread is busy with one thing, an operation or an allocation: its waits of that kind end
 * after 20 seconds in all, not 20 seconds each. They nest. */
void spw_waits_begin(void);
void spw_waits_end(void);

/* Waits at most for `looks` looks, of about a microsecond each. Returns false if not every use is known to be complete
 * then. */
bool spw_uses_watch_unlocking(struct spw_uses *u, uint32_t looks);

/* Releases the lock for a moment, for a gate to open. */
void spw_streams_await_gate_unlocking(void);

/* Releases the lock until no thread of ours waits for an event of the context, which is about to be destroyed. */
void spw_streams_await_waiters_unlocking(CUcontext context);
#endif
