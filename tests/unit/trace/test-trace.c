/* test-trace.c - a trace is read back as it was written, and writing one harms neither the program nor its files. */
#include "trace-file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { FIRST = 500, FRAME = 10 }; /* number of the first record; records of a frame */

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

/* ---- the writer's file ---- */
static void nobody_else_may_read_the_file_whatever_stood_there(void **state)
{
    struct stat old, made_now;
    store((const uint8_t *)"old", 3);
    assert_int_equal(chmod(path, 0666), 0);
    const int reader_of_old = open(path, O_RDONLY);
    const mode_t mask = umask(0777);
    assert_int_equal(spw_trace_writer_destroy(create()), 0);
    umask(mask);
    assert_int_equal(stat(path, &made_now), 0);
    assert_int_equal(made_now.st_mode, S_IFREG | 0600);
    assert_int_equal(fstat(reader_of_old, &old), 0);
    assert_int_equal(old.st_size, 3); /* who has the old file open sees nothing of the new one */
    close(reader_of_old);
}

static void links_folders_and_devices_are_not_written_to(void **state)
{
    struct spw_trace_writer *writer;
    char target[80];
    snprintf(target, sizeof target, "%s/target", folder);
    (void)unlink(path);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(spw_trace_writer_create(path, &writer), -ELOOP);
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(spw_trace_writer_create(path, &writer), -ENOTSUP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(spw_trace_writer_create(folder, &writer), -EISDIR);
    assert_int_equal(spw_trace_writer_create("/dev/zero", &writer), -ENOTSUP);
    assert_int_equal(spw_trace_writer_create("/nowhere/t.trace", &writer), -ENOENT);
    assert_int_equal(spw_trace_writer_create("/dev/full", &writer), -ENOSPC);
    assert_int_equal(spw_trace_writer_create("/dev/null", &writer), 0);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
}

/* The limit of a file's size stands for a disk that is full: it stops a write half-way, too. */
static void a_full_disk_ends_the_trace_after_a_whole_frame_and_not_the_program(void **state)
{
    struct rlimit before, small = {.rlim_cur = 20000, .rlim_max = RLIM_INFINITY};
    struct spw_trace_writer *writer = create();
    struct stat found;
    uint64_t number = 0, flushed = 0;
    int r = 0;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    while (r == 0 && number < 100000) {
        put_numbered(writer, FIRST + number++);
        if (number % FRAME == 0 && (r = spw_trace_flush(writer)) == 0)
            flushed = number;
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(r, -EFBIG);
    assert_int_equal(spw_trace_put(writer, &made.record), -EFBIG);
    assert_int_equal(spw_trace_flush(writer), -EFBIG);
    assert_int_equal(stat(path, &found), 0);
    assert_true(found.st_size < 20000);
    assert_int_equal(spw_trace_writer_destroy(writer), -EFBIG);
    const struct outcome out = read_records(FIRST, number);
    assert_int_equal(out.problems, 0);
    assert_int_equal(out.records, flushed);
    assert_true(out.in_order && flushed > 0);
}

static void a_program_that_closes_our_file_keeps_its_own_files_as_they_are(void **state)
{
    struct spw_trace_writer *writer = create();
    char own[80];
    struct stat found;
    snprintf(own, sizeof own, "%s/own", folder);
    const int next = dup(0);
    close(next);
    for (int fd = 3; fd < next; fd++) /* as daemons do; the test's own files are none of these */
        if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 32)
            close(fd);
    const int own_fd = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(own_fd >= 3 && own_fd < next);
    put_numbered(writer, 1);
    assert_int_equal(spw_trace_flush(writer), -EBADF);
    assert_int_equal(spw_trace_writer_destroy(writer), -EBADF);
    assert_int_equal(fstat(own_fd, &found), 0);
    assert_int_equal(found.st_size, 0);
    close(own_fd);
    unlink(own);
}

static void a_child_leaves_the_file_to_its_parent(void **state)
{
    struct spw_trace_writer *writer = create();
    put_numbered(writer, FIRST);
    const pid_t child = fork();
    if (child == 0) {
        spw_trace_writer_abandon(writer);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(spw_trace_pending_since_ns(writer) > 0);
    put_numbered(writer, FIRST + 1);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    const struct outcome out = read_records(FIRST, 2);
    assert_int_equal(out.records, 2);
    assert_int_equal(out.problems, 0);
}

/* ---- what may be written ---- */
static void what_exceeds_a_limit_is_refused_and_what_was_before_and_after_is_kept(void **state)
{
    static char long_text[SPW_RECORD_TEXT + 2];
    static uint64_t codes[SPW_RECORD_FRAMES + 1];
    static struct spw_touch touches[SPW_RECORD_TOUCHES + 1];
    static uint8_t build_id[65];
    memset(long_text, 'x', sizeof long_text - 1);
    for (unsigned i = 0; i <= SPW_RECORD_TOUCHES; i++)
        touches[i] = (struct spw_touch){.alloc = i, .access = SPW_ACCESS_READ};
    static struct spw_touch no_access[3] = {{.alloc = 9, .access = SPW_ACCESS_READ}, {.alloc = 7, .access = 4}};
    const struct spw_record refused_ones[] = {
        {.kind = SPW_RECORD_KINDS},
        {.kind = SPW_RECORD_FUNCTION, .function = {.name = long_text}},
        {.kind = SPW_RECORD_SITE, .site = {.frames = codes, .count = SPW_RECORD_FRAMES + 1}},
        {.kind = SPW_RECORD_MODULE, .module = {.path = "m", .build_id = build_id, .build_id_bytes = 65}},
        {.kind = SPW_RECORD_ALLOC, .alloc = {.kind = SPW_ALLOC_KINDS}},
        {.kind = SPW_RECORD_WAIT, .wait = {.kind = SPW_WAIT_KINDS}},
        {.kind = SPW_RECORD_MARK, .mark = {.kind = SPW_MARK_KINDS}},
        {.kind = SPW_RECORD_OP, .op = {.kind = SPW_OP_KINDS}},
        {.kind = SPW_RECORD_OP, .op = {.touch_count = SPW_RECORD_TOUCHES + 1, .touches = touches}},
        {.kind = SPW_RECORD_OP, .op = {.touch_count = 2, .touches = no_access}},
        {.kind = SPW_RECORD_OP, .op = {.touch_count = 3, .touches = no_access}},
    };
    enum { REFUSED = sizeof refused_ones / sizeof refused_ones[0] };
    struct spw_trace_writer *writer = create();
    for (unsigned i = 0; i < REFUSED; i++) {
        put_numbered(writer, FIRST + i);
        assert_int_equal(spw_trace_put(writer, &refused_ones[i]), -EINVAL);
    }
    const struct spw_record longest = {.kind = SPW_RECORD_OP, .op = {.touch_count = SPW_RECORD_TOUCHES, .touches = touches}};
    assert_int_equal(spw_trace_put(writer, &longest), 0);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);

    const struct spw_record *record;
    struct spw_trace_problem problem;
    struct spw_trace_reader *reader = open_trace();
    for (unsigned i = 0; i < REFUSED; i++) {
        make_record(&made, FIRST + i);
        assert_int_equal(spw_trace_next(reader, &record, &problem), 1);
        assert_null(differing_field(&made.record, record));
    }
    assert_int_equal(spw_trace_next(reader, &record, &problem), 1);
    assert_null(differing_field(&longest, record));
    assert_int_equal(spw_trace_next(reader, &record, &problem), 0);
    spw_trace_close(reader);
}

static void texts_that_are_missing_come_back_empty(void **state)
{
    struct spw_trace_writer *writer = create();
    const struct spw_record bare = {.kind = SPW_RECORD_PROCESS, .process = {.pid = 7}};
    const struct spw_record *record;
    struct spw_trace_problem problem;
    assert_int_equal(spw_trace_put(writer, &bare), 0);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
    struct spw_trace_reader *reader = open_trace();
    assert_int_equal(spw_trace_next(reader, &record, &problem), 1);
    assert_string_equal(record->process.command, "");
    assert_int_equal(record->process.pid, 7);
    spw_trace_close(reader);
}

static void what_waits_to_be_written_is_known_by_its_time(void **state)
{
    struct spw_trace_writer *writer = create();
    struct stat before, after;
    struct spw_record wait = {.kind = SPW_RECORD_WAIT, .wait = {.time_ns = 700}};
    assert_int_equal(spw_trace_pending_since_ns(writer), 0);
    assert_int_equal(spw_trace_put(writer, &wait), 0);
    wait.wait.time_ns = 900;
    assert_int_equal(spw_trace_put(writer, &wait), 0);
    assert_int_equal(spw_trace_pending_since_ns(writer), 700);
    assert_int_equal(spw_trace_flush(writer), 0);
    assert_int_equal(spw_trace_pending_since_ns(writer), 0);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(spw_trace_flush(writer), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(spw_trace_writer_destroy(writer), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_record_comes_back_as_it_was_written),
        cmocka_unit_test(nobody_else_may_read_the_file_whatever_stood_there),
        cmocka_unit_test(links_folders_and_devices_are_not_written_to),
        cmocka_unit_test(a_full_disk_ends_the_trace_after_a_whole_frame_and_not_the_program),
        cmocka_unit_test(a_program_that_closes_our_file_keeps_its_own_files_as_they_are),
        cmocka_unit_test(a_child_leaves_the_file_to_its_parent),
        cmocka_unit_test(what_exceeds_a_limit_is_refused_and_what_was_before_and_after_is_kept),
        cmocka_unit_test(texts_that_are_missing_come_back_empty),
        cmocka_unit_test(what_waits_to_be_written_is_known_by_its_time),
    };
    return cmocka_run_group_tests_name("trace", tests, make_folder, remove_folder);
}
