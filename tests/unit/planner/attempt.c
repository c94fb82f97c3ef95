/* attempt.c - composes choices and holds what comes of it against the checker. */
#include "attempt.h"

#include <stdio.h>

#include "plan/timeline.h"

enum { MOST_STEPS = 64 };

struct attempt attempt(struct spw_graph *graph, uint64_t device_bytes)
{
    assert_in_range(spw_choice_count(graph), 1, sizeof((struct attempt *)NULL)->choices);
    return (struct attempt){.request = {.graph = graph,
                                        .device_bytes = device_bytes,
                                        .host_bytes = UINT64_MAX,
                                        .may_copy = true,
                                        .may_replay = true,
                                        .machine = {.duplex = 1}}};
}

void attempt_finish(struct attempt *a)
{
    spw_graph_destroy((struct spw_graph *)a->request.graph);
}

uint8_t *behind(struct attempt *a, uint32_t tensor, uint32_t number)
{
    const struct spw_graph_tensor *t = &a->request.graph->tensors[tensor];
    assert_true(number < t->use_count);
    return &a->choices[t->first_use + number];
}

uint8_t *behind_last(struct attempt *a, uint32_t tensor)
{
    return behind(a, tensor, a->request.graph->tensors[tensor].use_count - 1);
}

uint8_t *head(struct attempt *a, uint32_t tensor)
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

void attempt_compose(struct attempt *a, const char *steps)
{
    char text[16 * MOST_STEPS] = "";
    size_t length = 0;
    assert_int_equal(compose(a), 0);
    for (size_t i = 0; i < a->schedule.count; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s%u", i ? " " : "",
                                   spw_step_name(a->schedule.steps[i].kind), a->schedule.steps[i].id);
    assert_string_equal(text, steps);
    check(a);
}

void expect(struct attempt *a, const char *steps)
{
    attempt_compose(a, steps);
    spw_schedule_finish(&a->schedule);
}

void expect_none(struct attempt *a, uint32_t op)
{
    assert_int_equal(compose(a), -ENOSPC);
    assert_int_equal(a->composed.op, op);
    spw_schedule_finish(&a->schedule);
}

/* ---- graphs ---- */

struct spw_graph *there_and_back(bool input_stays)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0}, {10, T(1) | (input_stays ? T(0) : 0), 0}};
    return TINY_GRAPH(tensors, ops);
}

struct spw_graph *tight(bool input_stays)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}};
    const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(1) | (input_stays ? T(0) : 0), 0}};
    return TINY_GRAPH(tensors, ops);
}

struct spw_graph *line(void)
{
    static const struct tiny_tensor tensors[] = {{10, .initial = true}, {10}, {10}, {10}};
    static const struct tiny_op ops[] = {
        {10, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), T(3)}, {10, T(3), 0}, {10, T(0) | T(2), 0}};
    return TINY_GRAPH(tensors, ops);
}
