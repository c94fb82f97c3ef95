/* test-compose.c - what becomes of each choice, step by step: small graphs, choices, and exactly the steps expected. */
#include "attempt.h"

/* ---- one gap ---- */

static void what_is_kept_goes_when_nobody_needs_it_any_more(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    expect(&a, "op0 drop0 op1 op2 drop2 op3 drop1");
    assert_int_equal(a.composed.repairs, 0);
    attempt_finish(&a);
}

static void what_is_swapped_leaves_behind_its_use_and_comes_back_before_the_next(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 drop0 op1 d2h1 drop1 op2 drop2 h2d1 op3 drop1");
    assert_int_equal(a.composed.repairs, 0);
    attempt_finish(&a);
}

static void a_host_copy_that_is_still_good_is_not_made_again(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind(&a, 1, 0) = *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 drop0 d2h1 drop1 h2d1 op1 drop1 op2 drop2 h2d1 op3 drop1");
    attempt_finish(&a);
}

static void what_is_dropped_is_recomputed_before_its_next_use(void **state)
{
    struct attempt a = attempt(there_and_back(true), 1000);
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 replay0 op3 drop0 drop1");
    assert_true(a.composed.replayed_us == 10);
    attempt_finish(&a);
}

static void what_cannot_be_recomputed_is_kept_instead_of_dropped(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000); /* the input is gone by then */
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 drop0 op1 op2 drop2 op3 drop1");
    attempt_finish(&a);
}

static void choices_that_are_not_allowed_are_not_followed(void **state)
{
    struct attempt a = attempt(there_and_back(true), 1000);
    a.request.may_copy = a.request.may_replay = false;
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    attempt_finish(&a);
}

static void what_may_not_leave_stays_whatever_is_chosen(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10, .fixed = true}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(0) | T(1), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 1000);
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    attempt_finish(&a);
}

/* Tensor 1 is read by operations 1 and 5. */
static struct spw_graph *long_gap(void)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0},
                                         {10, T(2), 0},    {10, T(2), 0},    {10, T(0) | T(1), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void a_lead_recomputes_so_many_operations_ahead(void **state)
{
    struct attempt a = attempt(long_gap(), 1000);
    *behind(&a, 1, 1) = SPW_DROP_EARLY(2);
    expect(&a, "op0 op1 drop1 op2 replay0 op3 op4 drop2 op5 drop0 drop1");
    *behind(&a, 1, 1) = SPW_DROP_EARLY(0);
    expect(&a, "op0 op1 drop1 op2 op3 op4 drop2 replay0 op5 drop0 drop1");
    attempt_finish(&a);
}

static void a_lead_longer_than_the_gap_is_none(void **state)
{
    struct attempt a = attempt(long_gap(), 1000);
    *behind(&a, 1, 1) = SPW_DROP_EARLY(3);
    expect(&a, "op0 op1 drop1 op2 op3 op4 drop2 replay0 op5 drop0 drop1");
    attempt_finish(&a);
}

static void where_there_is_no_room_ahead_it_is_recomputed_for_its_use(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {20, .fixed = true}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(0) | T(1), 0}, {10, 0, T(2), .fixed = true},
                                         {10, T(2), 0},    {10, T(2), 0},        {10, T(0) | T(1), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 30);
    a.request.may_copy = false;
    *behind(&a, 1, 1) = SPW_DROP_EARLY(2);
    expect(&a, "op0 op1 drop1 op2 op3 op4 drop2 replay0 op5 drop0 drop1");
    attempt_finish(&a);
}

static void what_is_recomputed_ahead_stays_for_its_use(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10, .initial = true}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0},
                                         {10, T(2), 0},    {10, T(2), T(4)}, {10, T(0) | T(1) | T(4), 0},
                                         {10, T(3), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 40);
    *behind(&a, 1, 1) = SPW_DROP_EARLY(2);
    expect(&a, "op0 op1 drop1 op2 replay0 op3 d2h3 drop3 op4 drop2 op5 drop0 drop1 drop4 h2d3 op6 drop3");
    attempt_finish(&a);
}

/* 0 -> 1 -> 2; both are read again, 2 by operation 4 and 1 by operation 6. */
static struct spw_graph *chain_and_back(void)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)},    {10, T(1), T(2)}, {10, T(2), T(3)},
                                         {10, T(3), 0},       {10, T(2), 0},    {10, T(3), 0, .fixed = true},
                                         {10, T(0) | T(1), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void what_is_made_on_the_way_stays_for_its_own_use_unless_it_is_brief(void **state)
{
    struct attempt a = attempt(chain_and_back(), 1000);
    *behind(&a, 1, 1) = *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 replay0 replay1 op4 drop2 op5 drop3 op6 drop0 drop1");
    *behind(&a, 1, 1) = SPW_DROP | SPW_BRIEF;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 replay0 replay1 drop1 op4 drop2 op5 drop3 replay0 op6 drop0 drop1");
    attempt_finish(&a);
}

static void what_is_brief_stays_for_the_operation_that_it_is_made_for(void **state)
{
    struct attempt a = attempt(there_and_back(true), 1000);
    *behind(&a, 1, 1) = SPW_DROP | SPW_BRIEF;
    expect(&a, "op0 op1 drop1 op2 drop2 replay0 op3 drop0 drop1");
    attempt_finish(&a);
}

/* ---- behind the last use ---- */

static void what_is_retained_serves_replays_and_stays_to_the_end(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind_last(&a, 0) = SPW_RETAIN;
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 replay0 op3 drop1 drop0");
    attempt_finish(&a);
}

static void what_is_stored_comes_in_for_a_replay(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind_last(&a, 0) = SPW_STORE;
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 d2h0 drop0 op1 drop1 op2 drop2 h2d0 replay0 op3 drop1 drop0");
    attempt_finish(&a);
}

static void what_is_stored_is_not_copied_out_again(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(0), 0}, {10, T(2), 0}, {10, T(1), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 1000);
    *behind(&a, 0, 0) = SPW_SWAP;
    *behind_last(&a, 0) = SPW_STORE;
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 d2h0 drop0 op1 drop1 h2d0 op2 drop0 op3 drop2 h2d0 replay0 op4 drop1 drop0");
    attempt_finish(&a);
}

static void replays_go_back_through_what_is_dead(void **state)
{
    struct attempt a = attempt(line(), 1000);
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 replay1 op4 drop0 drop2 drop1");
    assert_true(a.composed.replayed_us == 20);
    attempt_finish(&a);
}

/* ---- what carries over ---- */

static struct spw_graph *weights(bool are_updated)
{
    static const struct tiny_tensor tensors[] = {{10, .persistent = true}, {10, .initial = true}, {10}};
    const struct tiny_op ops[] = {
        {10, T(1), T(2)}, {10, T(0) | T(2), T(2)}, {10, T(2), 0}, {10, T(0), are_updated ? T(0) : 0}, {10, T(2), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void what_is_swapped_behind_its_last_use_begins_on_the_host(void **state)
{
    struct attempt a = attempt(weights(true), 1000);
    *behind_last(&a, 0) = SPW_SWAP;
    expect(&a, "op0 drop1 h2d0 op1 op2 op3 d2h0 drop0 op4 drop2");
    attempt_finish(&a);
}

static void weights_that_nobody_writes_need_no_copy_out(void **state)
{
    struct attempt a = attempt(weights(false), 1000);
    *behind_last(&a, 0) = SPW_SWAP;
    expect(&a, "op0 drop1 h2d0 op1 op2 op3 drop0 op4 drop2");
    attempt_finish(&a);
}

static void what_is_swapped_before_its_first_use_leaves_at_the_start(void **state)
{
    struct attempt a = attempt(weights(true), 1000);
    *head(&a, 0) = SPW_SWAP;
    expect(&a, "d2h0 drop0 op0 drop1 h2d0 op1 op2 op3 op4 drop2");
    attempt_finish(&a);
}

static void what_nobody_writes_begins_with_a_copy_where_it_leaves_at_the_start(void **state)
{
    struct attempt a = attempt(weights(false), 1000);
    *head(&a, 0) = SPW_SWAP;
    attempt_compose(&a, "drop0 op0 drop1 h2d0 op1 op2 op3 op4 drop2");
    assert_int_equal(a.schedule.start[0], SPW_START_CLEAN);
    spw_schedule_finish(&a.schedule);
    attempt_finish(&a);
}

static void what_carries_over_is_never_recomputed(void **state)
{
    struct attempt a = attempt(weights(true), 1000);
    *behind(&a, 0, 0) = *behind_last(&a, 0) = SPW_DROP;
    expect(&a, "op0 drop1 op1 op2 op3 op4 drop2");
    attempt_finish(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_goes_when_nobody_needs_it_any_more),
        cmocka_unit_test(what_is_swapped_leaves_behind_its_use_and_comes_back_before_the_next),
        cmocka_unit_test(a_host_copy_that_is_still_good_is_not_made_again),
        cmocka_unit_test(what_is_dropped_is_recomputed_before_its_next_use),
        cmocka_unit_test(what_cannot_be_recomputed_is_kept_instead_of_dropped),
        cmocka_unit_test(choices_that_are_not_allowed_are_not_followed),
        cmocka_unit_test(what_may_not_leave_stays_whatever_is_chosen),
        cmocka_unit_test(a_lead_recomputes_so_many_operations_ahead),
        cmocka_unit_test(a_lead_longer_than_the_gap_is_none),
        cmocka_unit_test(where_there_is_no_room_ahead_it_is_recomputed_for_its_use),
        cmocka_unit_test(what_is_recomputed_ahead_stays_for_its_use),
        cmocka_unit_test(what_is_made_on_the_way_stays_for_its_own_use_unless_it_is_brief),
        cmocka_unit_test(what_is_brief_stays_for_the_operation_that_it_is_made_for),
        cmocka_unit_test(what_is_retained_serves_replays_and_stays_to_the_end),
        cmocka_unit_test(what_is_stored_comes_in_for_a_replay),
        cmocka_unit_test(what_is_stored_is_not_copied_out_again),
        cmocka_unit_test(replays_go_back_through_what_is_dead),
        cmocka_unit_test(what_is_swapped_behind_its_last_use_begins_on_the_host),
        cmocka_unit_test(weights_that_nobody_writes_need_no_copy_out),
        cmocka_unit_test(what_is_swapped_before_its_first_use_leaves_at_the_start),
        cmocka_unit_test(what_nobody_writes_begins_with_a_copy_where_it_leaves_at_the_start),
        cmocka_unit_test(what_carries_over_is_never_recomputed),
    };
    return cmocka_run_group_tests_name("compose", tests, NULL, NULL);
}
