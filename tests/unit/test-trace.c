/* test-trace.c - a trace is read back as it was written: whatever the records are, and whatever becomes of the file. */
#include "reader.h"
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../fuzz/records.h"

static char folder[] = "/tmp/spillway-trace-XXXXXX";
static char path[64];
static struct made_record made; /* large: several megabytes with all its touches */

static int make_folder(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.trace", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)unlink(path);
    return rmdir(folder);
}

static void write_random(uint64_t first, uint64_t count, unsigned flush_every)
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

static struct spw_trace_reader *open_trace(void)
{
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem = {0};
    if (spw_trace_open(path, &reader, &problem) != 0)
        fail_msg("not opened: %s", problem.reason);
    return reader;
}

static void every_record_comes_back_as_it_was_written(void **state)
{
    const uint64_t count = 100000;
    const struct spw_record *record;
    struct spw_trace_problem problem = {0};
    uint64_t ops = 0;
    write_random(1, count, 0);
    struct spw_trace_reader *reader = open_trace();
    for (uint64_t i = 0; i < count; i++) {
        make_record(&made, 1 + i);
        if (spw_trace_next(reader, &record, &problem) != 1)
            fail_msg("record %llu: %s", (unsigned long long)i, problem.reason);
        const char *field = differing_field(&made.record, record);
        if (field)
            fail_msg("record %llu of kind %d differs in its %s", (unsigned long long)i, made.record.kind, field);
        ops += record->kind == SPW_RECORD_OP;
        assert_int_equal(spw_trace_ops(reader), ops);
    }
    assert_int_equal(spw_trace_next(reader, &record, &problem), 0);
    assert_int_equal(spw_trace_position_bytes(reader), spw_trace_size_bytes(reader));
    spw_trace_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_back_as_it_was_written),
    };
    return cmocka_run_group_tests_name("trace", tests, make_folder, remove_folder);
}
