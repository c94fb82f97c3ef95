/* test-course-learned.c - small tensors are recorded beside the others, and what is found out about an operation later
 * enters its course. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "course/recording.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W };
#define NONE SPW_NO_INDEX

static struct spw_recording *begin(void)
{
    struct spw_recording *recording;
    assert_int_equal(spw_recording_create(&recording), 0);
    spw_recording_begin(recording);
    assert_int_equal(spw_recording_live(recording, 1, 100, true), 0);
    return recording;
}

#define OP(recording, ...) \
    op(recording, (struct spw_recording_touch[]){__VA_ARGS__}, \
       sizeof((struct spw_recording_touch[]){__VA_ARGS__}) / sizeof(struct spw_recording_touch))
static uint32_t op(struct spw_recording *recording, const struct spw_recording_touch *touches, uint32_t count)
{
    uint32_t ordinal;
    assert_int_equal(spw_recording_op(recording, 7, true, touches, count, &ordinal), 0);
    return ordinal;
}

static struct spw_course *finish(struct spw_recording *recording, uint32_t op_count)
{
    struct spw_course *course;
    assert_int_equal(spw_recording_finish(recording, op_count, &course), 0);
    spw_recording_destroy(recording);
    return course;
}

#define SMALL(id, access) \
    { \
        id, access, 0, 64 \
    }

/* 1: weights; 2: an activation, 3: what comes after it; 50: statistics, 51: a scalar of this iteration alone. */
static struct spw_course *step(void)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_alloc(r, 2, 30, true), 0);
    OP(r, {1, RW}, SMALL(50, RW), {2, RW}, {0, RW}, {1, RW, 16});
    OP(r, SMALL(51, RW), {2, RW}, SMALL(50, R), SMALL(51, RW));
    assert_int_equal(spw_recording_free(r, 51), 0);
    assert_int_equal(spw_recording_alloc(r, 3, 20, true), 0);
    OP(r, {3, RW}, {99, RW});
    assert_int_equal(spw_recording_free(r, 50), 0);
    return finish(r, 3);
}

static void small_tensors_are_none_of_the_others(void **state)
{
    struct spw_course *course = step();
    assert_int_equal(course->tensor_count, 3);
    assert_int_equal(course->live_count, 1);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(course->tensors[i].id, 1 + i);
    assert_int_equal(course->ops[0].first_alloc, 1);
    assert_int_equal(course->ops[1].first_alloc, 1);
    assert_int_equal(course->ops[2].first_alloc, 2);
    assert_int_equal(course->ops[0].touch_count, 2);
    assert_int_equal(course->ops[1].touch_count, 1);
    assert_int_equal(course->touches[course->ops[2].first_touch].tensor, 2);
    assert_int_equal(course->mention_count, 5);
    assert_int_equal(course->mentions[3].tensor, 1);
    assert_int_equal(course->tensors[0].first_use, 0);
    assert_int_equal(course->tensors[1].last_use, 1);
    assert_int_equal(course->tensors[2].first_use, 2);
    spw_course_destroy(course);
}

static void small_tensors_are_kept_by_operation_up_to_their_free(void **state)
{
    struct spw_course *course = step();
    assert_int_equal(course->small_count, 2);
    assert_int_equal(course->smalls[0].id, 50);
    assert_int_equal(course->smalls[0].bytes, 64);
    assert_int_equal(course->smalls[0].freed_before, NONE); /* behind the last operation: nobody can mind */
    assert_int_equal(course->smalls[1].id, 51);
    assert_int_equal(course->smalls[1].freed_before, 2);
    assert_int_equal(course->calls[0].small_count, 1);
    assert_int_equal(course->calls[1].small_count, 2);
    assert_int_equal(course->calls[2].small_count, 0);
    const struct spw_course_touch *touches = &course->small_touches[course->calls[1].first_small];
    assert_int_equal(touches[0].tensor, 1);
    assert_int_equal(touches[0].access, RW);
    assert_int_equal(touches[1].tensor, 0);
    assert_int_equal(touches[1].access, R);
    spw_course_destroy(course);
}

static void a_course_of_fewer_operations_has_what_these_touch(void **state)
{
    struct spw_recording *r = begin();
    OP(r, SMALL(50, R));
    OP(r, SMALL(51, R), SMALL(50, R));
    assert_int_equal(spw_recording_free(r, 50), 0);
    OP(r, {1, R});
    struct spw_course *course = finish(r, 1);
    assert_int_equal(course->small_count, 1);
    assert_int_equal(course->small_touch_count, 1);
    assert_int_equal(course->hit_count, 1);
    assert_int_equal(course->smalls[0].freed_before, NONE);
    spw_course_destroy(course);
}

static uint32_t access_of(const struct spw_course *course, uint32_t op, uint32_t tensor)
{
    for (uint32_t i = 0; i < course->ops[op].touch_count; i++) {
        const struct spw_course_touch *touch = &course->touches[course->ops[op].first_touch + i];
        if (touch->tensor == tensor)
            return touch->access;
    }
    return 0;
}

static void what_is_learned_of_several_parameters_is_true_of_the_tensor(void **state)
{
    struct spw_course *course = step();
    assert_false(course->ops[0].replayable);
    assert_int_equal(spw_course_learn(course, 0, (const uint8_t[]){R, R, W, RW, W}, 5, true), 0);
    assert_true(course->ops[0].replayable);
    assert_int_equal(access_of(course, 0, 0), RW); /* by the first parameter and the last */
    assert_int_equal(access_of(course, 0, 1), W);
    assert_int_equal(course->small_touches[course->calls[0].first_small].access, R);
    assert_int_equal(access_of(course, 1, 1), RW); /* another operation's */

    assert_int_equal(spw_course_learn(course, 1, (const uint8_t[]){R, R, R, W}, 4, false), 0);
    assert_int_equal(course->small_touches[course->calls[1].first_small].access, RW);
    assert_int_equal(course->small_touches[course->calls[1].first_small + 1].access, R);
    assert_int_equal(access_of(course, 1, 1), R);
    assert_int_equal(spw_course_learn(course, 0, (const uint8_t[]){R, R, R, R, R}, 5, false), 0);
    assert_false(course->ops[0].replayable);
    assert_int_equal(access_of(course, 0, 0), R);
    spw_course_destroy(course);
}

/* It is no part of what the operation is known by, and comes and goes. */
static void what_is_doubted_is_taken_to_be_read_only_where_the_rest_is_learned(void **state)
{
    struct spw_recording *r = begin();
    assert_int_equal(spw_recording_alloc(r, 2, 30, true), 0);
    const struct spw_recording_touch touches[] = {
        {1, RW, .doubted = true}, {2, RW}, {50, RW, .small_bytes = 256, .doubted = true}};
    assert_int_equal(spw_recording_op(r, 1, true, touches, 3, NULL), 0);
    OP(r, {1, RW}, {2, RW});
    struct spw_course *course = finish(r, 2);
    assert_int_equal(course->calls[0].hit_count, 1);
    assert_int_equal(course->ops[0].touch_count, 2);
    assert_int_equal(access_of(course, 0, 0), RW);
    assert_int_equal(spw_course_learn(course, 0, (const uint8_t[]){W}, 1, true), 0);
    assert_int_equal(access_of(course, 0, 0), R);
    assert_int_equal(access_of(course, 0, 1), W);
    assert_int_equal(course->small_touches[course->calls[0].first_small].access, R);
    assert_int_equal(access_of(course, 1, 0), RW);
    assert_int_equal(spw_course_learn(course, 1, (const uint8_t[]){W, RW}, 2, true), 0); /* hits are where they were */
    assert_int_equal(access_of(course, 1, 0), W);
    spw_course_destroy(course);
}

static void what_does_not_fit_the_recording_is_not_learned(void **state)
{
    struct spw_course *course = step();
    const uint8_t access[8] = {0};
    assert_int_equal(spw_course_learn(course, 0, access, 4, true), -EINVAL);
    assert_int_equal(spw_course_learn(course, 0, access, 6, true), -EINVAL);
    assert_int_equal(spw_course_learn(course, 3, access, 0, true), -EINVAL);
    assert_false(course->ops[0].replayable);
    assert_int_equal(access_of(course, 0, 0), RW);
    spw_course_destroy(course);

    struct spw_recording *r = begin();
    spw_recording_unordered(r, OP(r, {1, RW}, SMALL(50, RW)));
    course = finish(r, 1);
    assert_int_equal(spw_course_learn(course, 0, access, 2, true), -EINVAL);
    assert_int_equal(access_of(course, 0, 0), RW);
    assert_int_equal(course->small_count, 1);
    spw_course_destroy(course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tensors_are_none_of_the_others),
        cmocka_unit_test(small_tensors_are_kept_by_operation_up_to_their_free),
        cmocka_unit_test(a_course_of_fewer_operations_has_what_these_touch),
        cmocka_unit_test(what_is_learned_of_several_parameters_is_true_of_the_tensor),
        cmocka_unit_test(what_is_doubted_is_taken_to_be_read_only_where_the_rest_is_learned),
        cmocka_unit_test(what_does_not_fit_the_recording_is_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
