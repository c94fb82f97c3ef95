/* random-iteration.c - makes up iterations. */
#include "random-iteration.h"

#include "plan/random.h"

enum { MOST_TOUCHED = 8, MOST_LAYERS = 64 };

struct maker {
    struct spw_graph *graph;
    uint64_t random;
};

struct touched { /* what an operation reads or writes; each tensor once */
    uint32_t tensors[MOST_TOUCHED], count;
};

static bool happens(struct maker *m, double probability)
{
    return spw_random_fraction(&m->random) < probability;
}

static uint32_t below(struct maker *m, uint32_t limit)
{
    return (uint32_t)spw_random_below(&m->random, limit);
}

/* Most are larger than what a replay leaves out of account, some are below it, and some have no size. */
static uint64_t some_bytes(struct maker *m)
{
    const double kind = spw_random_fraction(&m->random);
    if (kind < 0.04)
        return 0;
    return kind < 0.15 ? 1 + below(m, SPW_SIDE_BUFFER_BYTES) : SPW_SIDE_BUFFER_BYTES + 1 + below(m, 1000000);
}

static double some_us(struct maker *m)
{
    return happens(m, 0.06) ? 0 : happens(m, 0.5) ? 1 + below(m, 100) : 200 * spw_random_fraction(&m->random);
}

/* ---- tensors and operations ---- */

static uint32_t add_tensor(struct maker *m, uint64_t bytes, bool is_persistent, bool is_initial)
{
    const bool has_times = happens(m, 0.1);
    const struct spw_graph_tensor tensor = {.id = 1000 + m->graph->tensor_count,
                                            .bytes = bytes,
                                            .d2h_us = has_times ? some_us(m) : -1,
                                            .h2d_us = has_times ? some_us(m) : -1,
                                            .alloc_before = UINT32_MAX,
                                            .persistent = is_persistent,
                                            .initial = is_initial,
                                            .evictable = !happens(m, 0.06)};
    assert_int_equal(spw_graph_add_tensor(m->graph, &tensor), 0);
    return m->graph->tensor_count - 1;
}

static uint32_t add_value(struct maker *m)
{
    return add_tensor(m, some_bytes(m), false, false);
}

static void touch(struct touched *touched, uint32_t tensor)
{
    for (uint32_t i = 0; i < touched->count; i++)
        if (touched->tensors[i] == tensor)
            return;
    if (tensor != SPW_NO_INDEX && touched->count < MOST_TOUCHED)
        touched->tensors[touched->count++] = tensor;
}

static void lives_at(struct maker *m, const struct touched *touched)
{
    for (uint32_t i = 0; i < touched->count; i++) {
        struct spw_graph_tensor *t = &m->graph->tensors[touched->tensors[i]];
        if (t->alloc_before == UINT32_MAX)
            t->alloc_before = t->initial ? 0 : m->graph->op_count;
        t->free_after = m->graph->op_count;
    }
}

static void add_op(struct maker *m, double replayable, const struct touched *reads, const struct touched *writes)
{
    const struct spw_graph_op op = {.us = some_us(m), .replayable = happens(m, replayable)};
    lives_at(m, reads);
    lives_at(m, writes);
    assert_int_equal(spw_graph_add_op(m->graph, &op, reads->tensors, reads->count, writes->tensors, writes->count), 0);
}

/* Some are allocated a little before their first use, and freed a little after their last. */
static void lengthen_lives(struct maker *m)
{
    for (uint32_t i = 0; i < m->graph->tensor_count; i++) {
        struct spw_graph_tensor *t = &m->graph->tensors[i];
        if (t->alloc_before == UINT32_MAX) /* nobody uses it */
            t->alloc_before = t->free_after = t->initial ? 0 : below(m, m->graph->op_count);
        if (happens(m, 0.1))
            t->alloc_before -= t->alloc_before > 0;
        if (happens(m, 0.1))
            t->free_after += below(m, m->graph->op_count - t->free_after);
    }
}

/* ---- a training step ---- */

struct layer {
    uint32_t input, output, saved, weight, state, statistics, gradient; /* SPW_NO_INDEX: it has none */
    uint32_t skipped;                                                   /* an earlier layer, whose input is added */
};

static uint32_t add_if(struct maker *m, double probability, uint64_t bytes, bool is_persistent)
{
    return happens(m, probability) ? add_tensor(m, bytes, is_persistent, false) : SPW_NO_INDEX;
}

static void add_forward(struct maker *m, struct layer *layer, uint32_t index)
{
    const uint64_t weight_bytes = some_bytes(m);
    struct touched reads = {.count = 0}, writes = {.count = 0};
    layer->weight = add_if(m, 0.7, weight_bytes, true);
    layer->state = layer->weight == SPW_NO_INDEX ? SPW_NO_INDEX : add_if(m, 0.5, weight_bytes, true);
    layer->gradient = layer->weight == SPW_NO_INDEX ? SPW_NO_INDEX : add_tensor(m, weight_bytes, happens(m, 0.3), false);
    layer->saved = add_if(m, 0.4, some_bytes(m), false);
    layer->statistics = add_if(m, 0.2, 1 + below(m, 2000), true);
    layer->skipped = index > 1 && happens(m, 0.3) ? below(m, index - 1) : SPW_NO_INDEX;
    layer->output = add_value(m);
    touch(&reads, layer->input);
    touch(&reads, layer->weight);
    touch(&reads, layer->statistics);
    touch(&writes, layer->output);
    touch(&writes, layer->saved);
    touch(&writes, layer->statistics);
    add_op(m, 0.92, &reads, &writes);
}

/* Adds an earlier input, or an activation function that works in place. */
static void add_afterthought(struct maker *m, const struct layer *layers, uint32_t index)
{
    struct touched reads = {.count = 0}, writes = {.count = 0};
    if (layers[index].skipped == SPW_NO_INDEX && !happens(m, 0.3))
        return;
    touch(&reads, layers[index].output);
    if (layers[index].skipped != SPW_NO_INDEX)
        touch(&reads, layers[layers[index].skipped].input);
    touch(&writes, layers[index].output);
    add_op(m, 0.95, &reads, &writes);
}

/* `given`: the gradient of the layer's output. The result is that of its input. */
static uint32_t add_backward(struct maker *m, const struct layer *layer, uint32_t given)
{
    const uint32_t made = happens(m, 0.1) ? given : add_value(m);
    struct touched reads = {.count = 0}, writes = {.count = 0};
    touch(&reads, given);
    touch(&reads, layer->weight);
    touch(&reads, layer->saved);
    touch(&reads, happens(m, 0.7) ? layer->input : layer->output);
    touch(&writes, made);
    if (happens(m, 0.6))
        touch(&writes, layer->gradient);
    add_op(m, 0.9, &reads, &writes);
    if (layer->gradient == SPW_NO_INDEX || writes.count > 1)
        return made;
    struct touched second = {.count = 0}; /* the gradient of the weight by itself; added to what is there, if it stays */
    writes.count = 0;
    touch(&second, given);
    touch(&second, layer->input);
    if (m->graph->tensors[layer->gradient].persistent && happens(m, 0.5))
        touch(&second, layer->gradient);
    touch(&writes, layer->gradient);
    add_op(m, 0.9, &second, &writes);
    return made;
}

static void add_update(struct maker *m, const struct layer *layer)
{
    struct touched reads = {.count = 0}, writes = {.count = 0};
    if (layer->weight == SPW_NO_INDEX)
        return;
    touch(&reads, layer->gradient);
    touch(&reads, layer->weight);
    touch(&reads, layer->state);
    touch(&writes, layer->weight);
    touch(&writes, layer->state);
    add_op(m, 0.5, &reads, &writes);
}

static void make_training(struct maker *m, uint32_t most_layers)
{
    struct layer layers[MOST_LAYERS];
    const uint32_t count = 1 + below(m, most_layers < MOST_LAYERS ? most_layers : MOST_LAYERS);
    const bool updates_at_once = happens(m, 0.3), loads = happens(m, 0.4);
    uint32_t value = add_tensor(m, some_bytes(m), false, !loads);
    if (loads) {
        struct touched nothing = {.count = 0}, writes = {.tensors = {value}, .count = 1};
        add_op(m, 0, &nothing, &writes);
    }
    for (uint32_t i = 0; i < count; i++) {
        layers[i].input = value;
        add_forward(m, &layers[i], i);
        add_afterthought(m, layers, i);
        value = layers[i].output;
    }
    struct touched reads = {.tensors = {value}, .count = 1}, writes = {.count = 0};
    uint32_t gradient = add_value(m);
    touch(&writes, gradient);
    touch(&writes, add_if(m, 0.5, 4, false)); /* the loss itself */
    add_op(m, 0.9, &reads, &writes);
    for (uint32_t i = count; i-- > 0;) {
        gradient = add_backward(m, &layers[i], gradient);
        if (updates_at_once)
            add_update(m, &layers[i]);
    }
    for (uint32_t i = 0; i < count && !updates_at_once; i++)
        add_update(m, &layers[i]);
}

/* ---- any program ---- */

static void make_any(struct maker *m, uint32_t most_layers)
{
    const uint32_t ops = 1 + below(m, 4 * most_layers), given = below(m, 5);
    for (uint32_t i = 0; i < given; i++) {
        const bool is_persistent = happens(m, 0.6);
        (void)add_tensor(m, some_bytes(m), is_persistent, !is_persistent);
    }
    for (uint32_t i = 0; i < ops; i++) {
        struct touched reads = {.count = 0}, writes = {.count = 0};
        for (uint32_t k = below(m, 4); k > 0 && m->graph->tensor_count; k--)
            touch(&reads, below(m, m->graph->tensor_count));
        for (uint32_t k = below(m, 3); k > 0; k--) /* of those that there are, some are read too */
            touch(&writes, m->graph->tensor_count && happens(m, 0.3) ? below(m, m->graph->tensor_count) : add_value(m));
        add_op(m, 0.85, &reads, &writes);
    }
}

struct spw_graph *random_iteration(uint64_t seed, uint32_t most_layers)
{
    struct maker m = {.random = seed};
    struct spw_graph_problem problem;
    const double bytes_per_us = 100 * (double)(1u << below(&m, 12));
    assert_int_equal(spw_graph_create(bytes_per_us, bytes_per_us * (0.5 + spw_random_fraction(&m.random)), &m.graph), 0);
    if (happens(&m, 0.75))
        make_training(&m, most_layers);
    else
        make_any(&m, most_layers);
    lengthen_lives(&m);
    if (spw_graph_finish(m.graph, &problem) < 0)
        fail_msg("seed %llu: %s: expected %s", (unsigned long long)seed, problem.path, problem.expected);
    return m.graph;
}
