/* test-timeline.c - when steps start and what that adds up to, each rule by a small example worked out by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/timeline.h"
#include "tiny.h"

static const struct spw_machine PLAIN = {.duplex = 1};

/* The steps at the times at which they are to start. */
static struct spw_timing time_them(const struct spw_graph *graph, const uint8_t *start, const struct spw_machine *machine,
                                   uint64_t bytes, const struct spw_timed_step *steps, size_t count)
{
    struct spw_schedule schedule;
    struct spw_timing timing;
    double starts[16];
    size_t stuck = 0;
    assert_in_range(count, 1, 16);
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    memcpy(schedule.start, start, graph->tensor_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(spw_schedule_add(&schedule, (enum spw_step_kind)steps[i].kind, steps[i].id), 0);
    assert_int_equal(spw_timeline(graph, &schedule, machine, bytes, starts, &timing, &stuck), 0);
    for (size_t i = 0; i < count; i++)
        if (starts[i] != steps[i].start_us)
            fail_msg("step %zu starts at %g, not at %g", i, starts[i], steps[i].start_us);
    struct spw_timing again; /* nobody has to ask for the starts */
    assert_int_equal(spw_timeline(graph, &schedule, machine, bytes, NULL, &again, NULL), 0);
    assert_memory_equal(&again, &timing, sizeof again);
    spw_schedule_finish(&schedule);
    return timing;
}

#define TIMES_FROM(graph, start, machine, bytes, ...) \
    time_them(graph, start, machine, bytes, (const struct spw_timed_step[])__VA_ARGS__, \
              sizeof((const struct spw_timed_step[])__VA_ARGS__) / sizeof(struct spw_timed_step))
#define TIMES(graph, ...) TIMES_FROM(graph, TINY_ON_DEVICE, &PLAIN, 1000, __VA_ARGS__)

/* ---- lanes ---- */

static void three_lanes_run_at_once_and_each_in_order(void **state)
{
    struct spw_graph *graph = tiny_two_layers(); /* 4, 8, 6 and 2 bytes, 1 us each; operations of 10 us */
    TIMES(graph, {OP(0, 0), D2H(0, 0), OP(1, 10), D2H(1, 10), OP(2, 20), OP(3, 30)});
    TIMES(graph, {OP(0, 0), D2H(1, 10), D2H(0, 18), OP(1, 10)}); /* 0 was ready, but 1 comes first on its lane */
    /* out to 4, gone at 10 with its reader, in to 14: beside the copy out of 1 and the second operation */
    TIMES(graph, {OP(0, 0), D2H(0, 0), DROP(0, 10), D2H(1, 10), H2D(0, 10), OP(1, 10), DROP(0, 14)});
    spw_graph_destroy(graph);
}

static void what_is_read_is_there_before(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    /* 1 is out from 10 to 18, so it comes in from 18 to 26, and is read from then on */
    TIMES(graph, {OP(0, 0), D2H(1, 10), DROP(1, 18), H2D(1, 18), OP(1, 26), OP(2, 36), OP(3, 46)});
    spw_graph_destroy(graph);
}

static void copies_out_and_writes_of_the_same_tensor_exclude_each_other(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 20, .persistent = true}};
    static const struct tiny_op ops[] = {{5, T(0), 0}, {5, T(0), T(0)}, {5, 0, T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* it may be read while it leaves, from 0 to 20, but not written; then it leaves again as soon as it is written, at 25 */
    TIMES(graph, {D2H(0, 0), OP(0, 0), OP(1, 20), D2H(0, 25), OP(2, 45)});
    spw_graph_destroy(graph);
}

static void what_is_copied_alone_is_not_read_meanwhile(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 20, .persistent = true}, {.bytes = 4, .persistent = true}};
    static const struct tiny_op ops[] = {{5, T(0), 0}, {5, T(1), 0}, {5, T(0), 0}, {5, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    TIMES(graph, {D2H(0, 0), OP(0, 0), OP(1, 5), OP(2, 10), OP(3, 15)});
    TIMES(graph, {OP(0, 0), OP(1, 5), D2H(0, 0), OP(2, 10), OP(3, 15)});
    graph->tensors[0].copied_alone = true;
    TIMES(graph, {D2H(0, 0), OP(0, 20), OP(1, 25), OP(2, 30), OP(3, 35)});
    /* behind the reader that it stands behind, at 5, and before the next, at 25; who reads 1 alone does not mind */
    TIMES(graph, {OP(0, 0), OP(1, 5), D2H(0, 5), OP(2, 25), OP(3, 30)});
    TIMES(graph, {OP(0, 0), D2H(0, 5), DROP(0, 25), OP(1, 5), H2D(0, 25), OP(2, 45), D2H(1, 25), OP(3, 50)});
    spw_graph_destroy(graph);
}

static void a_replay_waits_for_what_is_copied_alone_as_well(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 20, .persistent = true}, {.bytes = 1}};
    static const struct tiny_op ops[] = {{5, T(0), T(1)}, {5, T(1), 0}, {5, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    graph->tensors[0].copied_alone = true;
    TIMES(graph, {OP(0, 0), OP(1, 5), DROP(1, 10), D2H(0, 5), REPLAY(0, 25), OP(2, 30)});
    spw_graph_destroy(graph);
}

static void clean_tensors_leave_without_a_copy_and_come_in_from_the_start(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 3, .persistent = true}, {.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t start[] = {SPW_START_CLEAN, SPW_START_HOST};
    /* 0 goes at 10 and is in from 10 to 13; 1 is in from 0 to 5 */
    TIMES_FROM(graph, start, NULL, 1000, {H2D(1, 0), OP(0, 0), DROP(0, 10), H2D(0, 10), OP(1, 13)});
    spw_graph_destroy(graph);
}

/* ---- memory ---- */

/* The input takes 30 us to leave; what the second operation writes needs its place. */
static struct spw_graph *tight(void)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 30, .initial = true}, {.bytes = 8}, {.bytes = 8}, {.bytes = 1, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2) | T(3), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void memory_is_handed_out_in_the_order_of_the_steps(void **state)
{
    const uint8_t start[] = {0, 0, 0, SPW_START_HOST};
    struct spw_graph *graph = tight();
    /* 39 bytes: operation 1 waits for the drop. Tensor 3 fits in beside, but not before who comes first. */
    TIMES_FROM(graph, start, &PLAIN, 39, {OP(0, 0), D2H(0, 0), DROP(0, 30), OP(1, 30), H2D(3, 30), OP(2, 40)});
    TIMES_FROM(graph, start, &PLAIN, 39, {OP(0, 0), D2H(0, 0), DROP(0, 30), H2D(3, 0), OP(1, 30), OP(2, 40)});
    /* with a byte less it has to wait wherever it stands, and with 8 more nobody has */
    TIMES_FROM(graph, start, &PLAIN, 38, {OP(0, 0), D2H(0, 0), DROP(0, 30), H2D(3, 30), OP(1, 30), OP(2, 40)});
    TIMES_FROM(graph, start, &PLAIN, 47, {OP(0, 0), D2H(0, 0), DROP(0, 30), OP(1, 10), H2D(3, 0), OP(2, 20)});
    spw_graph_destroy(graph);
}

/* What comes free first is taken first, whatever the order of the drops. */
static void memory_comes_free_in_the_order_of_time(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 9, .initial = true}, {.bytes = 4, .initial = true}, {.bytes = 4}};
    static const struct tiny_op ops[] = {{1, T(0) | T(1), 0}, {1, 0, T(2)}, {1, T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* 1 leaves until 4, then 0 until 13 */
    TIMES_FROM(graph, TINY_ON_DEVICE, &PLAIN, 13,
               {OP(0, 0), D2H(1, 0), D2H(0, 4), DROP(0, 13), DROP(1, 4), OP(1, 4), OP(2, 5)});
    spw_graph_destroy(graph);
}

static void copies_out_wait_for_host_memory_that_is_given_up(void **state)
{
    const struct spw_machine small = {.duplex = 1, .host_bytes = 9};
    struct spw_graph *graph = tiny_two_layers();
    /* 1 and 2 together are 14 bytes: 2 leaves when 1 is used for the last time, at 30, or as soon as it is there */
    TIMES_FROM(graph, TINY_ON_DEVICE, &small, 1000, {OP(0, 0), D2H(1, 10), OP(1, 10), OP(2, 20), OP(3, 30), D2H(2, 30)});
    TIMES(graph, {OP(0, 0), D2H(1, 10), OP(1, 10), OP(2, 20), OP(3, 30), D2H(2, 20)});
    spw_graph_destroy(graph);
}

/* ---- what it adds up to ---- */

static void totals_are_those_of_the_steps(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    /* 1 is dropped at 20 and made again from 30 to 40; 3 leaves at the end, from 50 to 52 */
    const struct spw_timing t =
        TIMES(graph, {OP(0, 0), OP(1, 10), DROP(1, 20), OP(2, 20), DROP(2, 30), REPLAY(0, 30), D2H(0, 0), DROP(0, 40),
                      H2D(0, 40), OP(3, 40), DROP(1, 50), D2H(3, 30), D2H(3, 32)});
    assert_true(t.time_us == 50 && t.ops_us == 50 && t.replayed_us == 10 && t.stall_us == 0);
    assert_int_equal(t.replays, 1);
    assert_int_equal(t.d2h_bytes, 4 + 2 + 2);
    assert_int_equal(t.h2d_bytes, 4);
    assert_int_equal(t.peak_bytes, 4 + 8 + 6); /* from 10 to 20 */
    assert_int_equal(t.host_peak_bytes, 4 + 2);
    spw_graph_destroy(graph);
}

/* All lanes have to be idle, and what the compute lane does not do is stalled. */
static void time_is_that_of_the_last_lane(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 25, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t start[] = {SPW_START_HOST};
    const struct spw_timing t = TIMES_FROM(graph, start, &PLAIN, 25, {H2D(0, 0), OP(0, 25), D2H(0, 35), DROP(0, 60)});
    assert_true(t.time_us == 60 && t.ops_us == 35 && t.stall_us == 50);
    assert_int_equal(t.host_peak_bytes, 25); /* from the start; it makes room for itself before it leaves */
    spw_graph_destroy(graph);
}

static void replays_leave_side_buffers_out_of_account(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .persistent = true}, {.bytes = 8}};
    static const struct tiny_op ops[] = {{10, T(0), T(0) | T(1)}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* the replay needs no place for tensor 0, and does not wait for its copy out, from 10 to 14, nor make that stale */
    const struct spw_timing t =
        TIMES_FROM(graph, TINY_ON_DEVICE, &PLAIN, 12,
                   {OP(0, 0), D2H(0, 10), DROP(0, 14), DROP(1, 10), REPLAY(0, 10), H2D(0, 14), OP(1, 20)});
    assert_int_equal(t.peak_bytes, 12);
    spw_graph_destroy(graph);
}

/* ---- peaks ---- */

static void peaks_count_in_time_and_not_in_the_order_of_the_steps(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .initial = true}, {.bytes = 7, .initial = true}, {.bytes = 3}};
    static const struct tiny_op ops[] = {{10, T(0), T(2)}, {0, T(2), 0}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* 0 is on the host from 0 to its return, from 10 to 15, and 1 from 5 to 12; 2 is there up to 10, when 0 comes back */
    const struct spw_timing t =
        TIMES(graph, {OP(0, 0), D2H(0, 0), DROP(0, 10), OP(1, 10), DROP(2, 10), H2D(0, 10), D2H(1, 5), OP(2, 15)});
    assert_int_equal(t.peak_bytes, 15);
    assert_int_equal(t.host_peak_bytes, 12);
    spw_graph_destroy(graph);
}

/* What an operation that takes no time writes was there, though it is dropped at the same moment. */
static void what_lasts_no_time_counts_all_the_same(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 7}, {.bytes = 5}};
    static const struct tiny_op ops[] = {{0, 0, T(0)}, {0, 0, T(1)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    assert_int_equal(TIMES(graph, {OP(0, 0), DROP(0, 0), OP(1, 0), DROP(1, 0)}).peak_bytes, 7);
    assert_int_equal(TIMES(graph, {OP(0, 0), OP(1, 0), DROP(0, 0), DROP(1, 0)}).peak_bytes, 12);
    spw_graph_destroy(graph);
}

static void host_copies_that_nobody_wants_count_at_the_start_alone(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 6, .persistent = true}, {.bytes = 4, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(1), 0}, {10, 0, T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t clean[] = {SPW_START_CLEAN, SPW_START_DEVICE};
    /* 0 is overwritten and copied anew from 20 on; so while 1 leaves, at 0, there is no other */
    assert_int_equal(TIMES_FROM(graph, clean, &PLAIN, 100, {OP(0, 0), D2H(1, 0), OP(1, 10), D2H(0, 20)}).host_peak_bytes, 6);
    /* a copy out takes the place of the copy that there is, and 1 has to have its own to the end */
    const uint8_t both[] = {SPW_START_CLEAN, SPW_START_CLEAN};
    assert_int_equal(TIMES_FROM(graph, both, &PLAIN, 100, {D2H(0, 0), OP(0, 0), OP(1, 10), D2H(0, 20)}).host_peak_bytes, 10);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_lanes_run_at_once_and_each_in_order),
        cmocka_unit_test(what_is_read_is_there_before),
        cmocka_unit_test(copies_out_and_writes_of_the_same_tensor_exclude_each_other),
        cmocka_unit_test(what_is_copied_alone_is_not_read_meanwhile),
        cmocka_unit_test(a_replay_waits_for_what_is_copied_alone_as_well),
        cmocka_unit_test(clean_tensors_leave_without_a_copy_and_come_in_from_the_start),
        cmocka_unit_test(memory_is_handed_out_in_the_order_of_the_steps),
        cmocka_unit_test(memory_comes_free_in_the_order_of_time),
        cmocka_unit_test(copies_out_wait_for_host_memory_that_is_given_up),
        cmocka_unit_test(totals_are_those_of_the_steps),
        cmocka_unit_test(time_is_that_of_the_last_lane),
        cmocka_unit_test(replays_leave_side_buffers_out_of_account),
        cmocka_unit_test(peaks_count_in_time_and_not_in_the_order_of_the_steps),
        cmocka_unit_test(what_lasts_no_time_counts_all_the_same),
        cmocka_unit_test(host_copies_that_nobody_wants_count_at_the_start_alone),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
