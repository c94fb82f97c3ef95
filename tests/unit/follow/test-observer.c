/* test-observer.c - what a device does is told to the detector and to the recording, and slots of slabs to the recording
 * alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "slab.h"
#include "training-loop.h"
#include "observer.h"

enum { FUNCTION = 900 };

static struct training_loop loop;
static struct spw_observer *watch;

static void begin(void)
{
    loop_start(&loop, (uint64_t)LOOP_TENSORS * LOOP_BYTES, SPW_PLAN_OFF);
    assert_int_equal(spw_observer_create(loop.device, &watch), 0);
    assert_int_equal(spw_observer_record(watch), 0);
}

static struct spw_observer_touch block_touch(CUdeviceptr address)
{
    const struct spw_block *b = spw_block_of(spw_object_at_locked(address));
    return (struct spw_observer_touch){b->serial, b->size_bytes, address - b->address, true, false};
}

static void tell(const struct spw_observer_touch *touches, uint32_t count, bool order_known)
{
    const struct spw_observer_op op = {{SPW_ITERATION_LAUNCH, FUNCTION, 0}, touches, count, false, order_known, FUNCTION};
    struct spw_iteration_place place;
    assert_int_not_equal(spw_observer_note(watch, &op, &place), SPW_NO_INDEX);
}

static struct spw_course *end(void)
{
    struct spw_course *course;
    assert_int_equal(spw_observer_course(watch, &course), 0);
    spw_observer_destroy(watch);
    return course;
}

static void slots_come_into_the_course_and_blocks_as_they_do_without(void **state)
{
    begin();
    const struct spw_observer_touch block = block_touch(loop.weights[2] + 64), slot = {7000, 256, 0, true, true};
    const struct spw_observer_touch touches[] = {slot, {.writes = true}, block}, only_read[] = {{7000, 256, 0, false, true}};
    tell(touches, 3, true);
    tell(only_read, 1, true);
    spw_observer_free_small(watch, 7000);
    tell(&block, 1, true);
    struct spw_course *course = end();
    assert_int_equal(course->op_count, 3);
    assert_int_equal(course->ops[0].touch_count, 1);
    assert_int_equal(course->ops[1].touch_count, 0);
    assert_int_equal(course->mention_count, 2);
    assert_int_equal(course->mentions[0].offset, 64);
    assert_int_equal(course->calls[0].mention_count, 1);
    assert_false(course->calls[0].everything);
    assert_int_equal(course->small_count, 1);
    assert_int_equal(course->smalls[0].bytes, 256);
    assert_int_equal(course->smalls[0].freed_before, 2);
    assert_int_equal(course->small_touches[1].access, SPW_COURSE_READS);
    assert_int_equal(course->calls[0].hit_count, 3);
    spw_course_destroy(course);
}

static void touches_without_an_order_teach_nothing(void **state)
{
    const uint8_t access[] = {SPW_COURSE_READS};
    begin();
    const struct spw_observer_touch block = block_touch(loop.weights[0]);
    tell(&block, 1, true);
    tell(&block, 1, false);
    struct spw_course *course = end();
    assert_int_equal(spw_course_learn(course, 0, access, 1, true), 0);
    assert_int_equal(spw_course_learn(course, 1, access, 1, true), -EINVAL);
    spw_course_destroy(course);
}

static void only_so_many_touches_are_told_to_the_detector(void **state)
{
    struct spw_observer_touch touches[70];
    begin();
    for (int i = 0; i < 70; i++)
        touches[i] = i % 2 ? block_touch(loop.weights[i % LOOP_LAYERS])
                           : (struct spw_observer_touch){7000 + (uint64_t)i, 256, 0, true, true};
    tell(touches, 70, true);
    for (int i = 0; i < 70; i++)
        touches[i] = block_touch(loop.weights[i % LOOP_LAYERS]);
    tell(touches, 64, true);
    tell(touches, 65, true);
    struct spw_course *course = end();
    assert_int_equal(course->calls[0].mention_count, 35);
    assert_false(course->calls[0].everything);
    assert_int_equal(course->calls[1].mention_count, 64);
    assert_false(course->calls[1].everything);
    assert_int_equal(course->calls[2].mention_count, 64);
    assert_true(course->calls[2].everything);
    assert_int_equal(course->small_count, 35);
    spw_course_destroy(course);
}

/* The recording has all that an operation may touch; the detector knows it by what is not doubted, however much else there
 * is, and nothing is learned of the rest. */
static void what_is_doubted_comes_into_the_course_alone(void **state)
{
    struct spw_observer_touch touches[70];
    begin();
    for (int i = 0; i < 70; i++) {
        touches[i] = block_touch(loop.weights[i % LOOP_LAYERS] + (CUdeviceptr)i);
        touches[i].doubted = i < 6;
    }
    tell(touches, 8, true);
    tell(touches, 70, true);
    struct spw_course *course = end();
    assert_int_equal(course->ops[0].touch_count, LOOP_LAYERS);
    assert_int_equal(course->calls[0].mention_count, 2);
    assert_int_equal(course->mentions[0].offset, 6);
    assert_int_equal(course->calls[0].hit_count, 2);
    assert_int_equal(course->calls[1].mention_count, 64);
    assert_false(course->calls[1].everything);
    spw_course_destroy(course);
}

/* The detector is told of it behind what the operation is known by, which goes first where there is too much. */
static void what_is_loose_is_told_behind_the_rest(void **state)
{
    struct spw_observer_touch touches[70];
    begin();
    for (int i = 0; i < 70; i++) {
        touches[i] = block_touch(loop.weights[i % LOOP_LAYERS] + (CUdeviceptr)i);
        touches[i].loose = i < 10;
    }
    tell(touches, 12, true);
    tell(touches, 70, true);
    tell(touches, 64 + 1, true);
    tell(touches + 10, 2, true);
    struct spw_course *course = end();
    assert_int_equal(course->calls[0].mention_count, 12);
    assert_int_equal(course->calls[0].loose_count, 10);
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(course->mentions[i].offset, (i + 10) % 12);
    assert_int_equal(course->calls[0].hit_count, 12);
    assert_int_equal(course->calls[1].mention_count, 64);
    assert_int_equal(course->calls[1].loose_count, 4);
    assert_false(course->calls[1].everything);
    assert_int_equal(course->calls[2].loose_count, 9);
    assert_int_equal(course->calls[3].loose_count, 0);
    spw_course_destroy(course);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_come_into_the_course_and_blocks_as_they_do_without),
        cmocka_unit_test(touches_without_an_order_teach_nothing),
        cmocka_unit_test(only_so_many_touches_are_told_to_the_detector),
        cmocka_unit_test(what_is_doubted_comes_into_the_course_alone),
        cmocka_unit_test(what_is_loose_is_told_behind_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
