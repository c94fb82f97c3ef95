/* graph.cu - going back through what was computed. */
#include "graph.h"
#include "elementwise.h"
#include "noise.h"
#include <math.h>

parameter &parameters::weight(const std::string &name, size_t rows, size_t columns, size_t inputs)
{
    trained.push_back(std::make_unique<parameter>(parameter{name, tensor(rows, columns), {}}));
    fill_random(trained.back()->value, sqrtf(3.0f / (float)inputs), seed + trained.size());
    return *trained.back();
}

parameter &parameters::constant(const std::string &name, size_t columns, float value)
{
    trained.push_back(std::make_unique<parameter>(parameter{name, tensor(1, columns), {}}));
    fill(trained.back()->value, value);
    return *trained.back();
}

tensor &parameters::buffer(size_t columns, float value)
{
    buffers.push_back(std::make_unique<tensor>(1, columns));
    fill(*buffers.back(), value);
    return *buffers.back();
}

void graph::on_backward(std::function<void()> step)
{
    if (!training)
        return;
    noise_here();
    steps.push_back(std::move(step));
}

void graph::backward(const variable &loss, float scale)
{
    loss.grad->sum = tensor(1, 1);
    fill(loss.grad->sum, scale);
    while (!steps.empty()) {
        noise_here();
        std::function<void()> step = std::move(steps.back());
        steps.pop_back();
        step();
    }
}

variable result(const tensor &value)
{
    return {value, std::make_shared<gradient>()};
}

variable input(const tensor &value)
{
    return {value, nullptr};
}

tensor take(const std::shared_ptr<gradient> &from)
{
    return std::move(from->sum);
}

void give(const std::shared_ptr<gradient> &to, const tensor &part)
{
    if (!to)
        return;
    if (!to->sum)
        to->sum = part;
    else if (to->sum.alone())
        add_to(to->sum, part);
    else /* someone else still reads what is there */
        to->sum = sum_of(to->sum, part);
}

void give(parameter &to, const tensor &part)
{
    part.used_for(WEIGHTS);
    if (to.grad)
        add_to(to.grad, part, WEIGHTS);
    else
        to.grad = part;
}

void begin_weight_work(std::initializer_list<tensor> needed)
{
    order_after(COMPUTE, WEIGHTS);
    for (const tensor &t : needed)
        t.used_for(WEIGHTS);
}
