/* test-prefetch.c - where copies in and drops are moved to, step by step, and what is left alone. */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "search/prefetch.h"
#include "plan/timeline.h"
#include "tiny.h"

enum { MOST_STEPS = 64 };

struct move {
    uint64_t budget_bytes;
    double lead;
    const double *start_us;
    uint32_t on_host; /* a set of tensors: those that begin there */
};
#define ANYTHING 1000u

static void add_step(struct spw_schedule *schedule, const char *word)
{
    for (uint32_t kind = 0; kind < SPW_STEP_KINDS; kind++) {
        const char *name = spw_step_name(kind), *id = word + strlen(name);
        if (strncmp(word, name, strlen(name)) == 0 && isdigit((unsigned char)*id)) {
            assert_int_equal(spw_schedule_add(schedule, kind, (uint32_t)strtoul(id, NULL, 10)), 0);
            return;
        }
    }
    fail_msg("\"%s\" is not a step", word);
}

/* Reads and writes a text like "op0 d2h1 drop1". */
static void read_steps(struct spw_schedule *schedule, const char *text)
{
    char word[16];
    int length;
    for (; sscanf(text, " %15s%n", word, &length) == 1; text += length)
        add_step(schedule, word);
}

static void write_steps(const struct spw_schedule *schedule, char text[16 * MOST_STEPS])
{
    size_t length = 0;
    assert_in_range(schedule->count, 1, MOST_STEPS);
    for (size_t i = 0; i < schedule->count; i++)
        length += (size_t)snprintf(text + length, 16 * MOST_STEPS - length, "%s%s%u", i ? " " : "",
                                   spw_step_name(schedule->steps[i].kind), schedule->steps[i].id);
}

static void check(const struct spw_graph *graph, const struct spw_schedule *schedule, uint64_t budget_bytes)
{
    struct spw_check_rules rules = TINY_FREE;
    struct spw_timed_step events[MOST_STEPS];
    struct spw_timing timing;
    double start_us[MOST_STEPS];
    assert_int_equal(spw_timeline(graph, schedule, NULL, budget_bytes, start_us, &timing, NULL), 0);
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, start_us[i]};
    rules.device_bytes = budget_bytes;
    tiny_expect(graph, schedule->start, events, schedule->count, &rules, SPW_FAULT_NONE, 0);
}

/* Moves what is in `before`, and compares the steps with `after`; both are valid within the budget. NULL: it can't be done,
 * and nothing is changed. */
static void moves(const struct spw_graph *graph, struct move move, const char *before, const char *after)
{
    struct spw_prefetcher *prefetcher;
    struct spw_schedule schedule;
    char text[16 * MOST_STEPS];
    assert_int_equal(spw_prefetcher_create(graph, &prefetcher), 0);
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        schedule.start[i] = move.on_host & T(i) ? SPW_START_HOST : SPW_START_DEVICE;
    read_steps(&schedule, before);
    check(graph, &schedule, move.budget_bytes);
    assert_int_equal(spw_prefetch(prefetcher, &schedule, move.budget_bytes, move.start_us, move.lead), after ? 0 : -EINVAL);
    write_steps(&schedule, text);
    assert_string_equal(text, after ? after : before);
    check(graph, &schedule, move.budget_bytes);
    spw_schedule_finish(&schedule);
    spw_prefetcher_destroy(prefetcher);
}

/* ---- when the lane wants it ---- */

/* Weights 0 and 1 are read by the last of four operations of 10 us; their copies take 8 and 6 us. */
static struct spw_graph *weights_at_the_end(void)
{
    static const struct tiny_tensor tensors[] = {{8, .persistent = true}, {6, .persistent = true}, {4}};
    static const struct tiny_op ops[] = {{10, 0, T(2)}, {10, T(2), 0}, {10, T(2), 0}, {10, T(0) | T(1), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void a_copy_in_starts_so_early_that_it_arrives_in_time(void **state)
{
    struct spw_graph *graph = weights_at_the_end();
    moves(graph, (struct move){ANYTHING, .on_host = T(0)}, "op0 op1 op2 drop2 h2d0 op3 drop0",
          "op0 op1 h2d0 op2 drop2 op3 drop0");
    spw_graph_destroy(graph);
}

static void copies_that_share_the_lane_come_one_behind_the_other(void **state)
{
    struct spw_graph *graph = weights_at_the_end(); /* 30 - 6 = 24, and 24 - 8 = 16 */
    moves(graph, (struct move){ANYTHING, .on_host = T(0) | T(1)}, "op0 op1 op2 drop2 h2d0 h2d1 op3 drop0 drop1",
          "op0 h2d0 op1 h2d1 op2 drop2 op3 drop0 drop1");
    spw_graph_destroy(graph);
}

static void of_two_needed_at_once_the_larger_comes_first(void **state)
{
    struct spw_graph *graph = weights_at_the_end();
    moves(graph, (struct move){ANYTHING, .on_host = T(0) | T(1)}, "op0 op1 op2 drop2 h2d1 h2d0 op3 drop0 drop1",
          "op0 h2d0 op1 h2d1 op2 drop2 op3 drop0 drop1");
    spw_graph_destroy(graph);
}

static void a_lead_starts_it_earlier_by_a_share_of_its_length(void **state)
{
    struct spw_graph *graph = weights_at_the_end();
    moves(graph, (struct move){ANYTHING, .lead = 1, .on_host = T(0)}, "op0 op1 op2 drop2 h2d0 op3 drop0",
          "op0 h2d0 op1 op2 drop2 op3 drop0");
    moves(graph, (struct move){ANYTHING, .lead = 3, .on_host = T(0)}, "op0 op1 op2 drop2 h2d0 op3 drop0",
          "h2d0 op0 op1 op2 drop2 op3 drop0");
    spw_graph_destroy(graph);
}

static void the_times_given_are_those_that_count(void **state)
{
    static const double late[] = {0, 10, 20, 0, 0, 100, 0}; /* the last operation waits, so that there is time enough */
    struct spw_graph *graph = weights_at_the_end();
    moves(graph, (struct move){ANYTHING, .start_us = late, .on_host = T(0)}, "op0 op1 op2 drop2 h2d0 op3 drop0",
          "op0 op1 h2d0 op2 drop2 op3 drop0");
    static const double soon[] = {0, 1, 2, 0, 0, 9, 0}; /* 9 - 8 = 1 */
    moves(graph, (struct move){ANYTHING, .start_us = soon, .on_host = T(0)}, "op0 op1 op2 drop2 h2d0 op3 drop0",
          "op0 h2d0 op1 op2 drop2 op3 drop0");
    spw_graph_destroy(graph);
}

/* ---- what memory allows ---- */

static void a_copy_in_waits_until_there_is_room(void **state)
{
    static const struct tiny_tensor tensors[] = {{8, .persistent = true}, {10}, {4}};
    static const struct tiny_op ops[] = {{10, 0, T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(0), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    static const char before[] = "op0 op1 drop1 op2 drop2 h2d0 op3 drop0";
    moves(graph, (struct move){22, .lead = 9, .on_host = T(0)}, before, "h2d0 op0 op1 drop1 op2 drop2 op3 drop0");
    moves(graph, (struct move){21, .lead = 9, .on_host = T(0)}, before, "op0 op1 drop1 h2d0 op2 drop2 op3 drop0");
    moves(graph, (struct move){14, .lead = 9, .on_host = T(0)}, before, "op0 op1 drop1 h2d0 op2 drop2 op3 drop0");
    spw_graph_destroy(graph);
}

static void what_is_moved_first_takes_the_room_from_what_comes_later(void **state)
{
    struct spw_graph *graph = weights_at_the_end(); /* 4 + 8 + 6 bytes */
    static const char before[] = "op0 op1 op2 drop2 h2d0 h2d1 op3 drop0 drop1";
    moves(graph, (struct move){18, .lead = 9, .on_host = T(0) | T(1)}, before,
          "h2d0 h2d1 op0 op1 op2 drop2 op3 drop0 drop1");
    moves(graph, (struct move){17, .lead = 9, .on_host = T(0) | T(1)}, before,
          "h2d0 op0 op1 op2 drop2 h2d1 op3 drop0 drop1");
    spw_graph_destroy(graph);
}

/* ---- drops ---- */

/* Tensor 1 is read by operations 1 and 4. */
static struct spw_graph *there_and_back(void)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    static const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(2), 0}, {10, T(0) | T(1), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void a_drop_moves_up_to_the_last_use(void **state)
{
    struct spw_graph *graph = there_and_back();
    moves(graph, (struct move){ANYTHING}, "op0 op1 op2 drop1 op3 drop2 replay0 op4 drop0 drop1",
          "op0 op1 drop1 op2 op3 drop2 replay0 op4 drop0 drop1");
    spw_graph_destroy(graph);
}

static void a_drop_moves_up_to_the_copy_out_and_not_above_it(void **state)
{
    struct spw_graph *graph = there_and_back();
    moves(graph, (struct move){ANYTHING}, "op0 op1 op2 d2h1 op3 drop1 drop2 replay0 op4 drop0 drop1",
          "op0 op1 op2 d2h1 drop1 op3 drop2 replay0 op4 drop0 drop1");
    spw_graph_destroy(graph);
}

static void a_copy_in_stays_behind_its_drop(void **state)
{
    struct spw_graph *graph = there_and_back();
    moves(graph, (struct move){ANYTHING, .lead = 9}, "op0 op1 d2h1 op2 op3 drop1 drop2 h2d1 op4 drop0 drop1",
          "op0 op1 d2h1 drop1 h2d1 op2 op3 drop2 op4 drop0 drop1");
    spw_graph_destroy(graph);
}

/* It came in for nothing: nobody has used it when it goes again. */
static void a_drop_stays_behind_the_copy_in_of_what_nobody_used(void **state)
{
    struct spw_graph *graph = there_and_back();
    moves(graph, (struct move){ANYTHING}, "op0 op1 d2h1 drop1 op2 h2d1 op3 drop1 drop2 h2d1 op4 drop0 drop1",
          "op0 op1 d2h1 drop1 h2d1 op2 op3 drop1 drop2 h2d1 op4 drop0 drop1");
    spw_graph_destroy(graph);
}

static void room_that_a_drop_makes_earlier_lets_others_in(void **state)
{
    static const struct tiny_tensor tensors[] = {{8, .persistent = true}, {8}, {4}};
    static const struct tiny_op ops[] = {{10, 0, T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(0), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    moves(graph, (struct move){12, .on_host = T(0)}, "op0 op1 op2 drop1 drop2 h2d0 op3 drop0",
          "op0 op1 drop1 h2d0 op2 drop2 op3 drop0");
    spw_graph_destroy(graph);
}

/* ---- what is left alone ---- */

static void what_comes_and_goes_between_two_operations_is_not_touched(void **state)
{
    struct spw_graph *graph = there_and_back();
    moves(graph, (struct move){ANYTHING}, "op0 op1 d2h1 drop1 op2 h2d1 drop1 op3 drop2 h2d1 op4 drop0 drop1", NULL);
    moves(graph, (struct move){ANYTHING, .on_host = 0}, "op0 op1 d2h1 drop1 op2 h2d1 d2h1 op3 drop2 op4 drop0 drop1", NULL);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_in_starts_so_early_that_it_arrives_in_time),
        cmocka_unit_test(copies_that_share_the_lane_come_one_behind_the_other),
        cmocka_unit_test(of_two_needed_at_once_the_larger_comes_first),
        cmocka_unit_test(a_lead_starts_it_earlier_by_a_share_of_its_length),
        cmocka_unit_test(the_times_given_are_those_that_count),
        cmocka_unit_test(a_copy_in_waits_until_there_is_room),
        cmocka_unit_test(what_is_moved_first_takes_the_room_from_what_comes_later),
        cmocka_unit_test(a_drop_moves_up_to_the_last_use),
        cmocka_unit_test(a_drop_moves_up_to_the_copy_out_and_not_above_it),
        cmocka_unit_test(a_copy_in_stays_behind_its_drop),
        cmocka_unit_test(a_drop_stays_behind_the_copy_in_of_what_nobody_used),
        cmocka_unit_test(room_that_a_drop_makes_earlier_lets_others_in),
        cmocka_unit_test(what_comes_and_goes_between_two_operations_is_not_touched),
    };
    return cmocka_run_group_tests_name("prefetch", tests, NULL, NULL);
}
