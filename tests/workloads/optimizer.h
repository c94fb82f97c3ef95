/* optimizer.h - Adam, and stochastic gradient descent with momentum. */
#ifndef WORKLOADS_OPTIMIZER_H
#define WORKLOADS_OPTIMIZER_H
#include "graph.h"

enum rule { ADAM, MOMENTUM };

class optimizer
{
  public:
    /* `several`: a kernel updates many parameters, whose addresses it gets in a struct; the bits are the same. */
    optimizer(parameters &all, enum rule which, float learning_rate, bool several)
        : model(all), rule(which), rate(learning_rate), fused(several)
    {
    }
    /* Moves every parameter against its gradient, and frees the gradients. COMPUTE waits for it. */
    void step();

    /* One or two tensors per parameter, from the first step on. */
    std::vector<tensor> state;

  private:
    void make_state();
    void update_each();
    void update_several();

    parameters &model;
    enum rule rule;
    float rate;
    bool fused;
    int steps = 0;
};
#endif
