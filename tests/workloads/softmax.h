/* softmax.h - attention's softmax, and the classification loss. */
#ifndef WORKLOADS_SOFTMAX_H
#define WORKLOADS_SOFTMAX_H
#include "array.h"

/* Row r is position r % columns of its sequence; it shares its weight among columns 0 … r % columns. */
tensor causal_softmax(const tensor &scores);
tensor causal_softmax_gradient(const tensor &weights, const tensor &dweights);

tensor log_softmax(const tensor &scores);
/* -weight times the mean of each row's element `targets` of log_likelihood. One element. */
tensor mean_loss(const tensor &log_likelihood, const indices &targets, float weight);
/* The gradient of both together; `dloss` has one element. */
tensor mean_loss_gradient(const tensor &log_likelihood, const indices &targets, float weight, const tensor &dloss);
#endif
