/* stream_table.h - the inside of streams.h, for the files of this room: the records of all streams, and their marks. */
#ifndef SPILLWAY_SHIM_STREAM_TABLE_H
#define SPILLWAY_SHIM_STREAM_TABLE_H
#include "streams.h"

enum { SPW_MAX_STREAMS = 4096 };

/* By id; guarded by the engine lock. Index 0 stays empty. The record of a destroyed stream is reused once all of its work
 * is complete. Its numbers continue, so that an old (stream, number) pair stays valid. */
extern struct spw_stream *spw_stream_table[SPW_MAX_STREAMS] SPW_OURS;
extern uint32_t spw_stream_table_used SPW_OURS;

/* Returns true if the calling thread can record an event on the stream: it is not another thread's own. */
bool spw_stream_may_record_locked(const struct spw_stream *s);

/* Removes the marks that are complete, and notes how far the stream has come. */
void spw_marks_retire_locked(struct spw_stream *s);

/* Finds the oldest mark that covers operation `number`, or records one. Returns 0; -EAGAIN while an operation of the stream
 * is in another thread's call; -EXDEV if only its own thread could record an event. */
int spw_mark_for_locked(struct spw_stream *s, uint64_t number, CUevent *ret_event, uint64_t *ret_number);

/* Returns the bit of the stream's device, or all bits if the device is not known. */
static inline uint32_t spw_uses_everybody_beside(const struct spw_stream *s)
{
    return spw_uses_everybody_of(s->device < 0 ? UINT64_MAX : UINT64_C(1) << s->device);
}

/* Calls `each` for every (stream, number) that the uses stand for and that is not known to be complete, until it returns
 * something other than 0. Returns that result, or 0. */
int spw_uses_each_locked(struct spw_uses *u, int (*each)(struct spw_stream *s, uint64_t number, void *arg), void *arg);

/* Waits, with their contexts, for default streams of threads that have ended, unless something is being captured. */
void spw_streams_await_ended_threads_locked(void);

/* Removes all marks of the stream; its events are destroyed, or only forgotten. */
void spw_marks_drop_locked(struct spw_stream *s, bool destroy);
#endif
