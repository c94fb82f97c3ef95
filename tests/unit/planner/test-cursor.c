/* test-cursor.c - a cursor goes along a course, past what is missing or too many beside the backbone, and says what it saw.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "course/cursor.h"
#include "course/recording.h"

enum { BATCH = 40, WEIGHTS = 100, SMALL = 8, LARGE = 64 };
#define NOBODY SPW_NO_INDEX

static void op(struct spw_recording *r, uint64_t key, bool backbone, uint64_t a, uint64_t b)
{
    const struct spw_recording_touch touches[] = {{a, SPW_COURSE_READS, 0, .loose = key == 11}, {b, SPW_COURSE_WRITES, 16}};
    uint32_t ordinal;
    assert_int_equal(spw_recording_op(r, key, backbone, touches, 2, &ordinal), 0);
}

/* 0: weights, 1: batch (from 5). Allocates 2: LARGE, 3: SMALL, 4: LARGE, 5: the next BATCH.
 *
 * What bone 11 reads is loose.
 *
 *     alloc 2   bone 10   alloc 3   copy 90   alloc 4   copy 91   bone 11   free 2, 1; alloc 5   bone 12   copy 92   free 3,
 * 4 */
static struct spw_course *make_course(void)
{
    struct spw_recording *r;
    struct spw_course *course;
    assert_int_equal(spw_recording_create(&r), 0);
    spw_recording_begin(r);
    assert_int_equal(spw_recording_live(r, 1, WEIGHTS, true), 0);
    assert_int_equal(spw_recording_live(r, 2, BATCH, true), 0);
    assert_int_equal(spw_recording_alloc(r, 11, LARGE, true), 0);
    op(r, 10, true, 2, 11);
    assert_int_equal(spw_recording_alloc(r, 12, SMALL, true), 0);
    op(r, 90, false, 11, 12);
    assert_int_equal(spw_recording_alloc(r, 13, LARGE, true), 0);
    op(r, 91, false, 11, 13);
    op(r, 11, true, 1, 13);
    assert_int_equal(spw_recording_free(r, 11), 0);
    assert_int_equal(spw_recording_free(r, 2), 0);
    assert_int_equal(spw_recording_alloc(r, 14, BATCH, true), 0);
    op(r, 12, true, 1, 14);
    op(r, 92, false, 13, 12);
    assert_int_equal(spw_recording_free(r, 12), 0);
    assert_int_equal(spw_recording_free(r, 13), 0);
    assert_int_equal(spw_recording_finish(r, 6, &course), 0);
    spw_recording_destroy(r);
    return course;
}

struct place {
    struct spw_course *course;
    struct spw_cursor cursor;
};

static struct place begin(void)
{
    struct place p = {.course = make_course()};
    assert_int_equal(spw_cursor_init(&p.cursor, p.course), 0);
    return p;
}

static void end(struct place *p)
{
    spw_cursor_finish(&p->cursor);
    spw_course_destroy(p->course);
}

#define EXPECT(cursor, key, backbone, answer, next) \
    do { \
        assert_int_equal(spw_cursor_op(cursor, key, backbone), answer); \
        assert_int_equal((cursor)->op, next); \
    } while (0)

static void operations_that_come_as_expected_are_gone_past(void **state)
{
    struct place p = begin();
    const uint64_t keys[] = {10, 90, 91, 11, 12, 92};
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(spw_cursor_expects(&p.cursor, keys[i]));
        assert_false(spw_cursor_expects(&p.cursor, keys[i] + 1));
        if (i % 2)
            spw_cursor_advance(&p.cursor);
        else
            EXPECT(&p.cursor, keys[i], keys[i] < 90, SPW_CURSOR_EXPECTED, i + 1);
    }
    assert_int_equal(p.cursor.op, 6);
    assert_false(spw_cursor_expects(&p.cursor, 10));
    end(&p);
}

static void nothing_is_expected_behind_the_last_operation(void **state)
{
    struct spw_course_op ops[] = {{.key = 1, .backbone = true}, {.key = 2, .backbone = true}};
    const struct spw_course course = {.ops = ops, .op_count = 1};
    struct spw_cursor cursor;
    assert_int_equal(spw_cursor_init(&cursor, &course), 0);
    spw_cursor_advance(&cursor);
    assert_false(spw_cursor_expects(&cursor, 2));
    EXPECT(&cursor, 2, true, SPW_CURSOR_COMPLETE, 1);
    spw_cursor_finish(&cursor);
}

static void copies_may_be_missing_or_too_many(void **state)
{
    struct place p = begin();
    EXPECT(&p.cursor, 91, false, SPW_CURSOR_EXTRA, 0); /* not before the operation that comes next */
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(&p.cursor, 91, false, SPW_CURSOR_EXPECTED, 3); /* without 90 */
    EXPECT(&p.cursor, 90, false, SPW_CURSOR_EXTRA, 3);    /* which comes too late */
    EXPECT(&p.cursor, 99, false, SPW_CURSOR_EXTRA, 3);
    assert_int_equal(p.cursor.extras, 3);
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_EXPECTED, 4);
    spw_cursor_rewind(&p.cursor);
    assert_int_equal(p.cursor.extras, 0);
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_EXPECTED, 4); /* without any */
    end(&p);
}

static void another_operation_of_the_backbone_loses_the_place_and_moves_nothing(void **state)
{
    struct place p = begin();
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_LOST, 0);
    EXPECT(&p.cursor, 10, false, SPW_CURSOR_EXTRA, 0); /* the key of the right one, but beside the backbone */
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(&p.cursor, 12, true, SPW_CURSOR_LOST, 1);
    EXPECT(&p.cursor, 90, true, SPW_CURSOR_LOST, 1);
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_LOST, 1);
    end(&p);
}

static void what_is_missing_at_the_end_shows_when_the_next_iteration_begins(void **state)
{
    struct place p = begin();
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_EXPECTED, 4);
    EXPECT(&p.cursor, 12, true, SPW_CURSOR_EXPECTED, 5);
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_LOST, 5);
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_COMPLETE, 6);
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_COMPLETE, 6);
    spw_cursor_rewind(&p.cursor);
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    end(&p);
}

static void allocations_are_found_by_size_up_to_the_next_operation_of_the_backbone(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    assert_int_equal(spw_cursor_alloc(c, 21, SMALL), NOBODY); /* expected, but later */
    assert_int_equal(spw_cursor_alloc(c, 22, LARGE), 2);
    assert_int_equal(spw_cursor_alloc(c, 23, LARGE), NOBODY); /* one too many */
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    assert_int_equal(spw_cursor_alloc(c, 24, LARGE), 4); /* the other way round */
    EXPECT(c, 90, false, SPW_CURSOR_EXPECTED, 2);
    assert_int_equal(spw_cursor_alloc(c, 25, SMALL), 3); /* behind a copy that it should come before */
    EXPECT(c, 91, false, SPW_CURSOR_EXPECTED, 3);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    assert_int_equal(spw_cursor_alloc(c, 26, BATCH + 1), NOBODY);
    assert_int_equal(spw_cursor_alloc(c, 27, BATCH), 5);
    const uint64_t expected[] = {22, 25, 24, 27};
    assert_memory_equal(c->id + 2, expected, sizeof expected);
    end(&p);
}

static void a_missing_allocation_does_not_shift_those_behind_the_next_operation(void **state)
{
    struct place p = begin();
    EXPECT(&p.cursor, 10, true, SPW_CURSOR_EXPECTED, 1);
    assert_int_equal(spw_cursor_alloc(&p.cursor, 21, LARGE), 4); /* not 2, which did not come */
    EXPECT(&p.cursor, 11, true, SPW_CURSOR_EXPECTED, 4);
    assert_int_equal(spw_cursor_alloc(&p.cursor, 22, BATCH), 5);
    end(&p);
}

static void who_lives_on_may_be_allocated_at_any_time(void **state)
{
    struct place p = begin();
    assert_int_equal(spw_cursor_alloc(&p.cursor, 21, BATCH), 5);
    assert_int_equal(spw_cursor_alloc(&p.cursor, 22, LARGE), 2);
    assert_int_equal(spw_cursor_alloc(&p.cursor, 23, BATCH), NOBODY);
    assert_true(spw_cursor_free(&p.cursor, 5, 21));
    assert_int_equal(spw_cursor_alloc(&p.cursor, 24, BATCH), 5); /* the other one was something else */
    spw_cursor_rewind(&p.cursor);
    assert_int_equal(p.cursor.id[1], 24);
    end(&p);
}

static void who_lives_on_takes_its_new_number_and_is_freed_under_either(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    assert_int_equal(c->id[0], 1);
    assert_int_equal(c->id[1], 0); /* whose batch it is nobody knows yet */
    spw_cursor_bind(c, 1, 9);
    assert_int_equal(c->id[1], 9);
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    assert_true(spw_cursor_free(c, 1, 9));
    assert_false(spw_cursor_free(c, 1, 9));
    assert_int_equal(spw_cursor_alloc(c, 30, BATCH), 5);
    spw_cursor_rewind(c);
    assert_int_equal(c->id[0], 1);
    assert_int_equal(c->id[1], 30);
    assert_int_equal(c->id[5], 0);
    assert_true(spw_cursor_free(c, 5, 30)); /* allocated as 5 */
    assert_int_equal(c->id[1], 0);
    spw_cursor_rewind(c);
    assert_int_equal(c->id[1], 0);
    assert_false(spw_cursor_free(c, NOBODY, 31));
    end(&p);
}

/* ---- telling ---- */

static char heard[1024];

__attribute__((format(printf, 1, 2))) static void hear(const char *format, ...)
{
    const size_t used = strlen(heard);
    va_list list;
    va_start(list, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): a false alarm, when several files are looked at in one go */
    (void)vsnprintf(heard + used, sizeof heard - used, format, list);
    va_end(list);
}

static void hear_alloc(void *context, uint64_t id, uint64_t bytes)
{
    hear("+%u:%u ", (unsigned)id, (unsigned)bytes);
}

static void hear_free(void *context, uint64_t id)
{
    hear("-%u ", (unsigned)id);
}

static void hear_op(void *context, const struct spw_course_op *op, const struct spw_iteration_op *call)
{
    hear("%s%u(", op ? "" : "extra", op ? (unsigned)op->key : (unsigned)call->function);
    for (uint32_t i = 0; i < call->touch_count; i++)
        hear("%s%s%u:%u@%u", i ? " " : "", i + call->loose_count < call->touch_count ? "" : "~",
             (unsigned)call->touches[i].alloc, (unsigned)call->touches[i].bytes, (unsigned)call->touches[i].offset);
    hear(") ");
}

static void expect_told(const struct spw_cursor *c, const char *expected)
{
    const struct spw_cursor_listener listener = {hear_alloc, hear_free, hear_op, NULL};
    heard[0] = 0;
    assert_int_equal(spw_cursor_tell(c, &listener), 0);
    assert_string_equal(heard, expected);
}

static void what_happened_since_the_beginning_is_told_in_its_order(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    const struct spw_iteration_touch touched = {.alloc = 1, .bytes = WEIGHTS};
    const struct spw_iteration_op copy = {
        .kind = SPW_ITERATION_COPY_D2H, .function = 7, .touch_count = 1, .touches = &touched};
    expect_told(c, "");
    spw_cursor_bind(c, 1, 9);
    (void)spw_cursor_alloc(c, 30, LARGE);
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    (void)spw_cursor_alloc(c, 31, 5);
    EXPECT(c, 99, false, SPW_CURSOR_EXTRA, 1);
    spw_cursor_note_extra(c, &copy);
    (void)spw_cursor_alloc(c, 32, LARGE);
    (void)spw_cursor_free(c, 2, 30); /* sooner than expected */
    EXPECT(c, 91, false, SPW_CURSOR_EXPECTED, 3);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    (void)spw_cursor_free(c, NOBODY, 31);
    (void)spw_cursor_free(c, NOBODY, 3); /* from before */
    expect_told(c, "+30:64 10(9:40@0 30:64@16) +31:5 extra7(1:100@0) +32:64 -30 91(30:64@0 32:64@16) "
                   "11(32:64@16 ~1:100@0) -31 -3 ");
    end(&p);
}

/* One silent iteration; ids begin at `first`. What is allocated beside it stays. */
static void pass(struct spw_cursor *c, uint64_t first, uint64_t batch)
{
    (void)spw_cursor_alloc(c, first, LARGE);
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    (void)spw_cursor_alloc(c, first + 1, SMALL);
    (void)spw_cursor_alloc(c, first + 2, LARGE);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    (void)spw_cursor_free(c, 2, first);
    (void)spw_cursor_free(c, 1, batch);
    (void)spw_cursor_alloc(c, first + 3, BATCH);
    (void)spw_cursor_alloc(c, first + 4, 7);
    EXPECT(c, 12, true, SPW_CURSOR_EXPECTED, 5);
    EXPECT(c, 92, false, SPW_CURSOR_EXPECTED, 6);
    spw_cursor_rewind(c);
    (void)spw_cursor_free(c, 3, first + 1);
    (void)spw_cursor_free(c, 4, first + 2);
}

static void who_came_and_went_in_iterations_that_were_not_told_comes_before(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    spw_cursor_bind(c, 1, 9);
    (void)spw_cursor_free(c, NOBODY, 3);
    pass(c, 20, 9);
    (void)spw_cursor_free(c, NOBODY, 24);
    (void)spw_cursor_free(c, NOBODY, 4);
    pass(c, 30, 23);
    pass(c, 40, 33);
    (void)spw_cursor_free(c, 0, 1);
    /* 34 and 44 are left, 43 is the batch; 9, 3 and 4 are gone. The late frees of the last iteration come as they came. */
    expect_told(c, "+34:7 +43:40 +44:7 -9 -3 -4 -41 -42 -1 ");
    spw_cursor_begin(c);
    expect_told(c, "");
    assert_int_equal(c->id[0], 1);
    assert_int_equal(c->id[1], 0);
    end(&p);
}

static void a_tensor_that_should_have_been_freed_is_told_of_as_long_as_it_lives(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    spw_cursor_bind(c, 1, 9);
    (void)spw_cursor_alloc(c, 20, LARGE); /* 2: is not freed */
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    (void)spw_cursor_alloc(c, 21, BATCH);
    EXPECT(c, 12, true, SPW_CURSOR_EXPECTED, 5);
    EXPECT(c, 92, false, SPW_CURSOR_EXPECTED, 6);
    spw_cursor_rewind(c); /* nor is batch 9 */
    expect_told(c, "+20:64 +21:40 ");
    (void)spw_cursor_free(c, 2, 20);
    (void)spw_cursor_free(c, 1, 9);
    expect_told(c, "+20:64 +21:40 -20 -9 ");
    spw_cursor_rewind(c);
    expect_told(c, "+21:40 -9 "); /* batch 21 was not freed either */
    end(&p);
}

static void an_iteration_that_is_told_when_it_is_complete_is_not_told_again(void **state)
{
    const struct spw_cursor_listener listener = {hear_alloc, hear_free, hear_op, NULL};
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    spw_cursor_bind(c, 1, 9);
    (void)spw_cursor_alloc(c, 20, LARGE);
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    EXPECT(c, 11, true, SPW_CURSOR_EXPECTED, 4);
    (void)spw_cursor_free(c, 2, 20);
    (void)spw_cursor_free(c, 1, 9);
    (void)spw_cursor_alloc(c, 23, BATCH);
    (void)spw_cursor_alloc(c, 24, 7);
    EXPECT(c, 12, true, SPW_CURSOR_EXPECTED, 5);
    EXPECT(c, 92, false, SPW_CURSOR_EXPECTED, 6);
    heard[0] = 0;
    assert_int_equal(spw_cursor_rewind_telling(c, &listener), 0);
    assert_string_equal(heard, "+20:64 10(9:40@0 20:64@16) 11(0:64@16 ~1:100@0) -20 -9 +23:40 +24:7 "
                               "12(1:100@0 23:40@16) 92(0:64@0 0:8@16) ");
    assert_int_equal(c->op, 0);
    assert_int_equal(c->id[1], 23);
    expect_told(c, "");
    (void)spw_cursor_free(c, NOBODY, 24);
    (void)spw_cursor_alloc(c, 30, LARGE);
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    expect_told(c, "-24 +30:64 10(23:40@0 30:64@16) ");
    spw_cursor_rewind(c);
    expect_told(c, "+30:64 -24 ");
    end(&p);
}

static void what_is_left_out_is_gone_past_and_not_told(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    assert_int_equal(spw_cursor_find(c, 12, 0), 4);
    assert_int_equal(spw_cursor_find(c, 12, 5), 6);
    assert_int_equal(spw_cursor_find(c, 90, 0), 6); /* beside the backbone */
    EXPECT(c, 12, true, SPW_CURSOR_LOST, 0);
    spw_cursor_skip_to(c, 4);
    EXPECT(c, 12, true, SPW_CURSOR_EXPECTED, 5);
    expect_told(c, "12(1:100@0 0:40@16) ");
    spw_cursor_skip_to(c, 6);
    EXPECT(c, 10, true, SPW_CURSOR_COMPLETE, 6);
    end(&p);
}

static void who_was_taken_for_another_is_recognised_later(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    assert_int_equal(spw_cursor_alloc(c, 30, LARGE), 2); /* which it is not */
    assert_int_equal(spw_cursor_alloc(c, 31, LARGE), NOBODY);
    assert_false(spw_cursor_recognise(c, 2, 32));
    assert_false(spw_cursor_recognise(c, 1, 31)); /* nothing of this iteration's */
    assert_true(spw_cursor_recognise(c, 2, 31));
    assert_false(spw_cursor_recognise(c, 2, 31));
    EXPECT(c, 10, true, SPW_CURSOR_EXPECTED, 1);
    expect_told(c, "+30:64 +31:64 10(0:40@0 31:64@16) ");
    assert_false(spw_cursor_free(c, NOBODY, 30));
    assert_true(spw_cursor_free(c, 2, 31));
    spw_cursor_rewind(c);
    expect_told(c, ""); /* neither is left */
    end(&p);
}

static void who_is_gone_by_then_may_have_been_taken_for_another(void **state)
{
    struct place p = begin();
    struct spw_cursor *c = &p.cursor;
    assert_int_equal(spw_cursor_alloc(c, 30, LARGE), 2);
    assert_true(spw_cursor_free(c, 2, 30));
    assert_int_equal(spw_cursor_alloc(c, 31, LARGE), NOBODY);
    assert_true(spw_cursor_recognise(c, 2, 31));
    spw_cursor_rewind(c);
    expect_told(c, "+31:64 "); /* it lives */
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_that_come_as_expected_are_gone_past),
        cmocka_unit_test(nothing_is_expected_behind_the_last_operation),
        cmocka_unit_test(copies_may_be_missing_or_too_many),
        cmocka_unit_test(another_operation_of_the_backbone_loses_the_place_and_moves_nothing),
        cmocka_unit_test(what_is_missing_at_the_end_shows_when_the_next_iteration_begins),
        cmocka_unit_test(allocations_are_found_by_size_up_to_the_next_operation_of_the_backbone),
        cmocka_unit_test(a_missing_allocation_does_not_shift_those_behind_the_next_operation),
        cmocka_unit_test(who_lives_on_may_be_allocated_at_any_time),
        cmocka_unit_test(who_lives_on_takes_its_new_number_and_is_freed_under_either),
        cmocka_unit_test(what_happened_since_the_beginning_is_told_in_its_order),
        cmocka_unit_test(who_came_and_went_in_iterations_that_were_not_told_comes_before),
        cmocka_unit_test(an_iteration_that_is_told_when_it_is_complete_is_not_told_again),
        cmocka_unit_test(a_tensor_that_should_have_been_freed_is_told_of_as_long_as_it_lives),
        cmocka_unit_test(what_is_left_out_is_gone_past_and_not_told),
        cmocka_unit_test(who_was_taken_for_another_is_recognised_later),
        cmocka_unit_test(who_is_gone_by_then_may_have_been_taken_for_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
