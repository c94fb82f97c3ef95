/* test-compose.c - what becomes of each choice, step by step: small graphs, choices, and exactly the steps expected. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "compose.h"
#include "lineage.h"
#include "timeline.h"
#include "tiny.h"

enum { MOST_CHOICES = 64, MOST_STEPS = 64 };

struct attempt {
    struct spw_plan_request request;
    uint8_t choices[MOST_CHOICES];
    struct spw_schedule schedule;
    struct spw_composed composed;
};

/* Takes over the graph. */
static struct attempt attempt(struct spw_graph *graph, uint64_t device_bytes)
{
    assert_in_range(spw_choice_count(graph), 1, MOST_CHOICES);
    return (struct attempt){.request = {.graph = graph,
                                        .device_bytes = device_bytes,
                                        .host_bytes = UINT64_MAX,
                                        .may_copy = true,
                                        .may_replay = true,
                                        .machine = {.duplex = 1}}};
}

static void finish(struct attempt *a)
{
    spw_graph_destroy((struct spw_graph *)a->request.graph);
}

/* The choice for the gap behind use `number` of the tensor. */
static uint8_t *behind(struct attempt *a, uint32_t tensor, uint32_t number)
{
    const struct spw_graph_tensor *t = &a->request.graph->tensors[tensor];
    assert_true(number < t->use_count);
    return &a->choices[t->first_use + number];
}

static uint8_t *behind_last(struct attempt *a, uint32_t tensor)
{
    return behind(a, tensor, a->request.graph->tensors[tensor].use_count - 1);
}

static uint8_t *head(struct attempt *a, uint32_t tensor)
{
    return &a->choices[(size_t)a->request.graph->use_count + tensor];
}

static int compose(struct attempt *a)
{
    struct spw_composer *composer;
    assert_int_equal(spw_schedule_init(&a->schedule, a->request.graph), 0);
    assert_int_equal(spw_composer_create(&a->request, &composer), 0);
    const int r = spw_compose(composer, a->choices, &a->schedule, &a->composed);
    spw_composer_destroy(composer);
    return r;
}

static void check(const struct attempt *a)
{
    struct spw_check_rules rules = TINY_FREE;
    struct spw_timed_step events[MOST_STEPS];
    struct spw_timing timing;
    double start_us[MOST_STEPS];
    const size_t count = a->schedule.count;
    assert_in_range(count, 1, MOST_STEPS);
    assert_int_equal(
        spw_timeline(a->request.graph, &a->schedule, &a->request.machine, a->request.device_bytes, start_us, &timing, NULL),
        0);
    for (size_t i = 0; i < count; i++)
        events[i] = (struct spw_timed_step){a->schedule.steps[i].kind, a->schedule.steps[i].id, start_us[i]};
    rules.device_bytes = a->request.device_bytes;
    tiny_expect(a->request.graph, a->schedule.start, events, count, &rules, SPW_FAULT_NONE, 0);
    assert_true(timing.replayed_us == a->composed.replayed_us);
}

/* Composes, and compares the steps with a text like "op0 d2h1 drop1"; what comes out is valid. */
static void expect(struct attempt *a, const char *steps)
{
    char text[16 * MOST_STEPS] = "";
    size_t length = 0;
    assert_int_equal(compose(a), 0);
    for (size_t i = 0; i < a->schedule.count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%u", i ? " " : "",
                                   spw_step_name(a->schedule.steps[i].kind), a->schedule.steps[i].id);
    assert_string_equal(text, steps);
    check(a);
    spw_schedule_finish(&a->schedule);
}

static void expect_none(struct attempt *a, uint32_t op)
{
    assert_int_equal(compose(a), -ENOSPC);
    assert_int_equal(a->composed.op, op);
    spw_schedule_finish(&a->schedule);
}

/* ---- one gap ---- */

/* Tensor 1 waits from operation 1 to operation 3; the input, 0, is needed again only where `input_stays`. */
static struct spw_graph *there_and_back(bool input_stays)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(1) | (input_stays ? T(0) : 0), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void what_is_kept_goes_when_nobody_needs_it_any_more(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    expect(&a, "op0 drop0 op1 op2 drop2 op3 drop1");
    assert_int_equal(a.composed.repairs, 0);
    finish(&a);
}

static void what_is_swapped_leaves_behind_its_use_and_comes_back_before_the_next(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 drop0 op1 d2h1 drop1 op2 drop2 h2d1 op3 drop1");
    assert_int_equal(a.composed.repairs, 0);
    finish(&a);
}

static void a_host_copy_that_is_still_good_is_not_made_again(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind(&a, 1, 0) = *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 drop0 d2h1 drop1 h2d1 op1 drop1 op2 drop2 h2d1 op3 drop1");
    finish(&a);
}

static void what_is_dropped_is_recomputed_before_its_next_use(void **state)
{
    struct attempt a = attempt(there_and_back(true), 1000);
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 replay0 op3 drop0 drop1");
    assert_true(a.composed.replayed_us == 10);
    finish(&a);
}

static void what_cannot_be_recomputed_is_kept_instead_of_dropped(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000); /* the input is gone by then */
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 drop0 op1 op2 drop2 op3 drop1");
    finish(&a);
}

static void choices_that_are_not_allowed_are_not_followed(void **state)
{
    struct attempt a = attempt(there_and_back(true), 1000);
    a.request.may_copy = a.request.may_replay = false;
    *behind(&a, 1, 1) = SPW_SWAP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 op2 drop2 op3 drop0 drop1");
    finish(&a);
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
    finish(&a);
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
    finish(&a);
}

static void a_lead_longer_than_the_gap_is_none(void **state)
{
    struct attempt a = attempt(long_gap(), 1000);
    *behind(&a, 1, 1) = SPW_DROP_EARLY(3);
    expect(&a, "op0 op1 drop1 op2 op3 op4 drop2 replay0 op5 drop0 drop1");
    finish(&a);
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
    finish(&a);
}

/* ---- behind the last use ---- */

static void what_is_retained_serves_replays_and_stays_to_the_end(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind_last(&a, 0) = SPW_RETAIN;
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 replay0 op3 drop1 drop0");
    finish(&a);
}

static void what_is_stored_comes_in_for_a_replay(void **state)
{
    struct attempt a = attempt(there_and_back(false), 1000);
    *behind_last(&a, 0) = SPW_STORE;
    *behind(&a, 1, 1) = SPW_DROP;
    expect(&a, "op0 d2h0 drop0 op1 drop1 op2 drop2 h2d0 replay0 op3 drop1 drop0");
    finish(&a);
}

static void what_is_retained_is_not_taken_when_room_is_short(void **state)
{
    struct attempt a = attempt(there_and_back(false), 20);
    *behind_last(&a, 0) = SPW_RETAIN;
    a.request.may_copy = false;
    expect_none(&a, 1);
    finish(&a);
}

/* 0 -> 1 -> 2 -> 3; the last operation reads 0 and 2, when 1 is long dead. */
static struct spw_graph *line(void)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}};
    static const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(0) | T(2), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void replays_go_back_through_what_is_dead(void **state)
{
    struct attempt a = attempt(line(), 1000);
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 replay1 op4 drop0 drop2 drop1");
    assert_true(a.composed.replayed_us == 20);
    finish(&a);
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
    finish(&a);
}

static void weights_that_nobody_writes_need_no_copy_out(void **state)
{
    struct attempt a = attempt(weights(false), 1000);
    *behind_last(&a, 0) = SPW_SWAP;
    expect(&a, "op0 drop1 h2d0 op1 op2 op3 drop0 op4 drop2");
    finish(&a);
}

static void what_is_swapped_before_its_first_use_leaves_at_the_start(void **state)
{
    struct attempt a = attempt(weights(true), 1000);
    *head(&a, 0) = SPW_SWAP;
    expect(&a, "d2h0 drop0 op0 drop1 h2d0 op1 op2 op3 op4 drop2");
    finish(&a);
}

static void what_nobody_writes_begins_with_a_copy_where_it_leaves_at_the_start(void **state)
{
    struct attempt a = attempt(weights(false), 1000);
    *head(&a, 0) = SPW_SWAP;
    expect(&a, "drop0 op0 drop1 h2d0 op1 op2 op3 op4 drop2");
    assert_int_equal(compose(&a), 0);
    assert_int_equal(a.schedule.start[0], SPW_START_CLEAN);
    spw_schedule_finish(&a.schedule);
    finish(&a);
}

static void what_carries_over_is_never_recomputed(void **state)
{
    struct attempt a = attempt(weights(true), 1000);
    *behind(&a, 0, 0) = *behind_last(&a, 0) = SPW_DROP;
    expect(&a, "op0 drop1 op1 op2 op3 op4 drop2");
    finish(&a);
}

/* ---- where memory is short all the same ---- */

/* 0 -> 1 -> 2 -> 3, then 1 again; the input is needed again only where `input_stays`. */
static struct spw_graph *tight(bool input_stays)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}};
    const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(1) | (input_stays ? T(0) : 0), 0}};
    return TINY_GRAPH(tensors, ops);
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
    finish(&a);
}

static void a_replay_that_was_not_chosen_is_noted(void **state)
{
    struct attempt a = attempt(tight(true), 30);
    a.request.may_copy = false;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 op4 drop0 drop1");
    assert_int_equal(a.composed.repairs, 1);
    assert_int_equal(*behind(&a, 1, 1), SPW_DROP);
    finish(&a);
}

static void a_host_without_room_leaves_replays(void **state)
{
    struct attempt a = attempt(tight(true), 30);
    a.request.host_bytes = 9;
    expect(&a, "op0 op1 drop1 op2 drop2 op3 drop3 replay0 op4 drop0 drop1");
    finish(&a);
}

static void what_is_used_last_leaves_first(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10, .initial = true}, {20}};
    static const struct tiny_op ops[] = {{10, 0, T(2)}, {10, T(2), 0}, {10, T(0), 0}, {10, T(1), 0}};
    struct attempt a = attempt(TINY_GRAPH(tensors, ops), 30);
    expect(&a, "d2h1 drop1 op0 op1 drop2 op2 drop0 h2d1 op3 drop1");
    assert_int_equal(*head(&a, 1), SPW_SWAP);
    finish(&a);
}

static void there_is_no_schedule_where_nothing_may_leave(void **state)
{
    struct attempt a = attempt(tight(false), 20);
    a.request.may_copy = false;
    expect_none(&a, 2); /* 1 cannot be recomputed: the input is gone */
    finish(&a);
    a = attempt(tight(false), 19);
    expect_none(&a, 0);
    finish(&a);
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
    finish(&a);
}

/* With room for two, the input has to leave while 2 is recomputed: 1 may not, which the replay is just reading. */
static void a_read_that_had_to_leave_for_another_comes_back(void **state)
{
    struct attempt a = attempt(line(), 20);
    *behind(&a, 2, 1) = SPW_DROP;
    expect(&a, "op0 d2h0 drop0 op1 drop1 op2 drop2 op3 drop3 h2d0 replay0 drop0 replay1 drop1 h2d0 op4 drop0 drop2");
    finish(&a);
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
    finish(&a);
}

/* ---- lineage ---- */

/* The time to recompute version 1 of the tensor before operation `at`, with the input retained or not. */
static double lineage_us(const struct spw_graph *graph, uint32_t tensor, uint32_t at, bool retain_leaves)
{
    struct spw_lineage *lineage;
    assert_int_equal(spw_lineage_create(graph, &lineage), 0);
    const struct spw_lineage_terms terms = {.at = at, .retain_leaves = retain_leaves};
    const double us = spw_lineage_us(lineage, tensor, 1, &terms);
    const uint32_t *retained;
    const uint32_t count = spw_lineage_retained(lineage, &retained);
    assert_true(us < 0 || (retain_leaves ? count == 1 && retained[0] == 0 : count == 0));
    spw_lineage_destroy(lineage);
    return us;
}

static void lineage_counts_each_operation_that_would_be_replayed(void **state)
{
    struct spw_graph *graph = line();
    assert_true(lineage_us(graph, 1, 2, false) == 10);
    assert_true(lineage_us(graph, 2, 4, false) == 20); /* 1 is dead by then */
    assert_true(lineage_us(graph, 2, 1, false) < 0);   /* nobody has made it yet */
    spw_graph_destroy(graph);
    graph = there_and_back(false);
    assert_true(lineage_us(graph, 1, 3, false) < 0); /* the input is gone */
    assert_true(lineage_us(graph, 1, 3, true) == 10);
    spw_graph_destroy(graph);
}

static void lineage_ends_where_what_was_read_is_overwritten(void **state)
{
    static const struct tiny_tensor tensors[] = {{SPW_SIDE_BUFFER_BYTES + 1, .persistent = true}, {10}, {10}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, 0, T(2)}, {10, T(0), T(0)}, {10, T(1) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_true(lineage_us(graph, 1, 2, false) == 10);
    assert_true(lineage_us(graph, 1, 3, false) < 0);
    assert_true(lineage_us(graph, 2, 3, false) == 10);
    spw_graph_destroy(graph);
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
        cmocka_unit_test(what_is_retained_serves_replays_and_stays_to_the_end),
        cmocka_unit_test(what_is_stored_comes_in_for_a_replay),
        cmocka_unit_test(what_is_retained_is_not_taken_when_room_is_short),
        cmocka_unit_test(replays_go_back_through_what_is_dead),
        cmocka_unit_test(what_is_swapped_behind_its_last_use_begins_on_the_host),
        cmocka_unit_test(weights_that_nobody_writes_need_no_copy_out),
        cmocka_unit_test(what_is_swapped_before_its_first_use_leaves_at_the_start),
        cmocka_unit_test(what_nobody_writes_begins_with_a_copy_where_it_leaves_at_the_start),
        cmocka_unit_test(what_carries_over_is_never_recomputed),
        cmocka_unit_test(a_copy_out_that_was_not_chosen_is_noted),
        cmocka_unit_test(a_replay_that_was_not_chosen_is_noted),
        cmocka_unit_test(a_host_without_room_leaves_replays),
        cmocka_unit_test(what_is_used_last_leaves_first),
        cmocka_unit_test(there_is_no_schedule_where_nothing_may_leave),
        cmocka_unit_test(what_was_brought_back_for_a_replay_leaves_before_all_else),
        cmocka_unit_test(a_read_that_had_to_leave_for_another_comes_back),
        cmocka_unit_test(a_read_that_never_left_makes_way_for_another_too),
        cmocka_unit_test(lineage_counts_each_operation_that_would_be_replayed),
        cmocka_unit_test(lineage_ends_where_what_was_read_is_overwritten),
    };
    return cmocka_run_group_tests_name("compose", tests, NULL, NULL);
}
