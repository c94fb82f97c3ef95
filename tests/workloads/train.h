/* train.h - the loop around a model: batches, steps, evaluation, and what a training program prints. */
#ifndef WORKLOADS_TRAIN_H
#define WORKLOADS_TRAIN_H
#include "data.h"
#include "graph.h"
#include "optimizer.h"
#include "options.h"

/* The loss of a batch. */
using model = std::function<variable(graph &, const struct batch &)>;

/* Trains, or checks the gradients if the options say so; returns the program's exit status.
 *
 *     step 3 loss 2.345678 0x40161234         decimal and the bits of the float; steps count from 1
 *     evaluate step 4 loss 2.345678 0x40161234
 *     parameters 0x0123456789abcdef           hash of all parameters, running statistics and optimizer state
 *     step_ms 1.234                           mean by CUDA events, without the first two steps if there are more
 *     step_ms_each 1.501 1.234 ...            from each step's begin to the next one's, if the options ask for it
 *     peak_bytes 12345678                     of the program's own memory blocks */
int train(const struct options &o, parameters &all, optimizer &optimizer, const dataset &data, const model &loss_of);

/* Compares the gradient of every parameter with finite differences on one batch. */
int check_gradients(const struct options &o, parameters &all, const dataset &data, const model &loss_of);
#endif
