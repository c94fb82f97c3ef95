/* test-trace-damage.c - whatever becomes of a trace's file, and whenever its writer dies: what is whole is read. */
#include "trace-file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum { SMALL = 30, FRAME = 5, FIRST = 500 }; /* a file of six frames */

static uint8_t *small_file(size_t *ret_bytes)
{
    write_random(FIRST, SMALL, FRAME);
    return bytes_of_file(ret_bytes);
}

static void a_file_cut_at_any_byte_reads_up_to_its_last_whole_frame(void **state)
{
    size_t cut;
    uint64_t least = SMALL;
    free(small_file(&cut));
    do {
        assert_int_equal(truncate(path, (off_t)cut), 0);
        const struct outcome out = read_records(FIRST, SMALL);
        const bool at_frame = out.problems == 0;
        assert_true(out.in_order);
        assert_int_equal(out.records, out.next); /* none left out */
        assert_int_equal(out.records % FRAME, 0);
        assert_in_range(out.records, at_frame || least < FRAME ? least : least - FRAME, least);
        assert_true(out.problems <= 1);
        assert_true(at_frame || out.last.offset <= cut);
        least = out.records;
    } while (cut-- > 0);
    assert_int_equal(least, 0);
}

static void change_byte(int fd, size_t at, uint8_t byte)
{
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
}

static void a_flipped_bit_costs_its_own_frame_at_most(void **state)
{
    size_t bytes;
    uint8_t *whole = small_file(&bytes);
    uint64_t harmless = 0;
    const int fd = open(path, O_WRONLY);
    for (size_t at = 0; at < bytes; at++) {
        change_byte(fd, at, whole[at] ^ (uint8_t)(1u << at % 8));
        const struct outcome out = read_records(FIRST, SMALL);
        change_byte(fd, at, whole[at]);
        assert_true(out.in_order);
        if (at < 32) {
            assert_int_equal(out.records, 0);
            assert_int_equal(out.problems, 1);
            continue;
        }
        assert_true(out.records >= SMALL - FRAME);
        assert_true(out.records == SMALL || out.problems > 0);
        harmless += out.problems == 0;
    }
    assert_true(harmless < bytes / 50); /* bits that zstd leaves unused */
    close(fd);
    free(whole);
}

static void what_was_overwritten_with_zeros_is_passed_over(void **state)
{
    size_t bytes;
    uint8_t *whole = small_file(&bytes);
    memset(whole + bytes / 2, 0, bytes / 8);
    store(whole, bytes);
    const struct outcome out = read_records(FIRST, SMALL);
    assert_true(out.in_order);
    assert_in_range(out.records, FRAME, SMALL - FRAME);
    assert_int_equal(out.next, SMALL); /* the last record came out */
    assert_int_equal(out.problems, 1);
    free(whole);
}

static void records_that_are_missing_between_whole_frames_are_said_to_be(void **state)
{
    size_t first, both;
    write_random(FIRST, FRAME, FRAME);
    free(bytes_of_file(&first));
    write_random(FIRST, 2 * FRAME, FRAME);
    free(bytes_of_file(&both));
    size_t bytes;
    uint8_t *whole = small_file(&bytes);
    memmove(whole + first, whole + both, bytes - both);
    store(whole, bytes - (both - first));
    const struct outcome out = read_records(FIRST, SMALL);
    assert_true(out.in_order);
    assert_int_equal(out.records, SMALL - FRAME);
    assert_int_equal(out.next, SMALL);
    assert_int_equal(out.problems, 1);
    assert_int_equal(out.last.offset, first);
    assert_non_null(strstr(out.last.reason, "lacks 5 records"));
    free(whole);
}

/* ---- what is no trace ---- */
static void refused(const uint8_t *bytes, size_t count, const char *reason)
{
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem = {0};
    store(bytes, count);
    assert_int_equal(spw_trace_open(path, &reader, &problem), -EBADMSG);
    assert_string_equal(problem.reason, reason);
}

static void what_is_no_trace_is_refused_with_the_reason(void **state)
{
    size_t bytes;
    uint8_t *whole = small_file(&bytes);
    refused(whole, 0, "is empty");
    refused(whole, 5, "ends in its head");
    refused(whole, 20, "ends in its head");
    refused((const uint8_t *)"#!/bin/sh\n", 10, "is not a trace");
    whole[20] ^= 1;
    refused(whole, bytes, "has a damaged head");
    whole[20] ^= 1;
    whole[8] = 2;
    refused(whole, bytes, "was made by a newer version (2; this is 1)");
    whole[9] = 1;
    refused(whole, 10, "was made by a newer version (258; this is 1)");
    free(whole);
    struct spw_trace_reader *reader;
    struct spw_trace_problem problem;
    assert_int_equal(spw_trace_open("/nowhere/t.trace", &reader, &problem), -ENOENT);
}

/* ---- killed ---- */
static void write_until_killed(_Atomic uint64_t *flushed)
{
    struct spw_trace_writer *writer;
    if (spw_trace_writer_create(path, &writer) != 0)
        _exit(1);
    for (uint64_t i = 0;; i++) {
        make_record(&made, FIRST + i);
        if (spw_trace_put(writer, &made.record) != 0)
            _exit(1);
        if (i % 7 == 6 && spw_trace_flush(writer) == 0)
            *flushed = i + 1;
    }
}

static void a_killed_process_leaves_everything_that_was_flushed(void **state)
{
    _Atomic uint64_t *flushed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t seed = 7, some = 0;
    assert_true(flushed != MAP_FAILED);
    for (unsigned i = 0; i < 100; i++) {
        int status;
        *flushed = 0;
        (void)unlink(path);
        const pid_t child = fork();
        if (child == 0)
            write_until_killed(flushed);
        while (*flushed == 0 && waitpid(child, &status, WNOHANG) == 0)
            usleep(100);
        usleep((useconds_t)(random_number(&seed) % 10000));
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        const struct outcome out = read_records(FIRST, UINT64_MAX);
        assert_true(out.in_order);
        assert_int_equal(out.records, out.next);
        assert_true(out.records >= *flushed);
        assert_true(out.problems <= 1);
        some += *flushed > 100;
    }
    assert_true(some > 50); /* most were killed in the midst of it */
    munmap((void *)flushed, 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_cut_at_any_byte_reads_up_to_its_last_whole_frame),
        cmocka_unit_test(a_flipped_bit_costs_its_own_frame_at_most),
        cmocka_unit_test(what_was_overwritten_with_zeros_is_passed_over),
        cmocka_unit_test(records_that_are_missing_between_whole_frames_are_said_to_be),
        cmocka_unit_test(what_is_no_trace_is_refused_with_the_reason),
        cmocka_unit_test(a_killed_process_leaves_everything_that_was_flushed),
    };
    return cmocka_run_group_tests_name("trace-damage", tests, make_folder, remove_folder);
}
