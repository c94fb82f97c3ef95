/* tiny.c - makes a graph of a few lines. */
#include "tiny.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

static struct spw_graph_tensor tensor_of(const struct tiny_tensor *tiny, uint32_t index, const struct tiny_op *ops,
                                         uint32_t op_count)
{
    struct spw_graph_tensor tensor = {.id = index,
                                      .bytes = tiny->bytes,
                                      .d2h_us = -1,
                                      .h2d_us = -1,
                                      .persistent = tiny->persistent,
                                      .initial = tiny->initial,
                                      .evictable = !tiny->fixed};
    bool is_used = false;
    for (uint32_t op = 0; op < op_count; op++) {
        if (!((ops[op].reads | ops[op].writes) & T(index)))
            continue;
        tensor.alloc_before = is_used || tiny->initial ? tensor.alloc_before : op;
        tensor.free_after = op;
        is_used = true;
    }
    return tensor;
}

static uint32_t list_of(uint32_t set, uint32_t list[32])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 32; i++)
        if (set & T(i))
            list[count++] = i;
    return count;
}

struct spw_graph *tiny_graph(const struct tiny_tensor *tensors, uint32_t tensor_count, const struct tiny_op *ops,
                             uint32_t op_count)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    for (uint32_t i = 0; i < tensor_count; i++) {
        const struct spw_graph_tensor tensor = tensor_of(&tensors[i], i, ops, op_count);
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
    for (uint32_t i = 0; i < op_count; i++) {
        const struct spw_graph_op op = {.us = ops[i].us, .replayable = !ops[i].fixed};
        uint32_t reads[32], writes[32];
        const uint32_t read_count = list_of(ops[i].reads, reads), write_count = list_of(ops[i].writes, writes);
        assert_int_equal(spw_graph_add_op(graph, &op, reads, read_count, writes, write_count), 0);
    }
    struct spw_graph_problem problem;
    if (spw_graph_finish(graph, &problem) != 0)
        fail_msg("%s: expected %s", problem.path, problem.expected);
    return graph;
}

struct spw_graph *tiny_two_layers(void)
{
    static const struct tiny_tensor tensors[] = {{.bytes = 4, .initial = true}, {.bytes = 8}, {.bytes = 6}, {.bytes = 2}};
    static const struct tiny_op ops[] = {{10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(1) | T(3), 0}};
    return TINY_GRAPH(tensors, ops);
}
const struct spw_check_rules TINY_FREE = {
    .device_bytes = 1000, .host_bytes = UINT64_MAX, .may_replay = true, .may_copy = true};
const uint8_t TINY_ON_DEVICE[32];

struct spw_check tiny_check(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events,
                            size_t count, const struct spw_check_rules *rules)
{
    struct spw_check result;
    assert_int_equal(spw_check_events(graph, start, events, count, rules, &result), 0);
    return result;
}

void tiny_expect(const struct spw_graph *graph, const uint8_t *start, const struct spw_timed_step *events, size_t count,
                 const struct spw_check_rules *rules, enum spw_fault fault, size_t event)
{
    const struct spw_check result = tiny_check(graph, start, events, count, rules);
    if (result.fault != fault || (fault != SPW_FAULT_NONE && result.event != event))
        fail_msg("expected %s at event %zu, found %s at event %zu: %s", spw_fault_name(fault), event,
                 spw_fault_name(result.fault), result.event, result.message);
}
