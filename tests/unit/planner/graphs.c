/* graphs.c - makes small graphs, and holds plans for them against the checker. */
#include "graphs.h"

#include <errno.h>

#include "plan/check.h"

struct spw_graph *graphs_new(void)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    return graph;
}

static uint32_t add_tensor(struct spw_graph *graph, uint64_t bytes, bool persistent)
{
    const struct spw_graph_tensor tensor = {.id = graph->tensor_count,
                                            .bytes = bytes,
                                            .d2h_us = -1,
                                            .h2d_us = -1,
                                            .alloc_before = UINT32_MAX,
                                            .persistent = persistent,
                                            .evictable = true};
    assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    return graph->tensor_count - 1;
}

uint32_t graphs_tensor(struct spw_graph *graph, uint64_t bytes)
{
    return add_tensor(graph, bytes, false);
}

uint32_t graphs_persistent(struct spw_graph *graph, uint64_t bytes)
{
    return add_tensor(graph, bytes, true);
}

static void lives_at(struct spw_graph *graph, const struct list *list)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct spw_graph_tensor *t = &graph->tensors[list->items[i]];
        if (t->alloc_before == UINT32_MAX)
            t->alloc_before = graph->op_count;
        t->free_after = graph->op_count;
    }
}

uint32_t graphs_op(struct spw_graph *graph, double us, struct list reads, struct list writes)
{
    const struct spw_graph_op op = {.us = us, .replayable = true};
    lives_at(graph, &reads);
    lives_at(graph, &writes);
    assert_int_equal(spw_graph_add_op(graph, &op, reads.items, reads.count, writes.items, writes.count), 0);
    return graph->op_count - 1;
}

void graphs_finish(struct spw_graph *graph)
{
    struct spw_graph_problem problem;
    if (spw_graph_finish(graph, &problem) < 0)
        fail_msg("%s: expected %s", problem.path, problem.expected);
}

/* ---- chains ---- */

static uint64_t vary(const struct chain_kind *kind, uint32_t layer, uint32_t what, uint64_t value)
{
    if (kind->uneven == 0)
        return value;
    uint64_t x = kind->uneven * 0x9e3779b97f4a7c15u + layer * 0xbf58476d1ce4e5b9u + what * 0x94d049bb133111ebu;
    x ^= x >> 31;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    return value ? 1 + value * (x % 16) / 8 : 0;
}

static void add_to(struct list *list, uint32_t tensor)
{
    if (tensor != UINT32_MAX)
        list->items[list->count++] = tensor;
}

static uint32_t tensor_or_none(struct spw_graph *graph, uint64_t bytes)
{
    return bytes ? graphs_tensor(graph, bytes) : UINT32_MAX;
}

struct layer {
    uint32_t input, saved, parameters, gradient;
};

static void add_forward(struct spw_graph *graph, const struct chain_kind *kind, uint32_t i, struct layer *layers)
{
    struct list reads = NOTHING, writes = NOTHING;
    const uint64_t parameters = vary(kind, i, 0, kind->parameter_bytes);
    layers[i].parameters = parameters ? graphs_persistent(graph, parameters) : UINT32_MAX;
    layers[i].saved = tensor_or_none(graph, vary(kind, i, 1, kind->saved_bytes));
    layers[i + 1].input = graphs_tensor(graph, vary(kind, i, 2, kind->activation_bytes));
    add_to(&reads, layers[i].input);
    add_to(&reads, layers[i].parameters);
    add_to(&writes, layers[i].saved);
    add_to(&writes, layers[i + 1].input);
    graphs_op(graph, (double)vary(kind, i, 3, (uint64_t)kind->forward_us), reads, writes);
}

static uint32_t add_backward(struct spw_graph *graph, const struct chain_kind *kind, uint32_t i, struct layer *layers,
                             uint32_t gradient)
{
    struct list reads = NOTHING, writes = NOTHING;
    const uint32_t next = i ? graphs_tensor(graph, graph->tensors[layers[i].input].bytes) : UINT32_MAX;
    layers[i].gradient = UINT32_MAX;
    if (layers[i].parameters != UINT32_MAX)
        layers[i].gradient = graphs_tensor(graph, graph->tensors[layers[i].parameters].bytes);
    add_to(&reads, gradient);
    add_to(&reads, layers[i].input);
    add_to(&reads, layers[i].saved);
    add_to(&reads, layers[i].parameters);
    add_to(&writes, next);
    add_to(&writes, layers[i].gradient);
    graphs_op(graph, (double)vary(kind, i, 4, (uint64_t)kind->backward_us), reads, writes);
    return next;
}

struct spw_graph *graphs_chain(const struct chain_kind *kind)
{
    struct spw_graph *graph = graphs_new();
    struct layer *layers = calloc(kind->layers + 1, sizeof *layers);
    assert_non_null(layers);
    layers[0].input = graphs_tensor(graph, kind->activation_bytes);
    const uint32_t copy = graphs_op(graph, 1, NOTHING, LIST(layers[0].input));
    graph->ops[copy].replayable = false;
    for (uint32_t i = 0; i < kind->layers; i++)
        add_forward(graph, kind, i, layers);
    uint32_t gradient = graphs_tensor(graph, graph->tensors[layers[kind->layers].input].bytes);
    graphs_op(graph, 1, LIST(layers[kind->layers].input), LIST(gradient));
    for (uint32_t i = kind->layers; i-- > 0;)
        gradient = add_backward(graph, kind, i, layers, gradient);
    for (uint32_t i = 0; i < kind->layers; i++) {
        if (layers[i].gradient != UINT32_MAX)
            graphs_op(graph, 1, LIST(layers[i].gradient, layers[i].parameters), LIST(layers[i].parameters));
    }
    free(layers);
    graphs_finish(graph);
    return graph;
}

/* ---- plans ---- */

static void check_plan(const struct spw_plan_request *request, const struct spw_schedule *schedule,
                       struct spw_timing *ret_timing)
{
    double *start_us = calloc(schedule->count + 1, sizeof *start_us);
    struct spw_timed_step *events = calloc(schedule->count + 1, sizeof *events);
    assert_non_null(start_us);
    assert_non_null(events);
    size_t stuck = 0;
    const struct spw_machine machine = {.duplex = 1, .host_bytes = request->host_bytes};
    assert_int_equal(spw_timeline(request->graph, schedule, &machine, request->device_bytes, start_us, ret_timing, &stuck),
                     0);
    for (size_t i = 0; i < schedule->count; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, start_us[i]};
    const struct spw_check_rules rules = {.device_bytes = request->device_bytes,
                                          .host_bytes = request->host_bytes,
                                          .may_copy = request->may_copy,
                                          .may_replay = request->may_replay};
    struct spw_check check;
    assert_int_equal(spw_check_events(request->graph, schedule->start, events, schedule->count, &rules, &check), 0);
    if (check.fault != SPW_FAULT_NONE)
        fail_msg("event %zu: %s", check.event, check.message);
    free(start_us);
    free(events);
}

int graphs_plan(spw_planner_function *make, const struct spw_plan_request *request, struct spw_timing *ret_timing)
{
    struct spw_schedule schedule;
    struct spw_timing timing = {0};
    assert_int_equal(spw_schedule_init(&schedule, request->graph), 0);
    struct spw_plan_request timed = *request; /* as spw_plan_make() has it */
    timed.machine = (struct spw_machine){.host_bytes = request->host_bytes, .duplex = 1};
    const int r = make(&timed, &schedule);
    if (r == 0)
        check_plan(&timed, &schedule, &timing);
    else if (r != -ENOSPC && r != -ENOTSUP)
        fail_msg("the planner answered %d", r);
    spw_schedule_finish(&schedule);
    if (ret_timing)
        *ret_timing = timing;
    return r;
}
