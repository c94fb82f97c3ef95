/* reader.h - reads a trace back, record by record; the file is treated as hostile.
 *
 * Memory is bounded by the limits of record.h and the size of one frame, whatever the file contains. */
#ifndef SPILLWAY_TRACE_READER_H
#define SPILLWAY_TRACE_READER_H
#include "record.h"

struct spw_trace_reader;

struct spw_trace_problem {
    uint64_t offset; /* in the file */
    char
        reason[160]; /* "is not a trace", "was made by a newer version (2; this is 1)", "ends in the middle of a frame", … */
};

/* Opens a trace. Returns 0; a negative errno of open() or read(); -EBADMSG: no trace, a newer version, or a damaged head
 * (see ret_problem). */
int spw_trace_open(const char *path, struct spw_trace_reader **ret_reader, struct spw_trace_problem *ret_problem);

/* Reads the next record. Returns 1 and *ret_record, which is valid until the next call; 0: the end (SPW_RECORD_END tells
 * whether the process ended by itself); -EBADMSG: the file is damaged or cut off here, see ret_problem; the next call
 * continues after the damage if possible, else returns 0. Each record is checked against the limits and enums of
 * record.h. */
int spw_trace_next(struct spw_trace_reader *reader, const struct spw_record **ret_record,
                   struct spw_trace_problem *ret_problem);

/* Returns how many operations the trace has had up to and including the last record, counting those in lost parts. So the
 * number of an operation that was just returned is one less. */
uint64_t spw_trace_ops(const struct spw_trace_reader *reader);

/* For showing progress: bytes of the file read so far, and its size. */
uint64_t spw_trace_position_bytes(const struct spw_trace_reader *reader);
uint64_t spw_trace_size_bytes(const struct spw_trace_reader *reader);

void spw_trace_close(struct spw_trace_reader *reader); /* NULL is allowed */
#endif
