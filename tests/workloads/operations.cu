/* operations.cu - what models are made of; each knows its gradient.
 *
 * A step back holds what it needs and nothing else: the values it saved, and the places of gradients, never a value for
 * its gradient's sake. Gradients of parameters are computed on WEIGHTS, so that they may overlap with the way back. */
#include "operations.h"
#include "cell.h"
#include "dropout.h"
#include "matmul.h"
#include "normalize.h"
#include "softmax.h"
#include <math.h>

variable linear(graph &g, const variable &x, parameter &weight, parameter &bias)
{
    variable y = result(times(x.value, weight.value, bias.value, COMPUTE));
    g.on_backward([&weight, &bias, saved = x.value, dx = x.grad, from = y.grad] {
        tensor dy = take(from);
        begin_weight_work({dy, saved});
        give(weight, transposed_times(saved, dy, WEIGHTS));
        give(bias, column_sums(dy, WEIGHTS));
        if (dx)
            give(dx, times_transposed(dy, weight.value, COMPUTE));
    });
    return y;
}

/* What goes back through GELU is computed from its input, so that stays; RELU's own output does. */
variable activate(graph &g, enum activation kind, variable x)
{
    const bool over_input = g.in_place && kind == RELU && x.value.alone();
    if (over_input)
        relu_in_place(x.value);
    variable y = result(over_input ? x.value : activate(kind, x.value));
    g.on_backward([kind, in_place = g.in_place, saved = kind == RELU ? y.value : x.value, dx = x.grad, from = y.grad] {
        tensor dy = take(from);
        if (in_place && dy.alone()) {
            activation_gradient_in_place(kind, saved, dy);
            give(dx, dy);
        } else {
            give(dx, activation_gradient(kind, saved, dy));
        }
    });
    return y;
}

variable dropout(graph &g, const variable &x, enum way_back way)
{
    if (g.dropout == 0)
        return x;
    const struct drawing d = {g.dropout, g.seed, g.draw(x.value.count())};
    mask noted;
    variable y = result(way == NOTE_MASK ? drop(d, x.value, &noted) : drop(d, x.value));
    g.on_backward([d, noted, dx = x.grad, from = y.grad] {
        tensor dy = take(from);
        give(dx, noted ? drop_gradient(d, noted, dy) : drop(d, dy));
    });
    return y;
}

variable add(graph &g, const variable &a, const variable &b)
{
    variable y = result(sum_of(a.value, b.value));
    g.on_backward([da = a.grad, db = b.grad, from = y.grad] {
        tensor dy = take(from);
        give(da, dy);
        give(db, dy);
    });
    return y;
}

variable embed(graph &g, const indices &which, parameter &table)
{
    variable y = result(gather_rows(table.value, which));
    g.on_backward([which, &table, from = y.grad] {
        tensor dy = take(from);
        begin_weight_work({dy});
        which.used_for(WEIGHTS);
        give(table, gather_rows_gradient(dy, which, table.value.rows, WEIGHTS));
    });
    return y;
}

variable layer_norm(graph &g, const variable &x, parameter &scale, parameter &shift)
{
    struct statistics s;
    variable y = result(layer_normalize(x.value, scale.value, shift.value, &s));
    g.on_backward([s, &scale, &shift, saved = x.value, dx = x.grad, from = y.grad] {
        tensor dy = take(from), dscale, dshift;
        begin_weight_work({dy, saved, s.mean, s.inverse_deviation});
        normalize_parameter_gradients(dy, saved, s, false, &dscale, &dshift, WEIGHTS);
        give(scale, dscale);
        give(shift, dshift);
        give(dx, layer_normalize_input_gradient(dy, saved, scale.value, s));
    });
    return y;
}

/* The shapes of attention's products. One head of one sequence is a matrix within each tensor: in qkv, and in the
 * attended values, a token's row holds all heads; weights and scores are one matrix after the other. */
struct attention {
    int sequences, sequence, heads, width; /* width: of one head */

    struct layout in_qkv() const
    {
        return {3L * heads * width, 1, 3L * heads * width * sequence, width};
    }
    struct layout in_values() const
    {
        return {(long)heads * width, 1, (long)heads * width * sequence, width};
    }
    struct layout in_weights() const
    {
        return {sequence, 1, (long)heads * sequence * sequence, (long)sequence * sequence};
    }
    const float *part(const tensor &qkv, int which) const
    {
        return qkv.data() + which * heads * width;
    }
    /* Each head's m x k times k x n. */
    struct product product(int n, int k, float alpha, struct layout a, struct layout b, struct layout c) const
    {
        return {sequence, n, k, sequences, heads, alpha, 0, a, b, c};
    }
};

static struct layout transposed(struct layout l)
{
    return {l.column, l.row, l.outer, l.inner};
}

enum { QUERY, KEY, VALUE };

static tensor attention_weights(const struct attention &a, const tensor &qkv)
{
    tensor scores((size_t)a.sequences * a.heads * a.sequence, a.sequence);
    multiply(
        a.product(a.sequence, a.width, 1.0f / sqrtf((float)a.width), a.in_qkv(), transposed(a.in_qkv()), a.in_weights()),
        a.part(qkv, QUERY), a.part(qkv, KEY), nullptr, scores.data(), COMPUTE);
    return causal_softmax(scores);
}

static tensor attention_gradient(const struct attention &a, const tensor &qkv, const tensor &weights, const tensor &dy)
{
    tensor dqkv(qkv.rows, qkv.columns), dweights(weights.rows, weights.columns);
    float *to = dqkv.data();
    int part = a.heads * a.width;
    float scale = 1.0f / sqrtf((float)a.width);

    multiply(a.product(a.width, a.sequence, 1.0f, transposed(a.in_weights()), a.in_values(), a.in_qkv()), weights.data(),
             dy.data(), nullptr, to + VALUE * part, COMPUTE);
    multiply(a.product(a.sequence, a.width, 1.0f, a.in_values(), transposed(a.in_qkv()), a.in_weights()), dy.data(),
             a.part(qkv, VALUE), nullptr, dweights.data(), COMPUTE);
    tensor dscores = causal_softmax_gradient(weights, dweights);
    dweights = tensor();
    multiply(a.product(a.width, a.sequence, scale, a.in_weights(), a.in_qkv(), a.in_qkv()), dscores.data(), a.part(qkv, KEY),
             nullptr, to + QUERY * part, COMPUTE);
    multiply(a.product(a.width, a.sequence, scale, transposed(a.in_weights()), a.in_qkv(), a.in_qkv()), dscores.data(),
             a.part(qkv, QUERY), nullptr, to + KEY * part, COMPUTE);
    return dqkv;
}

variable causal_attention(graph &g, const variable &qkv, int sequence, int heads)
{
    int width = (int)qkv.value.columns / 3;
    struct attention a = {(int)qkv.value.rows / sequence, sequence, heads, width / heads};
    tensor weights = attention_weights(a, qkv.value), values(qkv.value.rows, width);
    multiply(a.product(a.width, sequence, 1.0f, a.in_weights(), a.in_qkv(), a.in_values()), weights.data(),
             a.part(qkv.value, VALUE), nullptr, values.data(), COMPUTE);
    variable y = result(values);
    g.on_backward([a, weights, saved = qkv.value, dqkv = qkv.grad, from = y.grad] {
        give(dqkv, attention_gradient(a, saved, weights, take(from)));
    });
    return y;
}

variable convolve(graph &g, const struct convolution &shape, const variable &x, parameter &weight)
{
    variable y = result(convolve(shape, x.value, weight.value));
    g.on_backward([shape, &weight, saved = x.value, dx = x.grad, from = y.grad] {
        tensor dy = take(from);
        begin_weight_work({dy, saved});
        give(weight, convolution_weight_gradient(shape, dy, saved, WEIGHTS));
        if (dx)
            give(dx, convolution_input_gradient(shape, dy, weight.value));
    });
    return y;
}

variable batch_norm(graph &g, const variable &x, parameter &scale, parameter &shift, tensor &running_mean,
                    tensor &running_variance)
{
    struct statistics s = g.training ? batch_statistics(x.value, running_mean, running_variance)
                                     : running_statistics(running_mean, running_variance);
    variable y = result(batch_normalize(x.value, scale.value, shift.value, s));
    g.on_backward([s, &scale, &shift, saved = x.value, dx = x.grad, from = y.grad] {
        tensor dy = take(from), dscale, dshift;
        normalize_parameter_gradients(dy, saved, s, true, &dscale, &dshift, COMPUTE);
        give(dx, batch_normalize_input_gradient(dy, saved, scale.value, s, dscale, dshift));
        begin_weight_work({dscale, dshift});
        give(scale, dscale);
        give(shift, dshift);
    });
    return y;
}

variable pixel_means(graph &g, const variable &x, int pixels)
{
    variable y = result(pixel_means(x.value, pixels));
    g.on_backward([pixels, dx = x.grad, from = y.grad] { give(dx, pixel_means_gradient(take(from), pixels)); });
    return y;
}

struct lstm_state lstm_step(graph &g, const variable &x, const struct lstm_state &before, parameter &from_input,
                            parameter &from_output, parameter &bias)
{
    const tensor &cell_before = before.cell.value;
    tensor gates = times(x.value, from_input.value, bias.value, COMPUTE);
    add_times(gates, before.output.value, from_output.value, COMPUTE);
    variable cell = result(tensor(cell_before.rows, cell_before.columns)),
             output = result(tensor(cell.value.rows, cell.value.columns));
    lstm_cell(gates, cell_before, cell.value, output.value);

    g.on_backward([gates, &from_input, &from_output, &bias, saved_x = x.value, saved_output = before.output.value,
                   cell_before, saved_cell = cell.value, dx = x.grad, dbefore = before.output.grad,
                   dcell_before = before.cell.grad, from = output.grad, from_cell = cell.grad] {
        tensor dgates(gates.rows, gates.columns), dcell(cell_before.rows, cell_before.columns);
        lstm_cell_gradient(gates, cell_before, saved_cell, take(from), take(from_cell), dgates, dcell);
        begin_weight_work({dgates, saved_x, saved_output});
        give(from_input, transposed_times(saved_x, dgates, WEIGHTS));
        give(from_output, transposed_times(saved_output, dgates, WEIGHTS));
        give(bias, column_sums(dgates, WEIGHTS));
        give(dcell_before, dcell);
        if (dx)
            give(dx, times_transposed(dgates, from_input.value, COMPUTE));
        if (dbefore)
            give(dbefore, times_transposed(dgates, from_output.value, COMPUTE));
    });
    return {output, cell};
}

variable cross_entropy(graph &g, const variable &scores, const indices &targets, float weight)
{
    tensor logs = log_softmax(scores.value);
    variable y = result(mean_loss(logs, targets, weight));
    g.on_backward([logs, targets, weight, dscores = scores.grad, from = y.grad] {
        give(dscores, mean_loss_gradient(logs, targets, weight, take(from)));
    });
    return y;
}
