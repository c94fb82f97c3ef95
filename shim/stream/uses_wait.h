/* uses_wait.h - the host waits: for uses, for a gate, or for who waits for these. Each of the functions lets go of the
 * engine lock meanwhile: the caller sees to it that what has the uses stays, and revalidates what it knew. */
#ifndef SPILLWAY_SHIM_USES_WAIT_H
#define SPILLWAY_SHIM_USES_WAIT_H
#include "streams.h"

/* Waits until every use is complete. 0, or a failure. */
int spw_uses_wait_unlocking(struct spw_uses *u);

/* The same, but that where something is gated on any stream, it waits only while what it waits for comes on: -ETIME once
 * that has not for a tenth of a second for each operation until the stream's next mark, by which it would be known, eight
 * at most, or one if the stream was given up before; and after 20 seconds in any case. What it waited for counts as gated
 * then. What does so already is given a tenth of a second in all. */
int spw_uses_wait_a_while_unlocking(struct spw_uses *u);

#define SPW_WAIT_MOST_NS UINT64_C(20000000000) /* the 20 seconds */

/* Between these the calling thread is about one thing, an operation or an allocation: its waits of that kind end after 20
 * seconds in all, in place of each. They nest. */
void spw_waits_begin(void);
void spw_waits_end(void);

/* The same for no longer than so many looks take, of about a microsecond each. False: not every use is known to be complete.
 */
bool spw_uses_watch_unlocking(struct spw_uses *u, uint32_t looks);

/* Lets go of the lock for a moment, for a gate to open. */
void spw_streams_await_gate_unlocking(void);

/* Lets go of the lock until no thread of ours waits for an event of the context, which is about to be destroyed. */
void spw_streams_await_waiters_unlocking(CUcontext context);
#endif
