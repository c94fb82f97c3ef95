/* writer.h - appends records to a trace file, frame by frame, so that everything flushed stays readable.
 *
 * Only one thread at a time may use a writer: callers bring their own lock. It never calls CUDA, creates no thread, and
 * ends no process. */
#ifndef SPILLWAY_TRACE_WRITER_H
#define SPILLWAY_TRACE_WRITER_H
#include "record.h"

struct spw_trace_writer;

/* Creates `path` (mode 0600; an existing file is replaced, a symbolic link is not followed) and writes the head. Returns
 * 0, or a negative errno: that of open() or write(), -ENOMEM. */
int spw_trace_writer_create(const char *path, struct spw_trace_writer **ret_writer);

/* Adds a record; a full frame is compressed and appended. Everything that the record points to is copied. Returns 0;
 * -EINVAL: a limit of record.h is exceeded; a negative errno of write() (such as a full disk): from then on nothing more
 * is written, each further call returns the same, and the file stays readable up to the last whole frame. */
int spw_trace_put(struct spw_trace_writer *writer, const struct spw_record *record);

/* Appends what has not been written yet as a frame of its own. With nothing to write it returns 0 at no cost. */
int spw_trace_flush(struct spw_trace_writer *writer);

/* Returns the time, as given in the records, of the oldest record that is not in the file yet; 0 if all are. */
uint64_t spw_trace_pending_since_ns(const struct spw_trace_writer *writer);

/* Flushes, closes and frees. NULL is allowed. */
int spw_trace_writer_destroy(struct spw_trace_writer *writer);

/* For a forked child: closes the file without writing, and frees. */
void spw_trace_writer_abandon(struct spw_trace_writer *writer);
#endif
