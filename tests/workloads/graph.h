/* graph.h - differentiation: each operation of the forward pass leaves behind how to go back through it.
 *
 * What an operation saves lives until the step back through it is done, a gradient until it was used: the memory of a
 * training step grows through the forward pass and shrinks through the backward pass, as in any framework. */
#ifndef WORKLOADS_GRAPH_H
#define WORKLOADS_GRAPH_H
#include "array.h"
#include "options.h"
#include <functional>
#include <string>
#include <vector>

/* Where the gradient of one value is summed. */
struct gradient {
    tensor sum; /* none: zero */
};

/* A value of the computation. Copies are the same value. */
struct variable {
    tensor value;
    std::shared_ptr<gradient> grad; /* none: no one wants the gradient, as for the program's input */
};

struct parameter {
    std::string name;
    tensor value;
    tensor grad; /* summed over backward passes, on role WEIGHTS; the optimizer takes it away */
};

/* All parameters of a model, and what it keeps beside them (running statistics), in the order in which they were made. */
class parameters
{
  public:
    explicit parameters(uint64_t first_seed) : seed(first_seed)
    {
    }
    /* Random with a limit that suits `inputs` summands. */
    parameter &weight(const std::string &name, size_t rows, size_t columns, size_t inputs);
    parameter &constant(const std::string &name, size_t columns, float value);
    /* Saved with the model, but not trained. */
    tensor &buffer(size_t columns, float value);

    std::vector<std::unique_ptr<parameter>> trained;
    std::vector<std::unique_ptr<tensor>> buffers;

  private:
    uint64_t seed;
};

class graph
{
  public:
    /* `training`: false computes values only, and uses running statistics. `pass` numbers what is trained on: each pass
     * draws random numbers of its own, always the same ones. */
    graph(const struct options &o, bool is_training, uint64_t pass)
        : training(is_training), in_place(o.in_place), dropout(is_training ? o.dropout : 0), seed((o.seed + 1) * 1000003),
          next_random(pass << 40)
    {
    }
    /* Notes how to go back through the operation that made what the step takes gradients from. */
    void on_backward(std::function<void()> step);
    /* Goes back from `loss`, whose own gradient is `scale`, and forgets all steps. */
    void backward(const variable &loss, float scale);

    /* The next `count` random numbers of this pass begin at the answer. */
    uint64_t draw(size_t count)
    {
        next_random += count;
        return next_random - count;
    }

    const bool training, in_place;
    const float dropout;
    const uint64_t seed;

  private:
    uint64_t next_random;
    std::vector<std::function<void()>> steps;
};

variable result(const tensor &value); /* of an operation */
variable input(const tensor &value);  /* from outside */

/* The gradient that has come together for a value; none if it had no influence. It is gone from there afterwards. */
tensor take(const std::shared_ptr<gradient> &from);
/* Adds to a value's gradient; computed on COMPUTE. */
void give(const std::shared_ptr<gradient> &to, const tensor &part);
/* Adds to a parameter's gradient; computed on WEIGHTS. */
void give(parameter &to, const tensor &part);

/* Lets work on WEIGHTS begin that uses `needed`, which COMPUTE has made. */
void begin_weight_work(std::initializer_list<tensor> needed);
#endif
