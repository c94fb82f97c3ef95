/* random-graph.c - writes a random forward, the backward that belongs to it, and the updates. */
#include "random-graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

enum { MOST_LAYERS = 40, MOST_TOUCHED = 8, NONE = UINT32_MAX };

struct maker {
    uint64_t state;
    struct spw_graph *graph;
    uint32_t layers;
    uint32_t activation[MOST_LAYERS + 1], saved[MOST_LAYERS], parameters[MOST_LAYERS], gradient[MOST_LAYERS];
};

/* One operation in the making. */
struct touches {
    uint32_t reads[MOST_TOUCHED], writes[MOST_TOUCHED], read_count, write_count;
};

uint32_t random_below(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 11) % below;
}

static bool one_in(struct maker *m, uint32_t count)
{
    return random_below(&m->state, count) == 0;
}

static uint32_t add_tensor(struct maker *m, bool persistent)
{
    struct spw_graph_tensor tensor = {.id = m->graph->tensor_count,
                                      .d2h_us = -1,
                                      .h2d_us = -1,
                                      .alloc_before = NONE,
                                      .persistent = persistent,
                                      .evictable = !one_in(m, 20)};
    if (!one_in(m, 10)) /* a few are larger than a side buffer */
        tensor.bytes = 1 + random_below(&m->state, 1000) * (one_in(m, 3) ? 200ull : 1);
    assert_int_equal(spw_graph_add_tensor(m->graph, &tensor), 0);
    return m->graph->tensor_count - 1;
}

static void read(struct touches *touches, uint32_t tensor)
{
    for (uint32_t i = 0; i < touches->read_count; i++) {
        if (touches->reads[i] == tensor)
            return;
    }
    if (tensor != NONE)
        touches->reads[touches->read_count++] = tensor;
}

static void write(struct touches *touches, uint32_t tensor)
{
    if (tensor != NONE)
        touches->writes[touches->write_count++] = tensor;
}

static void live_here(struct maker *m, uint32_t tensor)
{
    struct spw_graph_tensor *t = &m->graph->tensors[tensor];
    if (t->alloc_before == NONE)
        t->alloc_before = t->initial ? 0 : m->graph->op_count;
    t->free_after = m->graph->op_count;
}

static void add_op(struct maker *m, const struct touches *touches)
{
    const struct spw_graph_op op = {.us = one_in(m, 8) ? 0 : 1 + random_below(&m->state, 100), .replayable = !one_in(m, 15)};
    for (uint32_t i = 0; i < touches->read_count; i++)
        live_here(m, touches->reads[i]);
    for (uint32_t i = 0; i < touches->write_count; i++)
        live_here(m, touches->writes[i]);
    assert_int_equal(
        spw_graph_add_op(m->graph, &op, touches->reads, touches->read_count, touches->writes, touches->write_count), 0);
}

static void add_forward(struct maker *m, uint32_t i)
{
    struct touches touches = {0};
    m->parameters[i] = i && one_in(m, 8) ? m->parameters[random_below(&m->state, i)]
                       : one_in(m, 2)    ? add_tensor(m, true)
                                         : NONE;
    m->saved[i] = one_in(m, 3) ? NONE : add_tensor(m, false);
    const bool in_place = i && one_in(m, 5);
    m->activation[i + 1] = in_place ? m->activation[i] : add_tensor(m, false);
    read(&touches, m->activation[i]);
    read(&touches, m->parameters[i]);
    if (i > 2 && one_in(m, 4))
        read(&touches, m->activation[random_below(&m->state, i)]);
    write(&touches, m->activation[i + 1]);
    write(&touches, m->saved[i]);
    add_op(m, &touches);
    if (one_in(m, 10)) { /* an activation function in place */
        touches = (struct touches){.reads = {m->activation[i + 1]}, .writes = {m->activation[i + 1]}, 1, 1};
        add_op(m, &touches);
    }
}

static void add_update(struct maker *m, uint32_t i)
{
    struct touches touches = {0};
    if (m->gradient[i] == NONE)
        return;
    read(&touches, m->gradient[i]);
    read(&touches, m->parameters[i]);
    write(&touches, m->parameters[i]);
    add_op(m, &touches);
    m->gradient[i] = NONE;
}

static uint32_t add_backward(struct maker *m, uint32_t i, uint32_t gradient)
{
    struct touches touches = {0};
    const uint32_t next = one_in(m, 4) ? gradient : add_tensor(m, false);
    m->gradient[i] = m->parameters[i] == NONE ? NONE : add_tensor(m, false);
    read(&touches, gradient);
    if (!one_in(m, 3))
        read(&touches, m->activation[i]);
    read(&touches, m->saved[i]);
    read(&touches, m->parameters[i]);
    write(&touches, next);
    write(&touches, m->gradient[i]);
    add_op(m, &touches);
    if (one_in(m, 6))
        add_update(m, i);
    return next;
}

struct spw_graph *random_graph(uint64_t seed)
{
    struct maker m = {.state = seed * 0x9e3779b97f4a7c15u + 1};
    for (int i = 0; i < 5; i++)
        (void)random_below(&m.state, 2);
    const double out = 1 + random_below(&m.state, 20), in = 1 + random_below(&m.state, 20);
    assert_int_equal(spw_graph_create(out, in, &m.graph), 0);
    m.layers = 2 + random_below(&m.state, MOST_LAYERS - 1);
    m.activation[0] = add_tensor(&m, false);
    struct touches touches = {.writes = {m.activation[0]}, .write_count = 1};
    if (one_in(&m, 2))
        m.graph->tensors[m.activation[0]].initial = true;
    else
        add_op(&m, &touches);
    for (uint32_t i = 0; i < m.layers; i++)
        add_forward(&m, i);
    uint32_t gradient = add_tensor(&m, false);
    touches = (struct touches){.reads = {m.activation[m.layers]}, .writes = {gradient}, 1, 1};
    add_op(&m, &touches);
    for (uint32_t i = m.layers; i-- > 0;)
        gradient = add_backward(&m, i, gradient);
    for (uint32_t i = 0; i < m.layers; i++)
        add_update(&m, i);
    struct spw_graph_problem problem;
    if (spw_graph_finish(m.graph, &problem) < 0)
        fail_msg("seed %llu: %s: expected %s", (unsigned long long)seed, problem.path, problem.expected);
    return m.graph;
}
