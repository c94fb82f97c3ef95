/* trace-file.h - a trace of random records in a folder of the test's own, and what comes out of it again. */
#ifndef SPILLWAY_TESTS_UNIT_TRACE_FILE_H
#define SPILLWAY_TESTS_UNIT_TRACE_FILE_H
#include <stdbool.h>
#include <stddef.h>

#include "../../fuzz/records.h"
#include "reader.h"
#include "writer.h"

extern char folder[], path[64]; /* the folder, and the trace in it */
extern struct made_record made; /* the record made last; large: several megabytes with all its touches */

/* For cmocka: the group's setup and teardown. */
int make_folder(void **state);
int remove_folder(void **state);

struct spw_trace_writer *create(void);
struct spw_trace_reader *open_trace(void);
void put_numbered(struct spw_trace_writer *writer, uint64_t number);

/* Writes the records first, first + 1, … with a frame's end after each `flush_every`; 0: where the writer ends one. */
void write_random(uint64_t first, uint64_t count, unsigned flush_every);

uint8_t *bytes_of_file(size_t *ret_bytes); /* the caller's to free */
void store(const uint8_t *bytes, size_t count);

/* What came out of a file of the records first, first + 1, … : which of them, in that order, and what else was said. */
struct outcome {
    uint64_t records, problems, next; /* next: the number after the last record's */
    struct spw_trace_problem last;
    bool in_order;
};
struct outcome read_records(uint64_t first, uint64_t count);
#endif
