/* test-compose-room.c - what leaves where memory is short in spite of all choices, and in which order. */
#include "attempt.h"

static void what_is_retained_is_not_taken_when_room_is_short(void **state)
{
    struct attempt a = attempt(there_and_back(false), 20);
    *behind_last(&a, 0) = SPW_RETAIN;
    a.request.may_copy = false;
    expect_none(&a, 1);
    attempt_finish(&a);
    a = attempt(tight(false), 30);
    *behind_last(&a, 0) = SPW_RETAIN;
    expect(&a, "op0 op1 d2h1 drop1 op2 drop2 op3 drop3 h2d1 op4 drop1 drop0");
    attempt_finish(&a);
}

static void a_copy_out_that_was_not_chosen_is_noted(void **state)
{
    static const char steps[] = "op0 drop0 op1 d2h1 drop1 op2 drop2 op3 drop3 h2d1 op4 drop1";
    struct attempt a = attempt(tight(false), 20);
    expect(&a, steps);
    assert_int_equal(a.composed.repairs, 1);
    assert_int_equal(*behind(&a, 1, 1), SPW_SWAP);
    expect(&a, steps);
    assert_int_equal(a.composed.repairs, 0);
    attempt_finish(&a);
}

static void a_replay_that_was_not_chosen_is_noted(void **state)
{
    struct attempt a = attempt(tight(true), 30);
    a.request.may_copy = false;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 op4 drop0 drop1");
    assert_int_equal(a.composed.repairs, 1);
    assert_int_equal(*behind(&a, 1, 1), SPW_DROP);
    attempt_finish(&a);
}

static void a_host_without_room_leaves_replays(void **state)
{
    struct attempt a = attempt(tight(true), 30);
    a.request.host_bytes = 9;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 op4 drop0 drop1");
    attempt_finish(&a);
}

static void what_finds_no_room_on_the_host_stays(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    a.request.host_bytes = 9;
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 drop0 op1 op2 drop2 op3 drop1");
    attempt_finish(&a);
}

static void what_is_used_last_leaves_first(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10, .initial = true}, {20}};
    static const struct tiny_op ops[] = {{10, 0, T(2)}, {10, T(2), 0}, {10, T(0), 0}, {10, T(1), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 30);
    expect(&a, "d2h1 drop1 op0 op1 drop2 op2 drop0 h2d1 op3 drop1");
    assert_int_equal(*head(&a, 1), SPW_SWAP);
    attempt_finish(&a);
}

static void there_is_no_schedule_where_nothing_may_leave(void **state)
{
    struct attempt a = attempt(tight(false), 20);
    a.request.may_copy = false;
    expect_none(&a, 2); /* 1 cannot be recomputed: the input is gone */
    attempt_finish(&a);
    a = attempt(tight(false), 19);
    expect_none(&a, 0);
    attempt_finish(&a);
}

static void what_was_brought_back_for_a_replay_leaves_before_all_else(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)},        {10, T(2), T(3)},
                                         {10, T(3), 0},    {10, T(0) | T(2), T(4)}, {10, T(0) | T(4), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 30);
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 replay1 drop1 op4 drop2 op5 drop0 drop4");
    assert_int_equal(a.composed.repairs, 0);
    attempt_finish(&a);
}

/* With room for two, the input has to leave while 2 is recomputed: 1 may not, which the replay is just reading. */
static void a_read_that_had_to_leave_for_another_comes_back(void **state)
{
    struct attempt a = attempt(line(), 20);
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 d2h0 drop0 op1 drop1 op2 drop2 op3 drop3 h2d0 replay0 drop0 replay1 drop1 h2d0 op4 drop0 drop2");
    attempt_finish(&a);
}

/* 3 is there and could stay, were there room for it beside 1, from which 2 is made again. */
static void a_read_that_never_left_makes_way_for_another_too(void **state)
{
    static const struct tiny_tensor tensors[] = {{1, .initial = true}, {8}, {4}, {4}};
    static const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(0) | T(2) | T(3), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 14);
    a.request.may_copy = false;
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 replay0 drop3 replay1 drop1 replay2 op4 drop0 drop2 drop3");
    assert_int_equal(a.composed.repairs, 1);
    assert_int_equal(*behind(&a, 3, 1), SPW_DROP);
    attempt_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_retained_is_not_taken_when_room_is_short),
        cmocka_unit_test(a_copy_out_that_was_not_chosen_is_noted),
        cmocka_unit_test(a_replay_that_was_not_chosen_is_noted),
        cmocka_unit_test(a_host_without_room_leaves_replays),
        cmocka_unit_test(what_finds_no_room_on_the_host_stays),
        cmocka_unit_test(what_is_used_last_leaves_first),
        cmocka_unit_test(there_is_no_schedule_where_nothing_may_leave),
        cmocka_unit_test(what_was_brought_back_for_a_replay_leaves_before_all_else),
        cmocka_unit_test(a_read_that_had_to_leave_for_another_comes_back),
        cmocka_unit_test(a_read_that_never_left_makes_way_for_another_too),
    };
    return cmocka_run_group_tests_name("compose-room", tests, NULL, NULL);
}
