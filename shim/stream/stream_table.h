/* stream_table.h - the inside of streams.h: the records of all streams, and their marks, for the files of this
 * room. */
#ifndef SPILLWAY_SHIM_STREAM_TABLE_H
#define SPILLWAY_SHIM_STREAM_TABLE_H
#include "streams.h"

enum { SPW_MAX_STREAMS = 4096 };

/* Guarded by the engine lock, by id. Index 0 stays empty. A record whose stream is gone is used again once all of its work
 * is complete; its numbers go on, so that an old (stream, number) pair stays true. */
extern struct spw_stream *spw_stream_table[SPW_MAX_STREAMS] SPW_OURS;
extern uint32_t spw_stream_table_used SPW_OURS;

/* True when the calling thread can record an event on the stream: it is not another thread's own. */
bool spw_stream_may_record_locked(const struct spw_stream *s);

/* A mark that is known to be complete is taken off; the newest of them says how far the stream has come. */
void spw_marks_retire_locked(struct spw_stream *s);

/* The oldest mark that covers operation `number`; records one when there is none.
 * -EAGAIN while an operation of the stream is in another thread's call; -EXDEV when only its own thread could record. */
int spw_mark_for_locked(struct spw_stream *s, uint64_t number, CUevent *ret_event, uint64_t *ret_number);

/* One bit, or all of them where the device is not known yet. */
static inline uint32_t spw_uses_everybody_beside(const struct spw_stream *s)
{
    return spw_uses_everybody_of(s->device < 0 ? UINT64_MAX : UINT64_C(1) << s->device);
}

/* Calls `each` for every (stream, number) that the uses stand for until it answers other than 0, which is the answer. Only
 * what is not known to be done counts. */
int spw_uses_each_locked(struct spw_uses *u, int (*each)(struct spw_stream *s, uint64_t number, void *arg), void *arg);

/* Waits for what threads that have ended left behind on their default streams, with their contexts, unless something
 * captures. */
void spw_streams_await_ended_threads_locked(void);

/* The stream has no marks any more, and its events go back to the driver, or are only forgotten. */
void spw_marks_drop_locked(struct spw_stream *s, bool destroy);
#endif
