/* test-timeline-machine.c - what an engine meets besides the model: costs on the host, copies in pieces and against each
 * other; and schedules that make no sense. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/timeline.h"
#include "failing-memory.h"
#include "tiny.h"

static const struct spw_machine PLAIN = {.duplex = 1};

static int run(const struct spw_graph *graph, const uint8_t *start, const struct spw_machine *machine, uint64_t bytes,
               const struct spw_timed_step *steps, size_t count, double *starts, struct spw_timing *ret_timing,
               size_t *ret_stuck)
{
    struct spw_schedule schedule;
    assert_in_range(count, 0, 16);
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    memcpy(schedule.start, start, graph->tensor_count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(spw_schedule_add(&schedule, (enum spw_step_kind)steps[i].kind, steps[i].id), 0);
    const int r = spw_timeline(graph, &schedule, machine, bytes, starts, ret_timing, ret_stuck);
    spw_schedule_finish(&schedule);
    return r;
}

static struct spw_timing expect(const struct spw_graph *graph, const uint8_t *start, const struct spw_machine *machine,
                                uint64_t bytes, const struct spw_timed_step *steps, size_t count)
{
    struct spw_timing timing;
    double starts[16];
    assert_int_equal(run(graph, start, machine, bytes, steps, count, starts, &timing, NULL), 0);
    for (size_t i = 0; i < count; i++)
        if (starts[i] != steps[i].start_us)
            fail_msg("step %zu starts at %g, not at %g", i, starts[i], steps[i].start_us);
    return timing;
}

#define LISTED(...) \
    (const struct spw_timed_step[]) __VA_ARGS__, \
        sizeof((const struct spw_timed_step[])__VA_ARGS__) / sizeof(struct spw_timed_step)
#define TIMES(graph, start, machine, bytes, ...) expect(graph, start, machine, bytes, LISTED(__VA_ARGS__))

/* ---- the host ---- */

/* 0: input of 4 bytes; 1, 2: 4 and 6 bytes that operations of 1, 20 and 1 us write. */
static struct spw_graph *short_and_long(void)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 4}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{1, T(0), T(1)}, {20, T(1), 0}, {1, T(1), T(2)}};
    return TINY_GRAPH(tensors, ops);
}

static void each_step_but_drops_costs_the_host_a_launch(void **state)
{
    const struct spw_machine machine = {.duplex = 1, .launch_us = 3};
    struct spw_graph *graph = short_and_long();
    /* submitted at 3, 6, 9 and 12; the last operation waits for the one before, until 26 */
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 3), OP(1, 6), DROP(0, 4), D2H(1, 9), OP(2, 26)});
    spw_graph_destroy(graph);
}

static void host_is_ahead_by_so_many_operations_at_most(void **state)
{
    struct spw_machine machine = {.duplex = 1, .launch_us = 1};
    struct spw_graph *graph = short_and_long();
    /* operations are submitted at 1, 2, 3 and 4, and start at 1, 2, 22 and 23; the copy is submitted at 5 */
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 1), OP(1, 2), OP(2, 22), REPLAY(1, 23), D2H(0, 5)});
    machine.run_ahead = 2; /* the last once the second has started, at 2: no later than before */
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 1), OP(1, 2), OP(2, 22), REPLAY(1, 23), D2H(0, 5)});
    machine.run_ahead = 1; /* the last once the third has started, at 22; the copy comes after it */
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 1), OP(1, 2), OP(2, 22), REPLAY(1, 23), D2H(0, 23)});
    spw_graph_destroy(graph);
}

static void memory_costs_the_host_time_to_map_and_to_unmap(void **state)
{
    const struct spw_machine machine = {.duplex = 1, .map_us = 4, .unmap_us = 2};
    struct spw_graph *graph = short_and_long();
    /* mapped at 4; unmapping takes until 6, which holds up what is submitted next; mapped again at 10 */
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 4), DROP(0, 5), OP(1, 6), OP(2, 26)});
    TIMES(graph, TINY_ON_DEVICE, &machine, 1000, {OP(0, 4), D2H(0, 4), DROP(0, 8), H2D(0, 10), OP(1, 10), OP(2, 30)});
    /* where the memory is still in use, up to 20, the host waits itself, and maps it then */
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 4}};
    static const struct tiny_op ops[] = {{20, T(0), 0}, {1, 0, T(1)}};
    struct spw_graph *waiting = TINY_GRAPH(tensors, ops);
    TIMES(waiting, TINY_ON_DEVICE, &machine, 4, {OP(0, 0), DROP(0, 20), OP(1, 24)});
    spw_graph_destroy(waiting);
    spw_graph_destroy(graph);
}

/* ---- copies ---- */

/* 0 starts on the device, 1 on the host. */
static struct spw_graph *opposite(uint64_t out_bytes, uint64_t in_bytes)
{
    const struct tiny_tensor tensors[] = {{.bytes = out_bytes, .persistent = true}, {.bytes = in_bytes, .persistent = true}};
    static const struct tiny_op ops[] = {{1, T(0), 0}};
    return TINY_GRAPH(tensors, ops);
}
static const uint8_t OPPOSITE[] = {SPW_START_DEVICE, SPW_START_HOST};

static void copies_in_pieces_cost_more_for_each_piece(void **state)
{
    const struct spw_machine machine = {.duplex = 1, .chunk_bytes = 4, .chunk_us = 2};
    struct spw_graph *graph = opposite(10, 8);
    /* 10 bytes are 3 pieces: 16 us; 8 bytes are 2: 12 us. */
    const struct spw_timing t =
        TIMES(graph, OPPOSITE, &machine, 1000, {OP(0, 0), D2H(0, 0), H2D(1, 0), DROP(0, 16), DROP(1, 12)});
    assert_true(t.time_us == 16);
    spw_graph_destroy(graph);
    graph = opposite(0, 8);
    assert_true(TIMES(graph, OPPOSITE, &machine, 1000, {OP(0, 0), D2H(0, 0)}).time_us == 1);
    spw_graph_destroy(graph);
}

/* The copy in, 100 us, runs at half speed while the copy out, 4 us, does; which takes 8 for that: 4 and 96 us. */
static void copies_in_both_directions_slow_each_other_down(void **state)
{
    const struct spw_machine machine = {.duplex = 0.5};
    struct spw_graph *graph = opposite(4, 100);
    TIMES(graph, OPPOSITE, &machine, 1000, {OP(0, 0), D2H(0, 0), H2D(1, 0), DROP(0, 8), DROP(1, 104)});
    TIMES(graph, OPPOSITE, &PLAIN, 1000, {OP(0, 0), D2H(0, 0), H2D(1, 0), DROP(0, 4), DROP(1, 100)});
    TIMES(graph, OPPOSITE, &machine, 1000, {OP(0, 0), H2D(1, 0), DROP(1, 100), H2D(1, 100)}); /* one way is at full speed */
    spw_graph_destroy(graph);
}

/* Two that begin together and are as long: each is at half speed to its end, and what comes behind them is not slowed down.
 */
static void copies_of_one_length_take_as_much_longer_as_they_are_slower(void **state)
{
    const struct spw_machine machine = {.duplex = 0.5};
    const struct tiny_tensor tensors[] = {{.bytes = 10, .persistent = true}, {.bytes = 10, .persistent = true}};
    static const struct tiny_op ops[] = {{1, T(0), 0}, {1, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    static const struct spw_timed_step steps[] = {OP(0, 0),    D2H(0, 0),  H2D(1, 0), OP(1, 20),
                                                  DROP(1, 21), H2D(1, 21), D2H(1, 31)};
    double starts[16];
    struct spw_timing timing;
    assert_int_equal(run(graph, OPPOSITE, &machine, 1000, steps, 7, starts, &timing, NULL), 0);
    for (size_t i = 0; i < 7; i++)
        assert_true(starts[i] > steps[i].start_us - 1e-3 && starts[i] < steps[i].start_us + 1e-3);
    assert_true(timing.time_us > 41 - 1e-3 && timing.time_us < 41 + 1e-3);
    spw_graph_destroy(graph);
}

/* The copy out ends, at 4, when the copy in can begin: nothing is slowed down. */
static void copies_after_one_another_are_at_full_speed(void **state)
{
    const struct spw_machine machine = {.duplex = 0.25};
    struct spw_graph *graph = opposite(4, 8);
    TIMES(graph, OPPOSITE, &machine, 8, {OP(0, 0), D2H(0, 0), DROP(0, 4), H2D(1, 4), DROP(1, 12)});
    spw_graph_destroy(graph);
}

/* ---- what makes no sense ---- */

static void expect_stuck(const uint8_t *start, uint64_t bytes, int expected, const struct spw_timed_step *steps,
                         size_t count)
{
    struct spw_graph *graph = tiny_two_layers();
    struct spw_timing timing = {.replays = 77};
    size_t stuck = 99;
    assert_int_equal(run(graph, start, NULL, bytes, steps, count, NULL, &timing, &stuck), expected);
    assert_int_equal(stuck, count - 1);
    assert_int_equal(timing.replays, 77); /* written on success only */
    spw_graph_destroy(graph);
}
#define STUCK(bytes, expected, ...) expect_stuck(TINY_ON_DEVICE, bytes, expected, LISTED(__VA_ARGS__))

static void step_that_makes_no_sense_is_the_one_that_is_stuck(void **state)
{
    STUCK(1000, -EINVAL, {OP(0, 0), DROP(1, 0), OP(1, 0)}); /* reads what is absent */
    STUCK(1000, -EINVAL, {OP(0, 0), OP(1, 0), DROP(1, 0), OP(3, 0)});
    STUCK(1000, -EINVAL, {OP(0, 0), DROP(1, 0), H2D(1, 0)});                      /* there is no host copy */
    STUCK(1000, -EINVAL, {OP(0, 0), D2H(1, 0), H2D(1, 0)});                       /* it is there */
    STUCK(1000, -EINVAL, {OP(0, 0), D2H(1, 0), OP(0, 0), DROP(1, 0), H2D(1, 0)}); /* it is stale */
    STUCK(1000, -EINVAL, {OP(0, 0), D2H(2, 0)});
    STUCK(1000, -EINVAL, {OP(0, 0), DROP(0, 0), DROP(0, 0)});
    STUCK(1000, -EINVAL, {OP(0, 0), OP(4, 0)});
    STUCK(1000, -EINVAL, {OP(0, 0), D2H(4, 0)});
    STUCK(1000, -EINVAL, {OP(0, 0), {SPW_STEP_KINDS, 0, 0}});
}

static void step_that_does_not_fit_is_the_one_that_is_stuck(void **state)
{
    STUCK(17, -ENOSPC, {OP(0, 0), OP(1, 0)}); /* 4 + 8 + 6 */
    STUCK(13, -ENOSPC, {OP(0, 0), DROP(0, 0), OP(1, 0)});
    STUCK(11, -ENOSPC, {OP(0, 0)});
    STUCK(17, -ENOSPC, {OP(0, 0), D2H(0, 0), DROP(0, 0), OP(1, 0), H2D(0, 0)});
    STUCK(3, -ENOSPC, {OP(0, 0)}); /* not even the start */
}

static void host_memory_that_does_not_suffice_is_said_too(void **state)
{
    const struct spw_machine machine = {.duplex = 1, .host_bytes = 7};
    struct spw_graph *graph = opposite(4, 4);
    struct spw_timing timing;
    size_t stuck = 99;
    const uint8_t both[] = {SPW_START_HOST, SPW_START_CLEAN};
    assert_int_equal(run(graph, OPPOSITE, &machine, 100, LISTED({OP(0, 0), D2H(0, 0)}), NULL, &timing, &stuck), -ENOSPC);
    assert_int_equal(stuck, 1);
    assert_int_equal(run(graph, both, &machine, 100, LISTED({H2D(0, 0), OP(0, 0)}), NULL, &timing, &stuck), -ENOSPC);
    assert_int_equal(stuck, 0);
    spw_graph_destroy(graph);
}

/* ---- a timer's life ---- */

static void lack_of_memory_is_said_and_nothing_is_lost(void **state)
{
    const struct spw_machine machine = {.duplex = 0.5, .run_ahead = 3, .host_bytes = 100};
    struct spw_graph *graph = opposite(4, 4);
    struct spw_schedule schedule;
    struct spw_timing timing;
    int r = -ENOMEM, tries = 0;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_schedule_add(&schedule, SPW_STEP_D2H, 0), 0);
    while (r != 0 && tries < 30) {
        memory_fails_after(tries++);
        r = spw_timeline(graph, &schedule, &machine, 100, NULL, &timing, NULL);
        memory_is_back();
        assert_true(r == 0 || r == -ENOMEM);
    }
    assert_int_equal(r, 0);
    assert_true(tries > 10);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

/* From one step to a thousand and back, as if it were new each time. */
static void timer_may_be_used_for_one_schedule_after_another(void **state)
{
    struct spw_graph *graph = opposite(2, 3);
    struct spw_schedule schedule;
    struct spw_timing timing;
    struct spw_timer *timer;
    size_t stuck;
    assert_int_equal(spw_timer_create(graph, &(struct spw_machine){.duplex = 0.5, .host_bytes = 5}, &timer), 0);
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    memcpy(schedule.start, OPPOSITE, 2);
    for (uint32_t copies = 1; copies <= 1000; copies *= 10) {
        schedule.count = 0;
        for (uint32_t i = 0; i < copies; i++)
            assert_int_equal(spw_schedule_add(&schedule, SPW_STEP_D2H, 0), 0);
        assert_int_equal(spw_schedule_add(&schedule, SPW_STEP_DROP, 0), 0);
        assert_int_equal(spw_timer_run(timer, &schedule, 5, NULL, &timing, &stuck), 0);
        assert_true(timing.time_us == 2 * copies);
    }
    schedule.count = 1;
    assert_int_equal(spw_timer_run(timer, &schedule, 1, NULL, &timing, NULL), -ENOSPC);
    assert_int_equal(spw_timer_run(timer, &schedule, 5, NULL, &timing, NULL), 0);
    assert_true(timing.time_us == 2);
    schedule.steps[0] = (struct spw_step){SPW_STEP_H2D, 1}; /* what was dropped in other runs makes no room for it */
    assert_int_equal(spw_timer_run(timer, &schedule, 4, NULL, &timing, NULL), -ENOSPC);
    spw_timer_destroy(timer);
    spw_timer_destroy(NULL);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_but_drops_costs_the_host_a_launch),
        cmocka_unit_test(host_is_ahead_by_so_many_operations_at_most),
        cmocka_unit_test(memory_costs_the_host_time_to_map_and_to_unmap),
        cmocka_unit_test(copies_in_pieces_cost_more_for_each_piece),
        cmocka_unit_test(copies_in_both_directions_slow_each_other_down),
        cmocka_unit_test(copies_of_one_length_take_as_much_longer_as_they_are_slower),
        cmocka_unit_test(copies_after_one_another_are_at_full_speed),
        cmocka_unit_test(step_that_makes_no_sense_is_the_one_that_is_stuck),
        cmocka_unit_test(step_that_does_not_fit_is_the_one_that_is_stuck),
        cmocka_unit_test(host_memory_that_does_not_suffice_is_said_too),
        cmocka_unit_test(lack_of_memory_is_said_and_nothing_is_lost),
        cmocka_unit_test(timer_may_be_used_for_one_schedule_after_another),
    };
    return cmocka_run_group_tests_name("timeline-machine", tests, NULL, NULL);
}
