/* test-trace-checks.c - frames made by hand, whole outside and wrong inside: each check of the reader refuses the one that
 * is made for it, and what stands before and behind is read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <zstd.h>

#include "format.h"
#include "trace-file.h"

enum { PACKED_ROOM = 1 << 12, EVENT = 9, FUNCTION = 4, ALLOC = 6, OP = 8, SITE = 3, NEW = 0x48, ONCE = 0x88 };

static struct {
    uint8_t *bytes;
    size_t used, room;
} file;

static void add(const void *bytes, size_t count)
{
    if (file.used + count > file.room) {
        file.room = 2 * (file.used + count);
        file.bytes = realloc(file.bytes, file.room);
        assert_non_null(file.bytes);
    }
    memcpy(file.bytes + file.used, bytes, count);
    file.used += count;
}

static void begin_file(void)
{
    uint8_t head[SPW_TRACE_HEAD_BYTES];
    file.used = 0;
    spw_trace_head_put(head);
    add(head, sizeof head);
}

/* `raw` packed behind the head, which gets the sizes that it lacks. */
static void add_frame(struct spw_frame_head head, const uint8_t *raw, size_t raw_bytes)
{
    uint8_t out[SPW_FRAME_HEAD_BYTES], packed[PACKED_ROOM];
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    (void)ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
    const size_t n = ZSTD_compress2(zstd, packed, sizeof packed, raw, raw_bytes);
    ZSTD_freeCCtx(zstd);
    assert_false(ZSTD_isError(n));
    head.packed_bytes = head.packed_bytes ? head.packed_bytes : (uint32_t)n;
    head.raw_bytes = head.raw_bytes ? head.raw_bytes : (uint32_t)raw_bytes;
    spw_frame_head_put(out, &head);
    add(out, sizeof out);
    add(packed, n);
}

static const uint8_t event[] = {EVENT, 1, 1, 0};

static void add_event(uint64_t first_record, uint64_t first_op)
{
    add_frame((struct spw_frame_head){.records = 1, .first_record = first_record, .first_op = first_op}, event,
              sizeof event);
}

/* What the file reads as: so many records, one problem with that text in it or none. */
static void expect(uint64_t records, const char *reason)
{
    const struct spw_record *record;
    struct spw_trace_problem problem, first = {.reason = ""};
    uint64_t read = 0, problems = 0;
    int r;
    store(file.bytes, file.used);
    struct spw_trace_reader *reader = open_trace();
    while ((r = spw_trace_next(reader, &record, &problem)) != 0) {
        read += r == 1;
        if (r < 0 && problems++ == 0)
            first = problem;
    }
    spw_trace_close(reader);
    assert_int_equal(problems, reason ? 1 : 0);
    assert_int_equal(read, records);
    if (reason && !strstr(first.reason, reason))
        fail_msg("%s, and not: %s", first.reason, reason);
}

/* ---- what is in a frame ---- */

#define SHAPE(touches) 0, 0, touches, 1, 1, 1, 1, 1, 1, 1, 1, 0 /* of an operation: kind, flags, numbers */

/* Times are the last `times` bytes; the first `good` of the records are read. */
static const struct body {
    const char *what;
    uint8_t bytes[40];
    uint8_t count, times, records, good;
} right[] = {
    {"an event", {EVENT, 1, 1, 0}, 4, 0, 1, 1},
    {"a function", {FUNCTION, 2, 'a', 'b', 1, 1}, 6, 0, 1, 1},
    {"an operation that is new, and again", {NEW, SHAPE(1), 0, OP, 0, 0, 2, 2}, 19, 2, 2, 2},
    {"an operation that is not remembered", {ONCE, SHAPE(1), 0, 2}, 15, 1, 1, 1},
    {"an access", {NEW, SHAPE(1), 4, 3, 2}, 16, 1, 1, 1},
};
static const struct body wrong[] = {
    {"a kind of record that there is none", {SPW_RECORD_KINDS, 1, 1, 0}, 4, 0, 1, 0},
    {"a flag that is 2", {EVENT, 1, 1, 2}, 4, 0, 1, 0},
    {"a number of more than 32 bits", {EVENT, 0xff, 0xff, 0xff, 0xff, 0x1f, 1, 0}, 8, 0, 1, 0},
    {"a number of more than 64 bits", {14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, 11, 0, 1, 0},
    {"a number without an end", {14, 0x80, 0x80}, 3, 0, 1, 0},
    {"a text that is longer than the frame", {FUNCTION, 4, 'a', 'b', 1, 1}, 6, 0, 1, 0},
    {"a text that takes the frame's times", {FUNCTION, 6, 'a', 'b', 'c', 'd', 'e', 'f', 1, 1, 1, 1}, 12, 6, 2, 0},
    {"a text with an end in it", {FUNCTION, 2, 'a', 0, 1, 1}, 6, 0, 1, 0},
    {"more return addresses than bytes", {SITE, 9, 2, 1}, 4, 0, 1, 0},
    {"a kind of allocation that there is none", {ALLOC, SPW_ALLOC_KINDS, 0, 0, 0, 1, 0, 0, 2}, 9, 1, 1, 0},
    {"a kind of operation that there is none", {NEW, SPW_OP_KINDS, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2}, 14, 1, 1, 0},
    {"flags of operations that there are none", {NEW, 0, 8, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 2}, 14, 1, 1, 0},
    {"an operation both new and not remembered", {NEW | ONCE, SHAPE(1), 0, 2}, 15, 1, 1, 0},
    {"a shape that is not remembered", {NEW, SHAPE(1), 0, OP, 1, 2, 2}, 18, 2, 2, 1},
    {"a shape that was not to be remembered", {ONCE, SHAPE(1), 0, OP, 0, 0, 2, 2}, 19, 2, 2, 1},
    {"more touches than bytes", {NEW, SHAPE(9), 0, 2}, 15, 1, 1, 0},
    {"no access", {NEW, SHAPE(1), 4, 0, 2}, 16, 1, 1, 0},
    {"more than an access to read and write", {NEW, SHAPE(1), 4, 4, 2}, 16, 1, 1, 0},
    {"an operation without its time", {NEW, SHAPE(1), 0}, 14, 0, 1, 0},
    {"a byte behind the last record", {EVENT, 1, 1, 0, 0}, 5, 0, 1, 0},
    {"a time behind the last record's", {EVENT, 1, 1, 0, 2}, 5, 1, 1, 0},
    {"fewer records than it says", {EVENT, 1, 1, 0}, 4, 0, 2, 1},
};

/* Between two good frames, the second of which has other shapes: what the first one knew must be forgotten by then. */
static void read_between_good_ones(const struct body *body, bool is_right)
{
    static const uint8_t shapes[] = {NEW, SHAPE(0), NEW, SHAPE(0), NEW, SHAPE(0), 2, 2, 2};
    begin_file();
    add_frame((struct spw_frame_head){.records = 3, .times_bytes = 3}, shapes, sizeof shapes);
    add_frame(
        (struct spw_frame_head){.records = body->records, .times_bytes = body->times, .first_record = 3, .first_op = 3},
        body->bytes, body->count);
    add_event(3 + (uint64_t)body->records, 5);
    expect(3 + (uint64_t)body->good + 1, is_right ? NULL : "make no sense");
}

static void a_frame_with_anything_wrong_inside_is_refused_from_there_on(void **state)
{
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        print_message("%s\n", right[i].what);
        read_between_good_ones(&right[i], true);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        print_message("%s\n", wrong[i].what);
        read_between_good_ones(&wrong[i], false);
    }
}

/* ---- what a head says ---- */

static void a_frame_of_another_size_than_its_head_says_is_refused(void **state)
{
    for (uint32_t raw_bytes = sizeof event - 1; raw_bytes <= sizeof event + 1; raw_bytes += 2) {
        begin_file();
        add_frame((struct spw_frame_head){.records = 1, .raw_bytes = raw_bytes}, event, sizeof event);
        add_event(1, 0);
        expect(1, "cannot be unpacked");
    }
}

static void a_frame_that_goes_back_is_passed_over(void **state)
{
    begin_file();
    add_event(0, 7);
    add_event(0, 7); /* records that were there already */
    add_event(1, 7);
    expect(2, "does not belong here");
    begin_file();
    add_event(0, 7);
    add_event(1, 6); /* operations that were there already */
    add_event(1, 7);
    expect(2, "does not belong here");
}

/* Heads that stand in one another's bodies, each with a body that unpacks to two megabytes and then fails. */
static void overlapping_frames_are_not_all_unpacked(void **state)
{
    enum { FRAMES = 60000, MOST_SECONDS = 5 };
    static uint8_t zeros[SPW_FRAME_RAW_BYTES];
    begin_file();
    add_frame((struct spw_frame_head){.records = 1, .packed_bytes = SPW_FRAME_RAW_BYTES}, zeros, sizeof zeros);
    const size_t head = SPW_TRACE_HEAD_BYTES, frame = file.used - head;
    for (unsigned i = 1; i < FRAMES; i++) {
        uint8_t again[PACKED_ROOM];
        memcpy(again, file.bytes + head, frame);
        add(again, frame);
    }
    store(file.bytes, file.used);
    const clock_t began = clock();
    struct spw_trace_reader *reader = open_trace();
    const struct spw_record *record;
    struct spw_trace_problem problem;
    int r;
    while ((r = spw_trace_next(reader, &record, &problem)) != 0)
        assert_int_equal(r, -EBADMSG);
    spw_trace_close(reader);
    assert_true((clock() - began) / CLOCKS_PER_SEC < MOST_SECONDS);
}

static int free_file(void **state)
{
    free(file.bytes);
    return remove_folder(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_with_anything_wrong_inside_is_refused_from_there_on),
        cmocka_unit_test(a_frame_of_another_size_than_its_head_says_is_refused),
        cmocka_unit_test(a_frame_that_goes_back_is_passed_over),
        cmocka_unit_test(overlapping_frames_are_not_all_unpacked),
    };
    return cmocka_run_group_tests(tests, make_folder, free_file);
}
