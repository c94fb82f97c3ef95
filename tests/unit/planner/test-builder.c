/* test-builder.c - what the builder lets pass is valid under the checker once it is timed, and what it refuses would not be.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "plan/builder.h"
#include "plan/timeline.h"
#include "tiny.h"

/* Times the schedule and holds it against the checker. */
static struct spw_check judge(const struct spw_graph *graph, const struct spw_schedule *schedule, uint64_t device_bytes,
                              uint64_t host_bytes)
{
    const struct spw_machine machine = {.duplex = 1, .host_bytes = host_bytes};
    struct spw_check_rules rules = TINY_FREE;
    struct spw_timed_step events[64];
    struct spw_timing timing;
    double starts[64];
    assert_in_range(schedule->count, 1, 64);
    assert_int_equal(spw_timeline(graph, schedule, &machine, device_bytes, starts, &timing, NULL), 0);
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, starts[i]};
    rules.device_bytes = device_bytes;
    rules.host_bytes = host_bytes;
    tiny_expect(graph, schedule->start, events, schedule->count, &rules, SPW_FAULT_NONE, 0);
    const struct spw_check check = tiny_check(graph, schedule->start, events, schedule->count, &rules);
    assert_true(check.time_us == timing.time_us);
    assert_int_equal(check.peak_bytes, timing.peak_bytes);
    assert_int_equal(check.host_peak_bytes, timing.host_peak_bytes);
    return check;
}

/* The input of an iteration that reads nothing of it takes memory all the same, until it is dropped. */
static void what_nobody_uses_is_dropped_at_once(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 7, .initial = true}, {.bytes = 4, .initial = true}, {.bytes = 5}};
    static const struct tiny_op ops[] = {{10, T(1), T(2)}, {10, T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_schedule schedule;
    struct spw_builder builder;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_builder_init(&builder, graph, &schedule, 10, UINT64_MAX), -ENOSPC);
    assert_int_equal(spw_builder_init(&builder, graph, &schedule, 11, UINT64_MAX), 0);
    assert_int_equal(builder.used_bytes, 4);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_end(&builder), 0);
    assert_int_equal(judge(graph, &schedule, 11, UINT64_MAX).peak_bytes, 11);
    spw_builder_finish(&builder);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

/* An activation leaves in both ways, and weights that start on the host end there. */
static void copies_drops_and_replays_make_a_valid_iteration(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 4, .persistent = true}, {.bytes = 4, .initial = true}, {.bytes = 8}, {.bytes = 8}};
    static const struct tiny_op ops[] = {
        {10, T(0) | T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(2), 0}, {10, T(0), T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_schedule schedule;
    struct spw_builder builder;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    schedule.start[0] = SPW_START_HOST;
    assert_int_equal(spw_builder_init(&builder, graph, &schedule, 20, UINT64_MAX), 0);
    assert_int_equal(spw_build_op(&builder), -EINVAL); /* the weights are not there */
    assert_int_equal(spw_build_h2d(&builder, 0), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_op(&builder), -ENOSPC);
    assert_int_equal(spw_build_drop(&builder, 0), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_d2h(&builder, 2), 0);
    assert_int_equal(spw_build_drop(&builder, 2), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_drop(&builder, 3), 0);
    assert_int_equal(spw_build_h2d(&builder, 0), 0);
    assert_int_equal(spw_build_replay(&builder, 4), -EINVAL);
    assert_int_equal(spw_build_replay(&builder, 0), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_op(&builder), -EINVAL);
    assert_int_equal(spw_build_end(&builder), 0);
    const struct spw_check check = judge(graph, &schedule, 20, UINT64_MAX);
    assert_true(check.replayed_us == 10);
    assert_int_equal(check.d2h_bytes, 12);
    spw_builder_finish(&builder);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

/* The lane would be free at 4 us, but the host has room for one copy only: until the last use of tensor 0, at 14 us. */
static void copies_out_wait_for_host_memory(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 4, .initial = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(0), 0}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_schedule schedule;
    struct spw_builder builder;
    assert_int_equal(spw_schedule_init(&schedule, graph), 0);
    assert_int_equal(spw_builder_init(&builder, graph, &schedule, 8, 4), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_d2h(&builder, 0), 0);
    assert_int_equal(spw_build_d2h(&builder, 1), -ENOSPC);
    assert_int_equal(spw_build_drop(&builder, 0), 0);
    assert_int_equal(spw_build_h2d(&builder, 0), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_d2h(&builder, 1), 0);
    assert_int_equal(spw_build_drop(&builder, 1), 0);
    assert_int_equal(spw_build_h2d(&builder, 1), 0);
    assert_int_equal(spw_build_op(&builder), 0);
    assert_int_equal(spw_build_end(&builder), 0);
    assert_true(judge(graph, &schedule, 8, 4).time_us == 34); /* out from 14 to 18, in to 22, operation from 24 */
    assert_int_equal(judge(graph, &schedule, 8, 4).host_peak_bytes, 4);
    assert_int_equal(judge(graph, &schedule, 8, UINT64_MAX).host_peak_bytes, 8);
    spw_builder_finish(&builder);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_uses_is_dropped_at_once),
        cmocka_unit_test(copies_drops_and_replays_make_a_valid_iteration),
        cmocka_unit_test(copies_out_wait_for_host_memory),
    };
    return cmocka_run_group_tests_name("builder", tests, NULL, NULL);
}
