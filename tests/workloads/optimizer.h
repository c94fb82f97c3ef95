/* optimizer.h - Adam, and stochastic gradient descent with momentum. */
#ifndef WORKLOADS_OPTIMIZER_H
#define WORKLOADS_OPTIMIZER_H
#include "graph.h"

enum rule { ADAM, MOMENTUM };

class optimizer
{
  public:
    optimizer(parameters &all, enum rule which, float learning_rate) : model(all), rule(which), rate(learning_rate)
    {
    }
    /* Moves every parameter against its gradient, and frees the gradients. COMPUTE waits for it. */
    void step();

    /* One or two tensors per parameter, from the first step on. */
    std::vector<tensor> state;

  private:
    parameters &model;
    enum rule rule;
    float rate;
    int steps = 0;
};
#endif
