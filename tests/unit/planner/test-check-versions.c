/* test-check-versions.c - what replays may do to versions, and how an iteration has to end so that the next can begin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tiny.h"

/* ---- replays ---- */

static void replays_are_of_operations_that_have_run_and_may(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 4}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {.us = 10, .fixed = true}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), DROP(1, 10), OP(1, 10), REPLAY(0, 20), OP(2, 30), DROP(0, 40), DROP(1, 40)});
    REFUSES(graph, SPW_FAULT_REPLAY, 0, {REPLAY(0, 0), OP(0, 10), OP(1, 20), OP(2, 30), DROP(0, 40), DROP(1, 40)});
    REFUSES(graph, SPW_FAULT_BUSY, 1, {OP(0, 0), REPLAY(0, 9)});
    REFUSES(graph, SPW_FAULT_REPLAY, 2, {OP(0, 0), OP(1, 10), REPLAY(1, 20), OP(2, 30)});
    REFUSES(graph, SPW_FAULT_BUSY, 4, {OP(0, 0), DROP(1, 10), OP(1, 10), REPLAY(0, 20), OP(2, 29)});
    struct spw_check_rules rules = TINY_FREE;
    rules.may_replay = false;
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_REPLAY, 3, {OP(0, 0), DROP(1, 10), OP(1, 10), REPLAY(0, 20)});
    spw_graph_destroy(graph);
}

/* Tensor 1 is made of tensor 0, which is then overwritten; tensor 1 is needed at the end. */
static struct spw_graph *overwritten_input(void)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), T(1)}, {10, 0, T(0)}, {10, T(1), 0}, {10, T(0), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void replays_read_the_versions_that_were_read(void **state)
{
    struct spw_graph *graph = overwritten_input();
    /* before the write; after it, version 2 is there, and the host keeps it while version 1 comes back */
    ACCEPTS(graph,
            {OP(0, 0), OP(1, 10), DROP(1, 20), REPLAY(1, 20), OP(2, 30), OP(3, 40), DROP(1, 50), OP(4, 50), DROP(0, 60)});
    REFUSES(graph, SPW_FAULT_MISSING, 4, {OP(0, 0), OP(1, 10), DROP(1, 20), OP(2, 20), REPLAY(1, 30), OP(3, 40), OP(4, 50)});
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), DROP(1, 20), OP(2, 20), D2H(0, 30), DROP(0, 34), REPLAY(0, 34), REPLAY(1, 44),
                    DROP(0, 54), OP(3, 54), DROP(1, 64), H2D(0, 54), OP(4, 64), DROP(0, 74)});
    /* version 1 is there, and the operation read version 2 */
    REFUSES(graph, SPW_FAULT_MISSING, 10,
            {OP(0, 0), OP(1, 10), DROP(1, 20), OP(2, 20), D2H(0, 30), DROP(0, 34), REPLAY(0, 34), REPLAY(1, 44), OP(3, 54),
             DROP(1, 64), OP(4, 64)});
    spw_graph_destroy(graph);
}

static void replays_write_nothing_that_is_needed(void **state)
{
    struct spw_graph *graph = overwritten_input();
    /* over version 2, which is read at the end */
    REFUSES(graph, SPW_FAULT_REPLAY, 4, {OP(0, 0), OP(1, 10), DROP(1, 20), OP(2, 20), REPLAY(0, 30), REPLAY(1, 40)});
    REFUSES(graph, SPW_FAULT_REPLAY, 4, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), REPLAY(0, 40), OP(4, 50)});
    /* what already holds what they write */
    ACCEPTS(graph,
            {OP(0, 0), OP(1, 10), REPLAY(0, 20), REPLAY(1, 30), OP(2, 40), OP(3, 50), DROP(1, 60), OP(4, 60), DROP(0, 70)});
    spw_graph_destroy(graph);
}

static void replays_may_write_over_what_is_dead(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), T(1)}, {10, 0, T(0)}, {10, T(0), 0}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    /* tensor 0 is over after operation 3: it is kept, written again, and counts until it is dropped */
    const struct spw_timed_step events[] = {OP(0, 0),      OP(1, 10),     DROP(1, 20), OP(2, 20),   OP(3, 30),
                                            REPLAY(0, 40), REPLAY(1, 50), OP(4, 60),   DROP(0, 70), DROP(1, 70)};
    tiny_expect(graph, TINY_ON_DEVICE, events, 10, &TINY_FREE, SPW_FAULT_NONE, 0);
    assert_int_equal(tiny_check(graph, TINY_ON_DEVICE, events, 10, &TINY_FREE).peak_bytes, 10);
    spw_graph_destroy(graph);
}

static void updates_in_place_are_replayed_at_the_right_version_only(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 100000}, {.bytes = 100000}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), T(0)}, {10, T(0), T(1)}, {10}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 200000;
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules,
                 {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 30), OP(3, 30), REPLAY(0, 40), REPLAY(1, 50), OP(4, 60),
                  DROP(0, 70), DROP(1, 70)});
    /* twice; not at all; and on nothing */
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MISSING, 7,
                 {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 30), OP(3, 30), REPLAY(0, 40), REPLAY(1, 50), REPLAY(1, 60)});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MISSING, 6,
                 {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 30), OP(3, 30), REPLAY(0, 40), OP(4, 50)});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MISSING, 5,
                 {OP(0, 0), OP(1, 10), OP(2, 20), DROP(0, 30), OP(3, 30), REPLAY(1, 40), OP(4, 50)});
    spw_graph_destroy(graph);
}

static void persistent_tensors_are_not_updated_again(void **state)
{
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), T(0) | T(1)}, {10, T(1), 0}, {10, T(0), 0}};
    struct tiny_tensor tensors[] = {{.bytes = 100000}, {.bytes = 4}};
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 100004;
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules,
                 {OP(0, 0), OP(1, 10), DROP(0, 20), DROP(1, 20), REPLAY(0, 20), REPLAY(1, 30), OP(2, 40), OP(3, 50),
                  DROP(0, 60), DROP(1, 60)});
    spw_graph_destroy(graph);
    tensors[0].persistent = true;
    graph = TINY_GRAPH(tensors, ops);
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0), OP(1, 10), OP(2, 20), OP(3, 30), DROP(1, 40)});
    REFUSES_FROM(
        graph, TINY_ON_DEVICE, &rules, SPW_FAULT_REPLAY, 5,
        {OP(0, 0), OP(1, 10), DROP(0, 20), DROP(1, 20), REPLAY(0, 20), REPLAY(1, 30), OP(2, 40), OP(3, 50), DROP(1, 60)});
    spw_graph_destroy(graph);
}

static void persistent_tensors_may_be_overwritten_with_the_same(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 8, .persistent = true}, {.bytes = 4}};
    static const struct tiny_op ops[] = {{10, 0, T(0) | T(1)}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), DROP(0, 10), DROP(1, 10), REPLAY(0, 10), OP(1, 20), DROP(1, 30)});
    spw_graph_destroy(graph);
}

static void side_buffers_are_left_out_of_account_in_replays(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 4, .initial = true}, {.bytes = SPW_SIDE_BUFFER_BYTES, .persistent = true}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, T(0) | T(1), T(1) | T(2)}, {10}, {10, T(0) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = SPW_SIDE_BUFFER_BYTES + 10;
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules,
                 {OP(0, 0), DROP(2, 10), OP(1, 10), REPLAY(0, 20), OP(2, 30), DROP(0, 40), DROP(2, 40)});
    /* while it is copied out, and away */
    const uint8_t on_host[] = {SPW_START_DEVICE, SPW_START_HOST, SPW_START_DEVICE};
    ACCEPTS_FROM(graph, on_host, &rules,
                 {H2D(1, 0), OP(0, 65536), DROP(2, 65546), OP(1, 65546), D2H(1, 65546), REPLAY(0, 65556), OP(2, 65566),
                  DROP(0, 65576), DROP(2, 65576), DROP(1, 200000)});
    /* a replay does not bring it back */
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_END, 8,
                 {OP(0, 0), DROP(2, 10), DROP(1, 10), OP(1, 10), REPLAY(0, 20), OP(2, 30), DROP(0, 40), DROP(2, 40)});
    spw_graph_destroy(graph);
}

static void tensors_above_the_size_of_side_buffers_are_not_left_out(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 4, .initial = true}, {.bytes = SPW_SIDE_BUFFER_BYTES + 1, .initial = true}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, T(0) | T(1), T(1) | T(2)}, {10}, {10, T(0) | T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.device_bytes = 100000;
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_MISSING, 3,
                 {OP(0, 0), DROP(2, 10), OP(1, 10), REPLAY(0, 20), OP(2, 30)});
    spw_graph_destroy(graph);
}

static void replays_leave_host_copies_alone(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, T(0), T(1)}, {10, T(0) | T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), D2H(0, 10), DROP(0, 20), REPLAY(0, 20), DROP(0, 30), H2D(0, 30), OP(2, 34),
                    DROP(0, 44), DROP(1, 44)});
    REFUSES(graph, SPW_FAULT_BUSY, 3, {OP(0, 0), OP(1, 10), D2H(0, 19), REPLAY(0, 20)});
    spw_graph_destroy(graph);
}

static void dead_tensors_may_come_back_for_a_replay(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 6}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), D2H(0, 10), DROP(0, 14), DROP(1, 10), OP(1, 10), H2D(0, 16), REPLAY(0, 20), OP(2, 30),
                    DROP(0, 30), DROP(1, 40)});
    spw_graph_destroy(graph);
}

/* ---- where tensors start and end ---- */

/* Weights that are read at the beginning and updated at the end. */
static struct spw_graph *weights(void)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(0), T(0)}};
    return TINY_GRAPH(tensors, ops);
}

static void what_starts_on_the_device_ends_there(void **state)
{
    struct spw_graph *graph = weights();
    ACCEPTS(graph, {OP(0, 0), OP(1, 10)});
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), D2H(0, 20), DROP(0, 25), H2D(0, 25)});
    REFUSES(graph, SPW_FAULT_END, 4, {OP(0, 0), OP(1, 10), D2H(0, 20), DROP(0, 25)});
    spw_graph_destroy(graph);
}

static void what_starts_on_the_host_ends_there_and_only_there(void **state)
{
    struct spw_graph *graph = weights();
    const uint8_t on_host[] = {SPW_START_HOST};
    ACCEPTS_FROM(graph, on_host, &TINY_FREE, {H2D(0, 0), OP(0, 5), OP(1, 15), D2H(0, 25), DROP(0, 30)});
    REFUSES_FROM(graph, on_host, &TINY_FREE, SPW_FAULT_MISSING, 0, {OP(0, 5), OP(1, 15)});
    REFUSES_FROM(graph, on_host, &TINY_FREE, SPW_FAULT_END, 4, {H2D(0, 0), OP(0, 5), OP(1, 15), D2H(0, 25)});
    REFUSES_FROM(graph, on_host, &TINY_FREE, SPW_FAULT_END, 4, {H2D(0, 0), OP(0, 5), OP(1, 15), DROP(0, 25)});
    REFUSES_FROM(graph, on_host, &TINY_FREE, SPW_FAULT_END, 3, {H2D(0, 0), OP(0, 5), OP(1, 15)});
    spw_graph_destroy(graph);
}

static void what_starts_clean_ends_clean(void **state)
{
    struct spw_graph *graph = weights();
    const uint8_t clean[] = {SPW_START_CLEAN};
    ACCEPTS_FROM(graph, clean, &TINY_FREE, {DROP(0, 0), H2D(0, 0), OP(0, 5), OP(1, 15), D2H(0, 25)});
    REFUSES_FROM(graph, clean, &TINY_FREE, SPW_FAULT_END, 2, {OP(0, 0), OP(1, 10)});
    REFUSES_FROM(graph, clean, &TINY_FREE, SPW_FAULT_END, 4, {OP(0, 0), OP(1, 10), D2H(0, 20), DROP(0, 25)});
    spw_graph_destroy(graph);
}

static void what_ends_is_at_its_final_version(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 5, .persistent = true}};
    static const struct tiny_op ops[] = {{10, 0, T(0)}, {10, 0, T(0)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    ACCEPTS(graph, {OP(0, 0), OP(1, 10), DROP(0, 20), REPLAY(1, 20)});
    REFUSES(graph, SPW_FAULT_END, 4, {OP(0, 0), OP(1, 10), DROP(0, 20), REPLAY(0, 20)});
    REFUSES(graph, SPW_FAULT_REPLAY, 2, {OP(0, 0), OP(1, 10), REPLAY(0, 20)}); /* it is not dead after its last use */
    spw_graph_destroy(graph);
}

static void nothing_else_is_left_on_the_device(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 5}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    ACCEPTS(graph, {OP(0, 0), DROP(0, 10), DROP(1, 10)});
    REFUSES(graph, SPW_FAULT_END, 2, {OP(0, 0), DROP(0, 10)});
    REFUSES(graph, SPW_FAULT_END, 2, {OP(0, 0), DROP(1, 10)});
    rules.model_s = true; /* which ends with the last operation */
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0)});
    spw_graph_destroy(graph);
}

static void only_evictable_persistent_tensors_start_on_the_host(void **state)
{
    static const struct tiny_tensor tensors[] = {
        {.bytes = 4, .initial = true}, {.bytes = 4, .persistent = true, .fixed = true}, {.bytes = 4, .persistent = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const uint8_t first[] = {SPW_START_HOST, 0, 0}, second[] = {0, SPW_START_CLEAN, 0}, third[] = {0, 0, SPW_START_HOST},
                  unknown[] = {0, 0, SPW_START_CLEAN + 1};
    REFUSES_FROM(graph, first, &TINY_FREE, SPW_FAULT_ORDER, 2, {OP(0, 0), DROP(0, 10)});
    REFUSES_FROM(graph, second, &TINY_FREE, SPW_FAULT_ORDER, 2, {OP(0, 0), DROP(0, 10)});
    REFUSES_FROM(graph, unknown, &TINY_FREE, SPW_FAULT_ORDER, 2, {OP(0, 0), DROP(0, 10)});
    ACCEPTS_FROM(graph, third, &TINY_FREE, {OP(0, 0), DROP(0, 10)});
    struct spw_check_rules rules = TINY_FREE;
    rules.host_bytes = 3;
    REFUSES_FROM(graph, third, &rules, SPW_FAULT_HOST, 2, {OP(0, 0), DROP(0, 10)});
    spw_graph_destroy(graph);
}

/* ---- model S ---- */

static void model_s_replays_only_into_what_is_absent(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 5}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.model_s = true;
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0), DROP(1, 10), REPLAY(0, 10), OP(1, 20)});
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_REPLAY, 1, {OP(0, 0), REPLAY(0, 10), OP(1, 20)});
    ACCEPTS(graph, {OP(0, 0), REPLAY(0, 10), OP(1, 20), DROP(0, 30), DROP(1, 30)});
    spw_graph_destroy(graph);
}

static void model_s_keeps_host_copies(void **state)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 5, .initial = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(1), 0}, {10}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    struct spw_check_rules rules = TINY_FREE;
    rules.host_bytes = 5;
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules,
                 {OP(0, 0), D2H(0, 0), DROP(0, 10), OP(1, 10), D2H(1, 10), OP(2, 20), DROP(1, 20)});
    rules.model_s = true;
    REFUSES_FROM(graph, TINY_ON_DEVICE, &rules, SPW_FAULT_HOST, 4,
                 {OP(0, 0), D2H(0, 0), DROP(0, 10), OP(1, 10), D2H(1, 10), OP(2, 20), DROP(1, 20)});
    /* made again, it counts once */
    ACCEPTS_FROM(graph, TINY_ON_DEVICE, &rules, {OP(0, 0), D2H(0, 0), D2H(0, 4), OP(1, 10), OP(2, 20)});
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_are_of_operations_that_have_run_and_may),
        cmocka_unit_test(replays_read_the_versions_that_were_read),
        cmocka_unit_test(replays_write_nothing_that_is_needed),
        cmocka_unit_test(replays_may_write_over_what_is_dead),
        cmocka_unit_test(updates_in_place_are_replayed_at_the_right_version_only),
        cmocka_unit_test(persistent_tensors_are_not_updated_again),
        cmocka_unit_test(persistent_tensors_may_be_overwritten_with_the_same),
        cmocka_unit_test(side_buffers_are_left_out_of_account_in_replays),
        cmocka_unit_test(tensors_above_the_size_of_side_buffers_are_not_left_out),
        cmocka_unit_test(replays_leave_host_copies_alone),
        cmocka_unit_test(dead_tensors_may_come_back_for_a_replay),
        cmocka_unit_test(what_starts_on_the_device_ends_there),
        cmocka_unit_test(what_starts_on_the_host_ends_there_and_only_there),
        cmocka_unit_test(what_starts_clean_ends_clean),
        cmocka_unit_test(what_ends_is_at_its_final_version),
        cmocka_unit_test(nothing_else_is_left_on_the_device),
        cmocka_unit_test(only_evictable_persistent_tensors_start_on_the_host),
        cmocka_unit_test(model_s_replays_only_into_what_is_absent),
        cmocka_unit_test(model_s_keeps_host_copies),
    };
    return cmocka_run_group_tests_name("check-versions", tests, NULL, NULL);
}
