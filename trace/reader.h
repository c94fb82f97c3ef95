/* reader.h - reads a trace back, record by record; the file is taken for hostile.
 *
 * Memory is bounded by the limits of record.h and the size of one frame, whatever the file says. */
#ifndef SPILLWAY_TRACE_READER_H
#define SPILLWAY_TRACE_READER_H
#include "record.h"

struct spw_trace_reader;

struct spw_trace_problem {
    uint64_t offset; /* in the file */
    char
        reason[160]; /* "is not a trace", "was made by a newer version (2; this is 1)", "ends in the middle of a frame", … */
};

/* 0; a negative errno of open() or read(); -EBADMSG: no trace, a newer version, a damaged head (see the problem). */
int spw_trace_open(const char *path, struct spw_trace_reader **ret_reader, struct spw_trace_problem *ret_problem);

/* The next record: 1 and *ret_record, which holds until the next call; 0: the end (whether the process ended by itself is
 * told by SPW_RECORD_END); -EBADMSG: damaged or cut off here, see the problem: the next call goes on after the damage
 * where that is possible, else returns 0. Each record is checked against the limits and enums of record.h. */
int spw_trace_next(struct spw_trace_reader *reader, const struct spw_record **ret_record,
                   struct spw_trace_problem *ret_problem);

/* How many operations the trace has had up to the record given last, those in lost parts counted: an operation just given
 * has this number minus one. */
uint64_t spw_trace_ops(const struct spw_trace_reader *reader);

/* For progress: bytes of the file read so far, and its size. */
uint64_t spw_trace_position_bytes(const struct spw_trace_reader *reader);
uint64_t spw_trace_size_bytes(const struct spw_trace_reader *reader);

void spw_trace_close(struct spw_trace_reader *reader); /* NULL is fine */
#endif
