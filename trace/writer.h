/* writer.h - appends records to a trace file, frame by frame, so that whatever was flushed stays readable.
 *
 * One writer has one owner at a time: callers bring their own lock. Never calls CUDA, makes no thread, ends no process. */
#ifndef SPILLWAY_TRACE_WRITER_H
#define SPILLWAY_TRACE_WRITER_H
#include "record.h"

struct spw_trace_writer;

/* Creates `path` (mode 0600; an existing file is replaced, a symbolic link is not followed) and writes the head. 0, or a
 * negative errno: what open() or write() said, -ENOMEM. */
int spw_trace_writer_create(const char *path, struct spw_trace_writer **ret_writer);

/* Adds a record; a full frame is compressed and appended. What the record points to is copied. 0; -EINVAL: a limit of
 * record.h is exceeded; a negative errno of write(): from then on nothing more is written (a disk that is full), each
 * further call returns the same, and the file stays readable up to the last whole frame. */
int spw_trace_put(struct spw_trace_writer *writer, const struct spw_record *record);

/* Appends what has not been written yet as a frame of its own. Nothing to write: 0, at no cost. */
int spw_trace_flush(struct spw_trace_writer *writer);

/* Time, as given in the records, of the oldest record that is not in the file yet; 0 when all are. */
uint64_t spw_trace_pending_since_ns(const struct spw_trace_writer *writer);

/* Flushes, closes, frees. NULL is fine. */
int spw_trace_writer_destroy(struct spw_trace_writer *writer);

/* In a forked child: closes the file without writing, frees. */
void spw_trace_writer_abandon(struct spw_trace_writer *writer);
#endif
