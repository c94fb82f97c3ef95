/* optimizer.cu - Adam, and stochastic gradient descent with momentum. */
#include "optimizer.h"
#include "elementwise.h"
#include "launch.h"

/* `rate` already holds the correction for the first steps. */
static ON_DEVICE inline void adam_element(float *value, float grad, float *mean, float *square, float rate,
                                          float square_correction)
{
    *mean = 0.9f * *mean + 0.1f * grad;
    *square = 0.99f * *square + 0.01f * grad * grad;
    *value -= rate * *mean / (sqrtf(*square * square_correction) + 1e-8f);
}

static ON_DEVICE inline void momentum_element(float *value, float grad, float *velocity, float rate)
{
    *velocity = 0.9f * *velocity + grad;
    *value -= rate * *velocity;
}

__global__ void adam_kernel(float *__restrict__ value, const float *__restrict__ grad, float *__restrict__ mean,
                            float *__restrict__ square, float rate, float square_correction, size_t n)
{
    SPAN (i, n)
        adam_element(&value[i], grad[i], &mean[i], &square[i], rate, square_correction);
}
SIMGPU_FOOTPRINT(adam_kernel,
                 (float *value, const float *grad, float *mean, float *square, float rate, float square_correction,
                  size_t n),
                 12.0 * n, RW(value, n), R(grad, n), RW(mean, n), RW(square, n))

__global__ void momentum_kernel(float *__restrict__ value, const float *__restrict__ grad, float *__restrict__ velocity,
                                float rate, size_t n)
{
    SPAN (i, n)
        momentum_element(&value[i], grad[i], &velocity[i], rate);
}
SIMGPU_FOOTPRINT(momentum_kernel, (float *value, const float *grad, float *velocity, float rate, size_t n), 4.0 * n,
                 RW(value, n), R(grad, n), RW(velocity, n))

/* The parameters of a fused launch. */
#define FUSED 16

struct fused {
    int count;
    size_t sizes[FUSED];
    float *values[FUSED], *first[FUSED], *second[FUSED]; /* state: mean and square, or velocity and nothing */
    const float *grads[FUSED];
};

__global__ void fused_adam_kernel(struct fused f, float rate, float square_correction)
{
    for (int k = 0; k < f.count; k++)
        SPAN (i, f.sizes[k])
            adam_element(&f.values[k][i], f.grads[k][i], &f.first[k][i], &f.second[k][i], rate, square_correction);
}

__global__ void fused_momentum_kernel(struct fused f, float rate)
{
    for (int k = 0; k < f.count; k++)
        SPAN (i, f.sizes[k])
            momentum_element(&f.values[k][i], f.grads[k][i], &f.first[k][i], rate);
}

static inline double elements_of(const struct fused &f)
{
    double sum = 0;
    for (int k = 0; k < f.count; k++)
        sum += (double)f.sizes[k];
    return sum;
}

SIMGPU_FOOTPRINT(fused_adam_kernel, (struct fused f, float rate, float square_correction), 12.0 * elements_of(f), [&] {
    for (int k = 0; k < f.count; k++) {
        RW(f.values[k], f.sizes[k]);
        R(f.grads[k], f.sizes[k]);
        RW(f.first[k], f.sizes[k]);
        RW(f.second[k], f.sizes[k]);
    }
}())
SIMGPU_FOOTPRINT(fused_momentum_kernel, (struct fused f, float rate), 4.0 * elements_of(f), [&] {
    for (int k = 0; k < f.count; k++) {
        RW(f.values[k], f.sizes[k]);
        R(f.grads[k], f.sizes[k]);
        RW(f.first[k], f.sizes[k]);
    }
}())

/* Adam's means start at zero: what corrects for that after so many steps. */
static float corrected_rate(float rate, int steps)
{
    return rate / (1.0f - powf(0.9f, steps));
}

static float square_correction(int steps)
{
    return 1.0f / (1.0f - powf(0.99f, steps));
}

void optimizer::make_state()
{
    for (const auto &p : model.trained)
        for (int k = 0; k < (rule == ADAM ? 2 : 1); k++) {
            state.emplace_back(p->value.rows, p->value.columns, UPDATE);
            fill(state.back(), 0, UPDATE);
        }
}

void optimizer::update_each()
{
    for (size_t i = 0; i < model.trained.size(); i++) {
        parameter &p = *model.trained[i];
        const size_t n = p.value.count();
        if (rule == ADAM)
            adam_kernel<<<blocks_for(n), THREADS, 0, stream_of(UPDATE)>>>(
                p.value.data(), p.grad.data(), state[2 * i].data(), state[2 * i + 1].data(), corrected_rate(rate, steps),
                square_correction(steps), n);
        else
            momentum_kernel<<<blocks_for(n), THREADS, 0, stream_of(UPDATE)>>>(p.value.data(), p.grad.data(), state[i].data(),
                                                                              rate, n);
        CHECK_LAUNCH(update_each);
        p.grad = tensor();
    }
}

void optimizer::update_several()
{
    for (size_t first = 0; first < model.trained.size(); first += FUSED) {
        struct fused f = {};
        for (size_t i = first; i < model.trained.size() && i < first + FUSED; i++) {
            const parameter &p = *model.trained[i];
            f.sizes[f.count] = p.value.count();
            f.values[f.count] = p.value.data();
            f.grads[f.count] = p.grad.data();
            f.first[f.count] = rule == ADAM ? state[2 * i].data() : state[i].data();
            f.second[f.count++] = rule == ADAM ? state[2 * i + 1].data() : nullptr;
        }
        const unsigned blocks = blocks_for((size_t)elements_of(f) / f.count);
        if (rule == ADAM)
            fused_adam_kernel<<<blocks, THREADS, 0, stream_of(UPDATE)>>>(f, corrected_rate(rate, steps),
                                                                         square_correction(steps));
        else
            fused_momentum_kernel<<<blocks, THREADS, 0, stream_of(UPDATE)>>>(f, rate);
        CHECK_LAUNCH(update_several);
        for (size_t i = first; i < model.trained.size() && i < first + FUSED; i++)
            model.trained[i]->grad = tensor();
    }
}

void optimizer::step()
{
    order_after(COMPUTE, UPDATE);
    order_after(WEIGHTS, UPDATE);
    if (steps++ == 0)
        make_state();
    for (const auto &p : model.trained) {
        p->value.used_for(UPDATE);
        p->grad.used_for(UPDATE);
    }
    if (fused)
        update_several();
    else
        update_each();
    order_after(UPDATE, COMPUTE);
}
