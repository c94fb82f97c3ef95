/* test-scratch.c - memory for probes: the smallest launch of each kind has room, however large operations are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "course/course.h"
#include "digest.h"
#include "scratch.h"
#include "unlocked.h"

#define MB ((uint64_t)1 << 20)

enum { OPS = 5, SLOTS_MB = 1 };

static struct spw_device device;

/* One tensor for each operation, of so many bytes; kinds by function. */
static struct spw_course_op ops[OPS];
static struct spw_course_touch touches[OPS];
static struct spw_course_tensor tensors[OPS];
static struct spw_course_call calls[OPS];
static const struct spw_course course = {.ops = ops,
                                         .touches = touches,
                                         .tensors = tensors,
                                         .calls = calls,
                                         .op_count = OPS,
                                         .tensor_count = OPS,
                                         .touch_count = OPS};

static void set(uint32_t op, uint64_t function, uint32_t hits, uint64_t bytes)
{
    ops[op] = (struct spw_course_op){.first_touch = op, .touch_count = 1};
    touches[op].tensor = op;
    tensors[op] = (struct spw_course_tensor){.bytes = bytes, .first_use = op};
    calls[op] = (struct spw_course_call){.function = function, .hit_count = hits};
}

static int begin(void **state)
{
    (void)state;
    device = (struct spw_device){.largest_bytes = 30 * MB};
    device.handles.budget_bytes = 100 * MB + SPW_DIGEST_SLOTS * sizeof(struct spw_hash);
    set(0, 1, 2, 15 * MB);
    set(1, 1, 2, 3 * MB);
    set(2, 2, 2, 5 * MB);
    set(3, 2, 2, 9 * MB);
    set(4, 0, 1, 12 * MB); /* a copy: it is not tried */
    return 0;
}

static void the_smallest_launch_of_each_kind_has_room(void **state)
{
    (void)state;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (5 + SLOTS_MB) * MB);
    calls[3].hit_count = 3; /* another kind by that */
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (9 + SLOTS_MB) * MB);
    tensors[1].bytes = 16 * MB;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (15 + SLOTS_MB) * MB);
    tensors[1].bytes = 3 * MB - 1; /* copies are put at round places */
    tensors[2].bytes = 2 * MB;
    calls[3].hit_count = 2;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (3 + SLOTS_MB) * MB);
}

static void kinds_that_would_take_more_than_a_fifth_are_left_out(void **state)
{
    (void)state;
    set(3, 3, 2, 21 * MB);
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (5 + SLOTS_MB) * MB);
    tensors[3].bytes = 20 * MB;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), 20 * MB);
}

/* As it was before, and as the launch left it. */
static void what_has_a_content_is_put_aside_twice(void **state)
{
    (void)state;
    tensors[1].first_use = 0;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (6 + SLOTS_MB) * MB);
}

/* It goes when that operation comes. */
static void an_operation_that_takes_nearly_all_leaves_it_its_size(void **state)
{
    (void)state;
    tensors[4].bytes = 99 * MB;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (5 + SLOTS_MB) * MB);
    device.largest_bytes = 99 * MB;
    assert_int_equal(spw_scratch_bytes_locked(&device, &course), (5 + SLOTS_MB) * MB);
}

static void an_operation_that_takes_more_than_the_budget_leaves_no_room(void **state)
{
    (void)state;
    tensors[0].bytes = 100 * MB;
    assert_true(spw_scratch_leaves_room_locked(&device, &course));
    tensors[0].bytes++;
    assert_false(spw_scratch_leaves_room_locked(&device, &course));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_smallest_launch_of_each_kind_has_room, begin),
        cmocka_unit_test_setup(kinds_that_would_take_more_than_a_fifth_are_left_out, begin),
        cmocka_unit_test_setup(what_has_a_content_is_put_aside_twice, begin),
        cmocka_unit_test_setup(an_operation_that_takes_nearly_all_leaves_it_its_size, begin),
        cmocka_unit_test_setup(an_operation_that_takes_more_than_the_budget_leaves_no_room, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
