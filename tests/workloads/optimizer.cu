/* optimizer.cu - Adam, and stochastic gradient descent with momentum. */
#include "optimizer.h"
#include "elementwise.h"
#include "launch.h"

/* `rate` already holds the correction for the first steps. */
__global__ void adam_kernel(float *__restrict__ value, const float *__restrict__ grad, float *__restrict__ mean,
                            float *__restrict__ square, float rate, float square_correction, size_t n)
{
    SPAN (i, n) {
        mean[i] = 0.9f * mean[i] + 0.1f * grad[i];
        square[i] = 0.99f * square[i] + 0.01f * grad[i] * grad[i];
        value[i] -= rate * mean[i] / (sqrtf(square[i] * square_correction) + 1e-8f);
    }
}
SIMGPU_FOOTPRINT(adam_kernel,
                 (float *value, const float *grad, float *mean, float *square, float rate, float square_correction,
                  size_t n),
                 12.0 * n, RW(value, n), R(grad, n), RW(mean, n), RW(square, n))

__global__ void momentum_kernel(float *__restrict__ value, const float *__restrict__ grad, float *__restrict__ velocity,
                                float rate, size_t n)
{
    SPAN (i, n) {
        velocity[i] = 0.9f * velocity[i] + grad[i];
        value[i] -= rate * velocity[i];
    }
}
SIMGPU_FOOTPRINT(momentum_kernel, (float *value, const float *grad, float *velocity, float rate, size_t n), 4.0 * n,
                 RW(value, n), R(grad, n), RW(velocity, n))

static void update_adam(const parameter &p, const tensor &mean, const tensor &square, float rate, int steps)
{
    size_t n = p.value.count();
    adam_kernel<<<blocks_for(n), THREADS, 0, stream_of(UPDATE)>>>(p.value.data(), p.grad.data(), mean.data(), square.data(),
                                                                  rate / (1.0f - powf(0.9f, steps)),
                                                                  1.0f / (1.0f - powf(0.99f, steps)), n);
    CHECK_LAUNCH(adam_kernel);
}

static void update_momentum(const parameter &p, const tensor &velocity, float rate)
{
    size_t n = p.value.count();
    momentum_kernel<<<blocks_for(n), THREADS, 0, stream_of(UPDATE)>>>(p.value.data(), p.grad.data(), velocity.data(), rate,
                                                                      n);
    CHECK_LAUNCH(momentum_kernel);
}

void optimizer::step()
{
    size_t each = rule == ADAM ? 2 : 1;
    steps++;
    order_after(COMPUTE, UPDATE);
    order_after(WEIGHTS, UPDATE);
    for (size_t i = 0; i < model.trained.size(); i++) {
        parameter &p = *model.trained[i];
        for (size_t k = 0; k < each && steps == 1; k++) {
            state.emplace_back(p.value.rows, p.value.columns, UPDATE);
            fill(state.back(), 0, UPDATE);
        }
        p.value.used_for(UPDATE);
        p.grad.used_for(UPDATE);
        if (rule == ADAM)
            update_adam(p, state[2 * i], state[2 * i + 1], rate, steps);
        else
            update_momentum(p, state[i], rate);
        p.grad = tensor();
    }
    order_after(UPDATE, COMPUTE);
}
