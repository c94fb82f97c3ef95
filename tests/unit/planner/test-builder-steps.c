/* test-builder-steps.c - each step of the builder is refused where it has to be, with nothing changed, and taken where not.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "plan/builder.h"
#include "failing-memory.h"
#include "tiny.h"

struct world {
    struct spw_graph *graph;
    struct spw_schedule schedule;
    struct spw_builder builder;
};

static void begin(struct world *w, struct spw_graph *graph, const uint8_t *start, uint64_t device_bytes, uint64_t host_bytes)
{
    w->graph = graph;
    assert_int_equal(spw_schedule_init(&w->schedule, graph), 0);
    memcpy(w->schedule.start, start, graph->tensor_count);
    assert_int_equal(spw_builder_init(&w->builder, graph, &w->schedule, device_bytes, host_bytes), 0);
}

static void end(struct world *w)
{
    spw_builder_finish(&w->builder);
    spw_schedule_finish(&w->schedule);
    spw_graph_destroy(w->graph);
}

/* Steps in order, each with what the builder is to say; what it refuses leaves everything as it was. */
struct expected {
    enum spw_step_kind kind;
    uint32_t id;
    int result;
};

static int build(struct spw_builder *b, const struct expected *step)
{
    switch (step->kind) {
    case SPW_STEP_OP:
        assert_int_equal(b->next_op, step->id);
        return spw_build_op(b);
    case SPW_STEP_REPLAY:
        return spw_build_replay(b, step->id);
    case SPW_STEP_D2H:
        return spw_build_d2h(b, step->id);
    case SPW_STEP_H2D:
        return spw_build_h2d(b, step->id);
    default:
        return spw_build_drop(b, step->id);
    }
}

static void follow(struct world *w, const struct expected *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct spw_builder before;
        struct spw_builder_place places[32];
        const size_t listed = w->schedule.count;
        memcpy(&before, &w->builder, sizeof before);
        memcpy(places, w->builder.places, w->graph->tensor_count * sizeof *places);
        const int r = build(&w->builder, &steps[i]);
        if (r != steps[i].result)
            fail_msg("step %zu: %d instead of %d", i, r, steps[i].result);
        assert_int_equal(w->schedule.count, listed + (r == 0));
        if (r == 0)
            continue;
        assert_memory_equal(&before, &w->builder, sizeof before);
        assert_memory_equal(places, w->builder.places, w->graph->tensor_count * sizeof *places);
    }
}
#define FOLLOW(world, ...) \
    follow(world, (const struct expected[])__VA_ARGS__, \
           sizeof((const struct expected[])__VA_ARGS__) / sizeof(struct expected))

/* ---- operations ---- */

static void operation_needs_what_it_reads_and_room_for_what_it_writes(void **state)
{
    struct world w;
    begin(&w, tiny_two_layers(), TINY_ON_DEVICE, 17, UINT64_MAX); /* 4, 8, 6 and 2 bytes */
    assert_int_equal(spw_build_op_needs(&w.builder), 8);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0}, {SPW_STEP_OP, 1, -ENOSPC}, {SPW_STEP_DROP, 0, 0}, {SPW_STEP_OP, 1, 0}});
    assert_int_equal(w.builder.used_bytes, 14);
    FOLLOW(&w, {{SPW_STEP_DROP, 2, 0}, {SPW_STEP_OP, 2, -EINVAL}});
    assert_int_equal(spw_build_next_use(&w.builder, 2), 2);
    assert_int_equal(spw_build_current(&w.builder, 2), 1);
    assert_int_equal(spw_build_end(&w.builder), -EINVAL); /* not all of it has run */
    FOLLOW(&w, {{SPW_STEP_REPLAY, 1, 0}, {SPW_STEP_OP, 2, 0}, {SPW_STEP_OP, 3, 0}, {SPW_STEP_OP, 4, -EINVAL}});
    assert_int_equal(spw_build_op_needs(&w.builder), 0);
    assert_int_equal(spw_build_next_use(&w.builder, 2), SPW_NO_INDEX);
    end(&w);
}

static void operation_reads_the_version_of_the_recording_only(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 70000}, {.bytes = 1}};
    static const struct tiny_op ops[] = {{1, 0, T(0)}, {1, T(0), T(0)}, {1, T(0), T(1)}, {1, T(1), 0}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 100000, UINT64_MAX);
    /* version 1 is made again: operation 1 has to run again too before 2 may */
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_REPLAY, 0, -EINVAL},
                {SPW_STEP_DROP, 0, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_REPLAY, 0, 0},
                {SPW_STEP_OP, 2, -EINVAL},
                {SPW_STEP_REPLAY, 1, 0},
                {SPW_STEP_OP, 2, 0},
                {SPW_STEP_OP, 3, 0}});
    end(&w);
}

/* ---- replays ---- */

static void replays_are_of_operations_that_have_run_and_may_run_again(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4}, {.bytes = 4}};
    static const struct tiny_op ops[] = {
        {1, 0, T(0)}, {.us = 1, .reads = T(0), .writes = T(1), .fixed = true}, {1, T(0) | T(1), 0}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 8, UINT64_MAX);
    FOLLOW(&w, {{SPW_STEP_REPLAY, 0, -EINVAL},
                {SPW_STEP_OP, 0, 0},
                {SPW_STEP_REPLAY, 0, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_DROP, 1, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_REPLAY, 7, -EINVAL}});
    end(&w);
}

static void replays_never_update_what_is_persistent_but_leave_side_buffers_alone(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 70000, .persistent = true}, {.bytes = 8, .persistent = true}, {.bytes = 5}, {.bytes = 5}};
    static const struct tiny_op ops[] = {{1, T(0), T(0) | T(2)}, {1, T(1), T(1) | T(3)}, {1, T(2) | T(3), 0}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 80000, UINT64_MAX);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_DROP, 2, 0},
                {SPW_STEP_DROP, 3, 0},
                {SPW_STEP_REPLAY, 0, -EINVAL},
                {SPW_STEP_D2H, 1, 0},
                {SPW_STEP_DROP, 1, 0}});
    assert_int_equal(spw_build_replay_needs(&w.builder, 1), 5); /* the side buffer is not there, and need not be */
    FOLLOW(&w, {{SPW_STEP_REPLAY, 1, 0}});
    assert_int_equal(w.builder.places[1].device, SPW_ABSENT);
    assert_int_equal(w.builder.places[1].host, 1);
    end(&w);
}

/* Version 1 may be made again where the tensor is absent, but not be updated to version 2; and a copy of it is not what has
 * to be there at the end. */
static void older_versions_of_what_is_persistent_lead_nowhere(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 70000, .persistent = true}};
    static const struct tiny_op ops[] = {{1, 0, T(0)}, {1, T(0), T(0)}};
    const uint8_t start[] = {SPW_START_HOST};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), start, 70000, 70000);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_D2H, 0, 0},
                {SPW_STEP_DROP, 0, 0},
                {SPW_STEP_REPLAY, 0, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_D2H, 0, 0}});
    assert_int_equal(spw_build_end(&w.builder), -EINVAL);
    end(&w);
}

/* Tensor 1 is written twice; version 1 may be made again over version 2 only once that is dead. */
static void replays_write_over_what_is_dead_only(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 4}, {.bytes = 4}};
    static const struct tiny_op ops[] = {
        {1, T(0), T(1)}, {1, T(1), T(2)}, {1, T(2), T(1)}, {1, T(1), 0}, {1, T(0) | T(2), 0}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 12, UINT64_MAX);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_OP, 2, 0},
                {SPW_STEP_REPLAY, 0, -EINVAL},
                {SPW_STEP_OP, 3, 0},
                {SPW_STEP_DROP, 2, 0},
                {SPW_STEP_REPLAY, 1, -EINVAL},
                {SPW_STEP_REPLAY, 0, 0},
                {SPW_STEP_REPLAY, 1, 0},
                {SPW_STEP_OP, 4, 0}});
    assert_int_equal(w.builder.places[1].device, 1); /* dead, kept and made again: it counts until the end drops it */
    assert_int_equal(w.builder.used_bytes, 12);
    assert_int_equal(spw_build_end(&w.builder), 0);
    assert_int_equal(w.builder.used_bytes, 0);
    end(&w);
}

/* ---- copies and drops ---- */

static void copies_need_room_on_both_sides_and_something_to_copy(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 6, .persistent = true}, {.bytes = 6, .persistent = true}, {.bytes = 8}};
    static const struct tiny_op ops[] = {{1, T(0), 0}, {1, 0, T(2)}, {1, T(0) | T(1), T(0)}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 14, 10);
    FOLLOW(&w, {{SPW_STEP_D2H, 2, -EINVAL},
                {SPW_STEP_H2D, 0, -EINVAL},
                {SPW_STEP_D2H, 0, 0},
                {SPW_STEP_D2H, 0, -EINVAL},
                {SPW_STEP_D2H, 1, -ENOSPC},
                {SPW_STEP_H2D, 0, -EINVAL},
                {SPW_STEP_OP, 0, 0},
                {SPW_STEP_DROP, 0, 0},
                {SPW_STEP_DROP, 0, -EINVAL},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_H2D, 0, -ENOSPC},
                {SPW_STEP_DROP, 2, 0},
                {SPW_STEP_H2D, 0, 0}});
    assert_int_equal(w.builder.host_used_bytes, 6); /* it stays where it is, until it is stale */
    FOLLOW(&w, {{SPW_STEP_OP, 2, 0}, {SPW_STEP_D2H, 1, 0}});
    assert_int_equal(w.builder.host_used_bytes, 6);
    end(&w);
}

static void what_may_not_leave_is_neither_copied_nor_dropped_before_its_last_use(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 1, .persistent = true, .fixed = true},
                                                 {.bytes = 1, .fixed = true}};
    static const struct tiny_op ops[] = {{1, T(0), T(1)}, {1, T(0) | T(1), 0}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 10, UINT64_MAX);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0},
                {SPW_STEP_D2H, 0, -EINVAL},
                {SPW_STEP_D2H, 1, -EINVAL},
                {SPW_STEP_DROP, 0, -EINVAL},
                {SPW_STEP_DROP, 1, -EINVAL},
                {SPW_STEP_OP, 1, 0},
                {SPW_STEP_DROP, 0, -EINVAL},
                {SPW_STEP_DROP, 1, 0}});
    end(&w);
}

static void host_copies_outlive_their_tensors_only_where_the_host_is_not_limited(void **state)
{
    for (int is_limited = 0; is_limited < 2; is_limited++) {
        struct world w;
        begin(&w, tiny_two_layers(), TINY_ON_DEVICE, 100, is_limited ? 100 : UINT64_MAX);
        FOLLOW(&w, {{SPW_STEP_D2H, 0, 0}, {SPW_STEP_OP, 0, 0}, {SPW_STEP_DROP, 0, 0}});
        FOLLOW(&w, {{SPW_STEP_H2D, 0, is_limited ? -EINVAL : 0}, {SPW_STEP_REPLAY, 0, is_limited ? -EINVAL : 0}});
        assert_int_equal(w.builder.host_used_bytes, is_limited ? 0 : 4);
        end(&w);
    }
}

static void dead_is_what_nobody_will_read(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 1, .persistent = true}, {.bytes = 1}, {.bytes = 1}};
    static const struct tiny_op ops[] = {{1, T(0), T(1) | T(2)}, {1, T(1), 0}, {1, T(2), T(0) | T(1)}, {1, T(1), 0}};
    static const bool dead[5][3] = {{0, 1, 1}, {1, 0, 0}, {1, 1, 0}, {0, 0, 1}, {0, 1, 1}};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), TINY_ON_DEVICE, 100, UINT64_MAX);
    for (uint32_t op = 0; op <= 4; op++) {
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(spw_build_is_dead(&w.builder, i), dead[op][i]);
        if (op == 4)
            break;
        assert_int_equal(spw_build_op(&w.builder), 0);
        assert_int_equal(spw_build_drop_dead(&w.builder, op), 0);
    }
    assert_int_equal(w.builder.used_bytes, 1); /* 1 and 2 went with the operations that used them last */
    assert_int_equal(w.schedule.count, 6);
    end(&w);
}

/* ---- the end ---- */

/* A tensor that is read and updated, from each start, with where it is at the end of the operations. */
static void end_brings_everything_back_to_where_it_started(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}, {.bytes = 3}};
    static const struct tiny_op ops[] = {{1, T(0), T(0) | T(1)}};
    static const struct {
        uint8_t start;
        bool leaves; /* it is copied out and dropped after the operation */
        size_t steps;
    } cases[] = {{SPW_START_DEVICE, false, 0}, {SPW_START_DEVICE, true, 1}, {SPW_START_HOST, false, 2},
                 {SPW_START_HOST, true, 0},    {SPW_START_CLEAN, false, 1}, {SPW_START_CLEAN, true, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t start[] = {cases[i].start, 0};
        struct world w;
        begin(&w, TINY_GRAPH(tensors, ops), start, 8, 5);
        if (cases[i].start == SPW_START_HOST)
            FOLLOW(&w, {{SPW_STEP_OP, 0, -EINVAL}, {SPW_STEP_H2D, 0, 0}});
        FOLLOW(&w, {{SPW_STEP_OP, 0, 0}});
        if (cases[i].leaves)
            FOLLOW(&w, {{SPW_STEP_D2H, 0, 0}, {SPW_STEP_DROP, 0, 0}});
        const size_t before = w.schedule.count;
        assert_int_equal(spw_build_end(&w.builder), 0);
        assert_int_equal(w.schedule.count - before, cases[i].steps + 1); /* tensor 1 is dropped */
        const struct spw_builder_place *place = &w.builder.places[0];
        assert_int_equal(place->device, cases[i].start == SPW_START_HOST ? SPW_ABSENT : 1);
        assert_true(cases[i].start == SPW_START_DEVICE || place->host == 1);
        assert_int_equal(w.builder.places[1].device, SPW_ABSENT);
        end(&w);
    }
}

static void what_is_lost_cannot_be_brought_back_at_the_end(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{1, T(0), 0}};
    for (uint8_t start = SPW_START_DEVICE; start <= SPW_START_CLEAN; start++) {
        struct world w;
        begin(&w, TINY_GRAPH(tensors, ops), &start, 8, 5);
        if (start == SPW_START_HOST)
            FOLLOW(&w, {{SPW_STEP_H2D, 0, 0}});
        FOLLOW(&w, {{SPW_STEP_OP, 0, 0}, {SPW_STEP_DROP, 0, 0}});
        assert_int_equal(spw_build_end(&w.builder), start == SPW_START_DEVICE ? -EINVAL : 0); /* the others have a copy */
        end(&w);
    }
}

static void start_has_to_fit_on_both_sides(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}, {.bytes = 3, .persistent = true}};
    static const struct tiny_op ops[] = {{1, T(0), 0}};
    const uint8_t start[] = {SPW_START_CLEAN, SPW_START_HOST};
    struct world w;
    begin(&w, TINY_GRAPH(tensors, ops), start, 5, 8);
    spw_builder_finish(&w.builder);
    assert_int_equal(spw_builder_init(&w.builder, w.graph, &w.schedule, 4, 8), -ENOSPC);
    assert_null(w.builder.places);
    assert_int_equal(spw_builder_init(&w.builder, w.graph, &w.schedule, 5, 7), -ENOSPC);
    end(&w);
}

/* ---- without memory ---- */

static void lack_of_memory_refuses_a_step_like_any_other(void **state)
{
    struct world w;
    begin(&w, tiny_two_layers(), TINY_ON_DEVICE, 100, UINT64_MAX);
    FOLLOW(&w, {{SPW_STEP_OP, 0, 0}, {SPW_STEP_D2H, 1, 0}, {SPW_STEP_DROP, 1, 0}});
    while (w.schedule.count < w.schedule.room) /* the list is full */
        FOLLOW(&w, {{SPW_STEP_REPLAY, 0, 0}});
    memory_fails_after(0);
    FOLLOW(
        &w,
        {{SPW_STEP_REPLAY, 0, -ENOMEM}, {SPW_STEP_OP, 1, -ENOMEM}, {SPW_STEP_D2H, 0, -ENOMEM}, {SPW_STEP_DROP, 0, -ENOMEM}});
    memory_is_back();
    FOLLOW(&w, {{SPW_STEP_DROP, 1, 0}});
    while (w.schedule.count < w.schedule.room)
        FOLLOW(&w, {{SPW_STEP_D2H, 0, w.builder.places[0].host == SPW_ABSENT ? 0 : -EINVAL},
                    {SPW_STEP_REPLAY, 0, 0},
                    {SPW_STEP_DROP, 1, 0}});
    memory_fails_after(0);
    FOLLOW(&w, {{SPW_STEP_H2D, 1, -ENOMEM}});
    assert_int_equal(spw_builder_init(&(struct spw_builder){0}, w.graph, &w.schedule, 100, 100), -ENOMEM);
    memory_is_back();
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation_needs_what_it_reads_and_room_for_what_it_writes),
        cmocka_unit_test(operation_reads_the_version_of_the_recording_only),
        cmocka_unit_test(replays_are_of_operations_that_have_run_and_may_run_again),
        cmocka_unit_test(replays_never_update_what_is_persistent_but_leave_side_buffers_alone),
        cmocka_unit_test(older_versions_of_what_is_persistent_lead_nowhere),
        cmocka_unit_test(replays_write_over_what_is_dead_only),
        cmocka_unit_test(copies_need_room_on_both_sides_and_something_to_copy),
        cmocka_unit_test(what_may_not_leave_is_neither_copied_nor_dropped_before_its_last_use),
        cmocka_unit_test(host_copies_outlive_their_tensors_only_where_the_host_is_not_limited),
        cmocka_unit_test(dead_is_what_nobody_will_read),
        cmocka_unit_test(end_brings_everything_back_to_where_it_started),
        cmocka_unit_test(what_is_lost_cannot_be_brought_back_at_the_end),
        cmocka_unit_test(start_has_to_fit_on_both_sides),
        cmocka_unit_test(lack_of_memory_refuses_a_step_like_any_other),
    };
    return cmocka_run_group_tests_name("builder-steps", tests, NULL, NULL);
}
