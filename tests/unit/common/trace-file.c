/* trace-file.c - a trace of random records in a folder of the test's own, and what comes out of it again. */
#include "trace-file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

char folder[] = "/tmp/spillway-trace-XXXXXX";
char path[64];
struct made_record made;

int make_folder(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.trace", folder);
    return 0;
}

int remove_folder(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

struct spw_trace_writer *create(void)
{
    struct spw_trace_writer *writer;
    assert_int_equal(spw_trace_writer_create(path, &writer), 0);
    return writer;
}

void put_numbered(struct spw_trace_writer *writer, uint64_t number)
{
    make_record(&made, number);
    assert_int_equal(spw_trace_put(writer, &made.record), 0);
}

void write_random(uint64_t first, uint64_t count, unsigned flush_every)
{
    struct spw_trace_writer *writer;
    assert_int_equal(spw_trace_writer_create(path, &writer), 0);
    for (uint64_t i = 0; i < count; i++) {
        make_record(&made, first + i);
        assert_int_equal(spw_trace_put(writer, &made.record), 0);
        if (flush_every && i % flush_every == flush_every - 1)
            assert_int_equal(spw_trace_flush(writer), 0);
    }
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
}

struct spw_trace_reader *open_trace(void)
{
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem = {0};
    if (spw_trace_open(path, &reader, &problem) != 0)
        fail_msg("not opened: %s", problem.reason);
    return reader;
}

uint8_t *bytes_of_file(size_t *ret_bytes)
{
    struct stat found;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &found), 0);
    uint8_t *bytes = malloc((size_t)found.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)found.st_size, file), found.st_size);
    fclose(file);
    *ret_bytes = (size_t)found.st_size;
    return bytes;
}

void store(const uint8_t *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Each record that comes out has to be one of those written, behind the one before it. Records differ from one another. */
struct outcome read_records(uint64_t first, uint64_t count)
{
    struct outcome out = {.in_order = true};
    struct spw_trace_reader *reader;
    const struct spw_record *record;
    if (spw_trace_open(path, &reader, &out.last) != 0) {
        out.problems = 1;
        return out;
    }
    for (int r; (r = spw_trace_next(reader, &record, &out.last)) != 0;) {
        if (r != 1) {
            assert_int_equal(r, -EBADMSG);
            out.problems++;
            continue;
        }
        do
            make_record(&made, first + out.next++);
        while (out.next <= count && differing_field(&made.record, record));
        out.in_order &= out.next <= count;
        out.records++;
    }
    spw_trace_close(reader);
    return out;
}
