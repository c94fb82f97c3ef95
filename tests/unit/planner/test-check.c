/* test-check.c - each rule of model S+: an execution that keeps it, and the smallest breakage of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tiny.h"

static void operations_run_once_each_in_their_order(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROPS_OF_TWO_LAYERS});
    REFUSES(graph, SPW_FAULT_ORDER, 1, {OP(0, 0), OP(2, 10), OP(1, 20), OP(3, 30), DROPS_OF_TWO_LAYERS});
    REFUSES(graph, SPW_FAULT_ORDER, 2, {OP(0, 0), OP(1, 10), OP(1, 20), OP(2, 30), OP(3, 40)});
    REFUSES(graph, SPW_FAULT_ORDER, 7, {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 10), DROP(2, 30), DROP(1, 40), DROP(3, 40)});
    spw_graph_destroy(graph);
}

static void events_may_be_listed_in_any_order_of_time(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    ACCEPTS(graph, {DROP(3, 40), OP(3, 30), DROP(1, 40), OP(1, 10), DROP(2, 30), OP(2, 20), OP(0, 0), DROP(0, 10)});
    spw_graph_destroy(graph);
}

static void events_that_cannot_be_are_refused(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    REFUSES(graph, SPW_FAULT_ORDER, 0, {OP(0, -1), OP(1, 10)});
    REFUSES(graph, SPW_FAULT_ORDER, 1, {OP(0, 0), OP(1, NAN)});
    REFUSES(graph, SPW_FAULT_ORDER, 1, {OP(0, 0), OP(1, INFINITY)});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {OP(4, 0)});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {DROP(4, 0)});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {H2D(UINT32_MAX, 0)});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {{SPW_STEP_KINDS, 0, 0}});
    REFUSES(graph, SPW_FAULT_ORDER, 0, {{UINT32_MAX, 0, 0}});
    tiny_expect(graph, TINY_ON_DEVICE, NULL, 0, &TINY_FREE, SPW_FAULT_ORDER, 0);
    spw_graph_destroy(graph);
}

static void each_lane_does_one_thing_at_a_time(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}, {.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10}, {10}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* one lane each way and compute at once */
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), D2H(0, 0), D2H(1, 5), DROP(0, 5), H2D(0, 5)});
    REFUSES(graph, SPW_FAULT_BUSY, 1, {OP(0, 0), OP(1, 9)});
    REFUSES(graph, SPW_FAULT_BUSY, 2, {OP(0, 0), D2H(0, 0), D2H(1, 4), OP(1, 10)});
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), D2H(0, 0), D2H(1, 5), DROP(0, 10), DROP(1, 10), H2D(0, 10), H2D(1, 15)});
    REFUSES(graph, SPW_FAULT_BUSY, 7,
            {OP(0, 0), OP(1, 10), D2H(0, 0), D2H(1, 5), DROP(0, 10), DROP(1, 10), H2D(0, 10), H2D(1, 14)});
    spw_graph_destroy(graph);
}

static void what_is_read_has_to_be_complete_on_the_device(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), OP(2, 20), H2D(1, 22), OP(3, 30), DROP(0, 10), DROP(2, 30),
                    DROP(1, 40), DROP(3, 40)});
    REFUSES(graph, SPW_FAULT_MISSING, 5, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), OP(2, 20), OP(3, 30)});
    REFUSES(graph, SPW_FAULT_MISSING, 6, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), OP(2, 20), H2D(1, 23), OP(3, 30)});
    spw_graph_destroy(graph);
}

static void memory_is_limited_at_every_instant(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 16;
    /* the drop makes room for the operation at the same instant, wherever it is listed */
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROPS_OF_TWO_LAYERS});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MEMORY, 1,
                 {OP(0, 0), OP(1, 10), DROP(0, 11), OP(2, 20), OP(3, 30)});
    rules.device_bytes = 15;
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MEMORY, 2,
                 {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 10), OP(3, 30)});
    rules.device_bytes = 11; /* so does what is copied in */
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MEMORY, 0, {OP(0, 0)});
    rules.device_bytes = 3; /* and what is there at the start */
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MEMORY, 1, {DROP(0, 0)});
    spw_graph_destroy(graph);
}

static void copies_in_need_memory_from_their_start(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 14;
    const struct spw_timed_step late[] = {OP(0, 0),    DROP(0, 10), OP(1, 10), D2H(1, 10),  DROP(1, 20), OP(2, 20),
                                          DROP(2, 30), H2D(1, 30),  OP(3, 38), DROP(1, 48), DROP(3, 48)};
    tiny_expect(graph, TINY_ON_DEVICE, late, sizeof late / sizeof late[0], &rules, SPW_FAULT_NONE, 0);
    struct spw_timed_step early[sizeof late / sizeof late[0]];
    memcpy(early, late, sizeof late);
    early[7].start_us = 29;
    tiny_expect(graph, TINY_ON_DEVICE, early, sizeof late / sizeof late[0], &rules, SPW_FAULT_MEMORY, 7);
    spw_graph_destroy(graph);
}

static void copies_out_need_the_complete_tensor(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    REFUSES(graph, SPW_FAULT_BUSY, 1, {OP(0, 0), D2H(1, 9), OP(1, 10)});
    REFUSES(graph, SPW_FAULT_D2H, 0, {D2H(1, 0), OP(0, 0)});
    REFUSES(graph, SPW_FAULT_D2H, 4, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), D2H(1, 20)});
    REFUSES(graph, SPW_FAULT_D2H, 5, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), H2D(1, 20), D2H(1, 27)});
    spw_graph_destroy(graph);
}

static void copies_in_need_a_host_copy_and_the_tensor_gone(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    REFUSES(graph, SPW_FAULT_H2D, 3, {OP(0, 0), OP(1, 10), DROP(1, 20), H2D(1, 20)});
    REFUSES(graph, SPW_FAULT_H2D, 3, {OP(0, 0), OP(1, 10), D2H(1, 10), H2D(1, 18)});
    REFUSES(graph, SPW_FAULT_H2D, 1, {OP(0, 0), H2D(1, 0)});
    spw_graph_destroy(graph);
}

static void copies_need_leave(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    struct spw_check_rules rules = TINY_FREE;
    rules.may_copy = false;
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROPS_OF_TWO_LAYERS});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_D2H, 2, {OP(0, 0), OP(1, 10), D2H(1, 10)});
    spw_graph_destroy(graph);
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}};
    const uint8_t on_host[] = {SPW_START_HOST};
    graph = TINY_GRAPH(tensors, ops);
    ACCEPTS_FROM(graph, on_host, &TINY_FREE, {H2D(0, 0), OP(0, 5), DROP(0, 15)});
    REFUSES_FROM(graph, on_host, &rules, SPW_FAULT_H2D, 0, {H2D(0, 0), OP(0, 5), DROP(0, 15)});
    spw_graph_destroy(graph);
}

static void only_what_is_complete_and_not_in_use_is_dropped(void **state)
{
    struct spw_graph *graph = tiny_two_layers();
    REFUSES(graph, SPW_FAULT_DROP, 1, {OP(0, 0), DROP(0, 9)});               /* read */
    REFUSES(graph, SPW_FAULT_DROP, 1, {OP(0, 0), DROP(1, 9)});               /* written */
    REFUSES(graph, SPW_FAULT_DROP, 2, {OP(0, 0), DROP(0, 10), DROP(0, 11)}); /* gone */
    REFUSES(graph, SPW_FAULT_DROP, 2, {OP(0, 0), D2H(1, 10), DROP(1, 17)});  /* being copied out */
    ACCEPTS(graph, {OP(0, 0), DROP(0, 10), OP(1, 10), D2H(1, 10), DROP(1, 20), H2D(1, 20), DROP(1, 28), H2D(1, 28),
                    OP(2, 28), OP(3, 38), DROP(1, 48), DROP(2, 48), DROP(3, 48)});
    REFUSES(graph, SPW_FAULT_DROP, 5, {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 20), H2D(1, 20), DROP(1, 27)});
    spw_graph_destroy(graph);
}

static void what_is_not_evictable_stays_until_its_last_use(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .fixed = true},
                                                 {.bytes = 4, .persistent = true, .fixed = true}};
    static const struct tiny_op ops[] = {{10, T(1), T(0)}, {10}, {10, T(0), 0}, {10}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROP(0, 30)});
    REFUSES(graph, SPW_FAULT_DROP, 2, {OP(0, 0), OP(1, 10), DROP(0, 10), REPLAY(0, 20), OP(2, 30), OP(3, 40)});
    REFUSES(graph, SPW_FAULT_D2H, 2, {OP(0, 0), OP(1, 10), D2H(0, 10), OP(2, 20), OP(3, 30), DROP(0, 30)});
    REFUSES(graph, SPW_FAULT_DROP, 5, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROP(0, 30), DROP(1, 40)});
    spw_graph_destroy(graph);
    /* an update in place is one use */
    static const struct tiny_op update[] = {{10, 0, T(0)}, {10, T(0), T(0)}, {10, T(1), 0}, {10, T(0), 0}};
    graph = TINY_GRAPH(tensors, update);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROP(0, 40)});
    REFUSES(graph, SPW_FAULT_DROP, 2, {OP(0, 0), OP(1, 10), DROP(0, 20), OP(2, 20), OP(3, 30)});
    spw_graph_destroy(graph);
    /* a replay is none */
    static const struct tiny_tensor two[] = {{.bytes = 4, .fixed = true}, {.bytes = 4}};
    static const struct tiny_op twice[] = {{10, 0, T(0)}, {10, T(0), T(1)}, {10, T(0) | T(1), 0}};
    graph = TINY_GRAPH(two, twice);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), REPLAY(1, 20), OP(2, 30), DROP(0, 40), DROP(1, 40)});
    REFUSES(graph, SPW_FAULT_DROP, 3, {OP(0, 0), OP(1, 10), REPLAY(1, 20), DROP(0, 30), OP(2, 30), DROP(1, 40)});
    spw_graph_destroy(graph);
}

/* ---- writes, versions, host copies ---- */

static void tensors_are_not_copied_out_while_they_are_written(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(0), T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), D2H(0, 5), OP(1, 10), D2H(0, 20)});
    REFUSES(graph, SPW_FAULT_BUSY, 2, {OP(0, 0), D2H(0, 6), OP(1, 10)});
    REFUSES(graph, SPW_FAULT_BUSY, 2, {OP(0, 0), OP(1, 10), D2H(0, 19)});
    spw_graph_destroy(graph);
}

static void writes_make_host_copies_stale(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t clean[] = {SPW_START_CLEAN};
    ACCEPTS_FROM(graph, clean, &TINY_FREE, {OP(0, 0), D2H(0, 10), DROP(0, 15), H2D(0, 15), OP(1, 20)});
    REFUSES_FROM(graph, clean, &TINY_FREE, SPW_FAULT_H2D, 2, {OP(0, 0), DROP(0, 10), H2D(0, 10), OP(1, 20)});
    REFUSES_FROM(graph, clean, &TINY_FREE, SPW_FAULT_END, 2, {OP(0, 0), OP(1, 10)});
    spw_graph_destroy(graph);
}

static void recorded_operations_write_what_is_there_or_absent(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}, {.bytes = 3}};
    static const struct tiny_op ops[] = {{10, 0, T(0) | T(1)}, {10, 0, T(1)}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), OP(2, 20), DROP(1, 30)});
    ACCEPTS(graph, {DROP(0, 0), OP(0, 0), DROP(1, 10), OP(1, 10), OP(2, 20), DROP(1, 30)});
    const struct spw_timed_step there[] = {OP(0, 0), OP(1, 10), OP(2, 20), DROP(1, 30)};
    assert_int_equal(tiny_check(graph, TINY_ON_DEVICE, there, 4, &TINY_FREE).peak_bytes, 8);
    spw_graph_destroy(graph);
}

static void nothing_is_written_while_it_is_copied_in(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t on_host[] = {SPW_START_HOST};
    ACCEPTS_FROM(graph, on_host, &TINY_FREE, {H2D(0, 0), OP(0, 5), D2H(0, 15), DROP(0, 20)});
    REFUSES_FROM(graph, on_host, &TINY_FREE, SPW_FAULT_BUSY, 1, {H2D(0, 0), OP(0, 4), D2H(0, 14), DROP(0, 19)});
    spw_graph_destroy(graph);
}

/* Tensor 0 is read from the host once more after a copy out, and then written; tensor 1 after it. */
static void host_memory_is_limited_and_given_back(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 5, .persistent = true}, {.bytes = 7, .initial = true}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {20, T(1), T(2)}, {10, T(1), T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.host_bytes = 7;
    /* 5 until tensor 0 is back, 7 until tensor 1 is back, 6 for what nobody reads until it is copied, 5 again */
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules,
                 {D2H(0, 0), OP(0, 0), DROP(0, 10), H2D(0, 10), D2H(1, 15), OP(1, 10), DROP(1, 30), H2D(1, 30), D2H(2, 37),
                  OP(2, 37), DROP(2, 43), D2H(0, 47), DROP(1, 47)});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_HOST, 4,
                 {D2H(0, 0), OP(0, 0), DROP(0, 10), H2D(0, 10), D2H(1, 14), OP(1, 10), DROP(1, 30), H2D(1, 30), OP(2, 37)});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_HOST, 6,
                 {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 30), H2D(1, 30), OP(2, 37), D2H(2, 36)});
    rules.host_bytes = 6;
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_HOST, 2,
                 {OP(0, 0), OP(1, 10), D2H(1, 10), DROP(1, 30), H2D(1, 30)});
    spw_graph_destroy(graph);
}

static void host_copies_that_have_to_be_there_at_the_end_count(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}, {.bytes = 7, .initial = true}};
    static const struct tiny_op reads[] = {{10, T(0) | T(1), 0}, {20, T(1), 0}},
                                writes[] = {{10, T(1), T(0)}, {20, T(1), 0}};
    struct spw_graph *kept = TINY_GRAPH(tensors, reads), *stale = TINY_GRAPH(tensors, writes);
    const uint8_t clean[] = {SPW_START_CLEAN, SPW_START_DEVICE};
    struct spw_check_rules rules = TINY_FREE;
    rules.host_bytes = 12;
    ACCEPTS_FROM(kept, clean, &rules, {OP(0, 0), D2H(1, 0), DROP(1, 10), H2D(1, 10), OP(1, 17), DROP(1, 37)});
    rules.host_bytes = 11;
    REFUSES_FROM(kept, clean, &rules, SPW_FAULT_HOST, 1,
                 {OP(0, 0), D2H(1, 0), DROP(1, 10), H2D(1, 10), OP(1, 17), DROP(1, 37)});
    /* what is overwritten unread is not wanted, not even at the start */
    rules.host_bytes = 7;
    ACCEPTS_FROM(stale, clean, &rules, {D2H(1, 0), OP(0, 0), DROP(1, 10), H2D(1, 10), D2H(0, 17), OP(1, 17), DROP(1, 37)});
    rules.host_bytes = 4;
    REFUSES_FROM(stale, clean, &rules, SPW_FAULT_HOST, 4, {OP(0, 0), OP(1, 17), D2H(0, 17), DROP(1, 37)});
    spw_graph_destroy(stale);
    spw_graph_destroy(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_run_once_each_in_their_order),
        cmocka_unit_test(events_may_be_listed_in_any_order_of_time),
        cmocka_unit_test(events_that_cannot_be_are_refused),
        cmocka_unit_test(each_lane_does_one_thing_at_a_time),
        cmocka_unit_test(what_is_read_has_to_be_complete_on_the_device),
        cmocka_unit_test(memory_is_limited_at_every_instant),
        cmocka_unit_test(copies_in_need_memory_from_their_start),
        cmocka_unit_test(copies_out_need_the_complete_tensor),
        cmocka_unit_test(copies_in_need_a_host_copy_and_the_tensor_gone),
        cmocka_unit_test(copies_need_leave),
        cmocka_unit_test(only_what_is_complete_and_not_in_use_is_dropped),
        cmocka_unit_test(what_is_not_evictable_stays_until_its_last_use),
        cmocka_unit_test(tensors_are_not_copied_out_while_they_are_written),
        cmocka_unit_test(writes_make_host_copies_stale),
        cmocka_unit_test(recorded_operations_write_what_is_there_or_absent),
        cmocka_unit_test(nothing_is_written_while_it_is_copied_in),
        cmocka_unit_test(host_memory_is_limited_and_given_back),
        cmocka_unit_test(host_copies_that_have_to_be_there_at_the_end_count),
    };
    return cmocka_run_group_tests_name("check", tests, NULL, NULL);
}
