/* operations.h - what models are made of; each knows its gradient. */
#ifndef WORKLOADS_OPERATIONS_H
#define WORKLOADS_OPERATIONS_H
#include "convolution.h"
#include "elementwise.h"
#include "graph.h"

variable linear(graph &g, const variable &x, parameter &weight, parameter &bias);
/* In place, if the graph is to do that, for a RELU whose input no one else holds: pass it with std::move(). */
variable activate(graph &g, enum activation kind, variable x);
/* Dropout, if the graph is to do that and trains. What was dropped is drawn again on the way back, or noted till then. */
enum way_back { DRAW_AGAIN, NOTE_MASK };
variable dropout(graph &g, const variable &x, enum way_back way);
variable add(graph &g, const variable &a, const variable &b);
variable embed(graph &g, const indices &which, parameter &table);
variable layer_norm(graph &g, const variable &x, parameter &scale, parameter &shift);

/* `qkv` has a row per token: queries, keys and values of all heads; each token sees itself and the earlier ones of its
 * sequence. */
variable causal_attention(graph &g, const variable &qkv, int sequence, int heads);

variable convolve(graph &g, const struct convolution &shape, const variable &x, parameter &weight);
variable batch_norm(graph &g, const variable &x, parameter &scale, parameter &shift, tensor &running_mean,
                    tensor &running_variance);
variable pixel_means(graph &g, const variable &x, int pixels);

struct lstm_state {
    variable output, cell;
};
struct lstm_state lstm_step(graph &g, const variable &x, const struct lstm_state &before, parameter &from_input,
                            parameter &from_output, parameter &bias);

/* `weight` times the mean over the rows of -log of the probability that softmax gives the target. */
variable cross_entropy(graph &g, const variable &scores, const indices &targets, float weight = 1.0f);
#endif
