/* test-refusals.c - what cannot be run again is listed by kernel and reason, with what it keeps from being dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "refusals.h"

#include "course/course.h"
#include "driver.h"
#include "ledger.h"
#include "unlocked.h"

enum { R = SPW_COURSE_READS, W = SPW_COURSE_WRITES, RW = R | W, TOUCHES = 3, OPS = 128 };
enum { BIG = 1000 };

static struct spw_device device = {.ordinal = 0}, other = {.ordinal = 1};
static struct spw_course_op ops[OPS];
static struct spw_course_call calls[OPS];
static struct spw_course_touch touches[OPS * TOUCHES];
static struct spw_course_tensor tensors[OPS];
static struct spw_judged judged[OPS];
static struct spw_course course;

/* Kernel number n. */
static CUfunction kernel(unsigned n)
{
    return (CUfunction)(uintptr_t)(0x1000 + 16 * n);
}

static CUresult CUDAAPI name_of(const char **name, CUfunction f)
{
    static char names[OPS][16];
    const unsigned n = (unsigned)(((uintptr_t)f - 0x1000) / 16);
    snprintf(names[n], sizeof(names[n]), "kernel-%u", n);
    *name = names[n];
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    memset(ops, 0, sizeof(ops));
    memset(calls, 0, sizeof(calls));
    for (unsigned t = 0; t < OPS; t++)
        tensors[t] = (struct spw_course_tensor){.id = t + 1, .bytes = BIG + t, .evictable = true};
    course = (struct spw_course){.ops = ops, .calls = calls, .touches = touches, .tensors = tensors, .tensor_count = OPS};
    spw_driver.cuFuncGetName = name_of;
    return 0;
}

static int finish(void **state)
{
    (void)state;
    free(device.refusals);
    device.refusals = NULL;
    spw_refusals_changes = 0;
    return 0;
}

#define OP(n, verdict, ...) \
    op(n, verdict, (struct spw_course_touch[]){__VA_ARGS__}, \
       sizeof((struct spw_course_touch[]){__VA_ARGS__}) / sizeof(struct spw_course_touch))
static void op(unsigned n, enum spw_replay_verdict verdict, const struct spw_course_touch *list, uint32_t count)
{
    const uint32_t o = course.op_count++;
    ops[o] = (struct spw_course_op){.first_touch = course.touch_count, .touch_count = count};
    memcpy(&touches[course.touch_count], list, count * sizeof(*list));
    course.touch_count += count;
    calls[o] = (struct spw_course_call){.kind = SPW_ITERATION_LAUNCH, .function = n};
    judged[o] = (struct spw_judged){kernel(n), verdict};
}

static const struct spw_refusals *learn(void)
{
    spw_refusals_learned_locked(&device, &course, judged);
    const struct spw_refusals *r = device.refusals;
    assert_non_null(r);
    return r;
}

static void holds(const struct spw_refusals *r, uint32_t i, const char *name, enum spw_replay_verdict verdict,
                  uint32_t operations, uint64_t bytes)
{
    assert_true(i < r->count);
    assert_string_equal(r->list[i].kernel, name);
    assert_int_equal(r->list[i].verdict, verdict);
    assert_int_equal(r->list[i].operations, operations);
    assert_int_equal(r->list[i].bytes, bytes);
}

static void each_kernel_is_listed_once_for_each_reason_by_the_bytes_that_wait(void **state)
{
    OP(1, SPW_REPLAY_DIFFERS, {0, W});
    OP(2, SPW_REPLAYABLE, {1, W});
    OP(1, SPW_REPLAY_DIFFERS, {2, W});
    OP(1, SPW_REPLAY_HIDDEN_STATE, {3, RW});
    OP(3, SPW_REPLAY_HIDDEN_STATE, {4, W});
    OP(4, SPW_REPLAYABLE, {0, R}, {1, R}, {2, R});
    OP(4, SPW_REPLAYABLE, {4, R}, {3, R});
    const struct spw_refusals *r = learn();
    assert_int_equal(r->operations, 7);
    assert_int_equal(r->replayable, 3);
    assert_int_equal(r->count, 3);
    holds(r, 0, "kernel-1", SPW_REPLAY_DIFFERS, 2, 2 * BIG + 2);
    holds(r, 1, "kernel-3", SPW_REPLAY_HIDDEN_STATE, 1, BIG + 4);
    holds(r, 2, "kernel-1", SPW_REPLAY_HIDDEN_STATE, 1, BIG + 3);
    assert_int_equal(r->left_out, 0);
}

/* Read by the next operation only, or by none, overwritten first, or by what stays anyway: nothing could have been dropped.
 */
static void bytes_that_nobody_waits_for_do_not_count(void **state)
{
    tensors[2].evictable = false;
    OP(1, SPW_REPLAY_DIFFERS, {0, W}, {1, W}, {2, W});
    OP(2, SPW_REPLAYABLE, {0, R}, {3, RW});
    OP(3, SPW_REPLAY_DIFFERS, {1, W}, {4, W});
    OP(2, SPW_REPLAYABLE, {1, R}, {4, R});
    OP(2, SPW_REPLAYABLE, {2, R}, {3, R}, {4, R});
    OP(2, SPW_REPLAYABLE, {4, R});
    const struct spw_refusals *r = learn();
    assert_int_equal(r->count, 2);
    holds(r, 0, "kernel-3", SPW_REPLAY_DIFFERS, 1, BIG + 4); /* once, though it is read three times */
    holds(r, 1, "kernel-1", SPW_REPLAY_DIFFERS, 1, 0);
}

static void what_is_no_launch_goes_by_its_kind_and_copies_of_the_host_are_no_refusals(void **state)
{
    static const struct {
        enum spw_iteration_kind kind;
        const char *name;
    } calls_of[] = {
        {SPW_ITERATION_GRAPH, "a graph"}, {SPW_ITERATION_SET, "a set"}, {SPW_ITERATION_COPY_D2D, "a copy on the device"}};
    for (unsigned i = 0; i < 3; i++) {
        OP(0, SPW_REPLAY_CAPTURED, {i, W});
        calls[i].kind = calls_of[i].kind;
        judged[i].function = NULL;
    }
    OP(0, SPW_REPLAY_OTHER_CALL, {4, W});
    calls[3].kind = SPW_ITERATION_COPY_H2D;
    OP(0, SPW_REPLAY_OTHER_CALL, {0, R});
    calls[4].kind = SPW_ITERATION_COPY_D2H;
    OP(1, SPW_REPLAYABLE, {1, R}, {2, R}, {4, R});
    const struct spw_refusals *r = learn();
    assert_int_equal(r->count, 3);
    for (uint32_t i = 0; i < 3; i++)
        holds(r, 2 - i, calls_of[i].name, SPW_REPLAY_CAPTURED, 1, BIG + i);
}

static void those_that_hold_least_are_left_out_and_counted(void **state)
{
    enum { MORE = 7 };
    for (unsigned i = 0; i < SPW_REFUSALS + MORE; i++)
        OP(i, SPW_REPLAY_UNPARSED, {i, W});
    OP(100, SPW_REPLAYABLE, {SPW_REFUSALS + MORE, W});
    for (unsigned i = 0; i < SPW_REFUSALS + MORE; i++)
        OP(100, SPW_REPLAYABLE, {i, R});
    const struct spw_refusals *r = learn();
    uint64_t bytes = 0;
    for (unsigned i = 0; i < MORE; i++)
        bytes += BIG + i;
    assert_int_equal(r->count, SPW_REFUSALS);
    assert_int_equal(r->left_out, MORE);
    assert_int_equal(r->left_out_bytes, bytes);
    holds(r, SPW_REFUSALS - 1, "kernel-7", SPW_REPLAY_UNPARSED, 1, BIG + MORE);
}

static void a_shorter_iteration_does_not_take_the_place_of_a_longer_one_yet_one_as_long_does(void **state)
{
    OP(1, SPW_REPLAY_DIFFERS, {0, W});
    OP(2, SPW_REPLAYABLE, {1, W});
    (void)learn();
    const uint64_t changes = spw_refusals_changes;
    course.op_count = 1;
    judged[0].verdict = SPW_REPLAY_HIDDEN_STATE;
    holds(learn(), 0, "kernel-1", SPW_REPLAY_DIFFERS, 1, 0);
    assert_int_equal(spw_refusals_changes, changes);
    course.op_count = 2;
    holds(learn(), 0, "kernel-1", SPW_REPLAY_HIDDEN_STATE, 1, 0);
    assert_int_equal(spw_refusals_changes, changes + 1);
    assert_null(other.refusals);
}

static void a_replay_that_was_wrong_comes_first_with_all_operations_of_its_function(void **state)
{
    OP(1, SPW_REPLAY_DIFFERS, {0, W});
    OP(2, SPW_REPLAYABLE, {1, W});
    OP(2, SPW_REPLAYABLE, {2, W});
    OP(3, SPW_REPLAYABLE, {3, W});
    OP(3, SPW_REPLAYABLE, {0, R}, {1, R}, {2, R});
    OP(3, SPW_REPLAYABLE, {3, R});
    const struct spw_refusals *r = learn();
    spw_refusals_mismatch_locked(&device, &course, 1, kernel(2));
    spw_refusals_mismatch_locked(&device, &course, 1, kernel(2)); /* again: nothing is counted twice */
    assert_int_equal(r->count, 2);
    assert_int_equal(r->replayable, 3);
    holds(r, 0, "kernel-2", SPW_REPLAY_MISMATCH, 2, 2 * BIG + 3);
    holds(r, 1, "kernel-1", SPW_REPLAY_DIFFERS, 1, BIG);
    spw_refusals_mismatch_locked(&device, NULL, 3, kernel(9)); /* of another iteration */
    holds(r, 0, "kernel-9", SPW_REPLAY_MISMATCH, 0, 0);
}

static void each_copy_whose_replay_was_wrong_counts_alone(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        OP(0, SPW_REPLAYABLE, {i, W});
        calls[i].kind = SPW_ITERATION_COPY_D2D;
        judged[i].function = NULL;
    }
    OP(1, SPW_REPLAYABLE, {3, W});
    OP(1, SPW_REPLAYABLE, {0, R}, {1, R}, {2, R});
    const struct spw_refusals *r = learn();
    spw_refusals_mismatch_locked(&device, &course, 0, NULL);
    holds(r, 0, "a copy on the device", SPW_REPLAY_MISMATCH, 1, BIG);
    spw_refusals_mismatch_locked(&device, &course, 2, NULL);
    holds(r, 0, "a copy on the device", SPW_REPLAY_MISMATCH, 2, 2 * BIG + 2);
    assert_int_equal(r->replayable, 3);
}

static void a_wrong_replay_finds_room_in_a_full_list(void **state)
{
    for (unsigned i = 0; i < SPW_REFUSALS; i++)
        OP(i, SPW_REPLAY_UNPARSED, {i, W});
    OP(100, SPW_REPLAYABLE, {SPW_REFUSALS, W});
    for (unsigned i = 0; i < SPW_REFUSALS; i++)
        OP(101, SPW_REPLAYABLE, {i, R});
    const struct spw_refusals *r = learn();
    spw_refusals_mismatch_locked(&device, &course, SPW_REFUSALS, kernel(100));
    assert_int_equal(r->count, SPW_REFUSALS);
    assert_int_equal(r->left_out, 1);
    assert_int_equal(r->left_out_bytes, BIG);
    holds(r, 0, "kernel-100", SPW_REPLAY_MISMATCH, 1, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)
    const struct CMUnitTest tests[] = {
        TEST(each_kernel_is_listed_once_for_each_reason_by_the_bytes_that_wait),
        TEST(bytes_that_nobody_waits_for_do_not_count),
        TEST(what_is_no_launch_goes_by_its_kind_and_copies_of_the_host_are_no_refusals),
        TEST(those_that_hold_least_are_left_out_and_counted),
        TEST(a_shorter_iteration_does_not_take_the_place_of_a_longer_one_yet_one_as_long_does),
        TEST(a_replay_that_was_wrong_comes_first_with_all_operations_of_its_function),
        TEST(each_copy_whose_replay_was_wrong_counts_alone),
        TEST(a_wrong_replay_finds_room_in_a_full_list),
    };
    return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}
