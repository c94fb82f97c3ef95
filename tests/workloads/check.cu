/* check.cu - compares gradients with finite differences.
 *
 * Each parameter is moved along one direction: half its own gradient, so that the loss changes as much as it can, and half
 * random, so that elements whose gradient is wrongly zero are moved, too. */
#include "dropout.h"
#include "elementwise.h"
#include "random.h"
#include "train.h"
#include <math.h>
#include <stdio.h>

#define TOLERANCE 0.02 /* relative */

static float loss_at(const struct options &o, const struct batch &b, const model &loss_of)
{
    float loss;
    graph g(o, true, 0);
    variable at = loss_of(g, b);
    wait_for_device();
    CHECK(cudaMemcpy(&loss, at.value.data(), sizeof loss, cudaMemcpyDeviceToHost));
    return loss;
}

static std::vector<float> numbers_of(const tensor &t)
{
    std::vector<float> numbers(t.count());
    wait_for_device();
    CHECK(cudaMemcpy(numbers.data(), t.data(), t.bytes(), cudaMemcpyDeviceToHost));
    return numbers;
}

static double length_of(const std::vector<float> &v)
{
    double sum = 0;
    for (float x : v)
        sum += (double)x * x;
    return sqrt(sum);
}

/* The loss with the parameter moved by `distance` along the direction. */
static float moved_loss(const struct options &o, const tensor &value, const std::vector<float> &from,
                        const std::vector<float> &direction, double distance, const struct batch &b, const model &loss_of)
{
    std::vector<float> moved(from);
    for (size_t i = 0; i < moved.size(); i++)
        moved[i] += (float)(distance * direction[i]);
    CHECK(cudaMemcpy(value.data(), moved.data(), value.bytes(), cudaMemcpyHostToDevice));
    return loss_at(o, b, loss_of);
}

/* How fast the loss changes along the direction. */
static double slope(const struct options &o, const tensor &value, const std::vector<float> &from,
                    const std::vector<float> &direction, double distance, const struct batch &b, const model &loss_of)
{
    double ahead = moved_loss(o, value, from, direction, distance, b, loss_of);
    return (ahead - moved_loss(o, value, from, direction, -distance, b, loss_of)) / (2 * distance);
}

/* A long distance crosses kinks of the model, over a short one floats lose the difference: a right gradient is found in
 * between. */
static bool check_parameter(const struct options &o, const parameter &p, const struct batch &b, const model &loss_of)
{
    std::vector<float> value = numbers_of(p.value), grad = numbers_of(p.grad), direction(grad);
    double length = length_of(grad), expected = 0, other;
    uint64_t state = 1;
    for (float &x : direction) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        x = (float)((double)(state >> 40) / (1 << 23) - 1.0);
    }
    other = length_of(direction);
    for (size_t i = 0; i < grad.size(); i++) {
        direction[i] = (float)(direction[i] / other + (length > 0 ? grad[i] / length : 0));
        expected += (double)direction[i] * grad[i];
    }
    bool good = false;
    double distance = fmin(0.01, 0.005 / (length + 1e-9)), found = 0;
    for (int i = 0; i < 4 && !good; i++, distance /= 4) {
        found = slope(o, p.value, value, direction, distance, b, loss_of);
        good = fabs(found - expected) <= TOLERANCE * fabs(expected) + 1e-4;
    }
    CHECK(cudaMemcpy(p.value.data(), value.data(), p.value.bytes(), cudaMemcpyHostToDevice));
    printf("%s %s: gradient %.6f, finite difference %.6f\n", good ? "ok" : "WRONG", p.name.c_str(), expected, found);
    return good;
}

/* Dropout against the host: what is dropped is zero, the rest is as much larger, both ways drop the same, about as much as
 * was asked for. */
static bool check_dropout(const struct options &o)
{
    const struct drawing d = {o.dropout, o.seed, 12345};
    tensor x(256, 128);
    mask noted;
    fill_random(x, 1, o.seed);
    const std::vector<float> from = numbers_of(x), drawn = numbers_of(drop(d, x)), again = numbers_of(drop(d, x, &noted)),
                             back = numbers_of(drop_gradient(d, noted, x));
    size_t dropped = 0, different = 0;
    for (size_t i = 0; i < from.size(); i++) {
        const bool gone = random_unit(d.seed, d.first + i) < d.share;
        const float expected = gone ? 0.0f : from[i] * (1.0f / (1.0f - d.share));
        dropped += gone;
        different += drawn[i] != expected || again[i] != expected || back[i] != expected;
    }
    const double share = (double)dropped / (double)from.size();
    const bool good = different == 0 && fabs(share - d.share) < 0.02;
    printf("%s dropout: %.3f dropped of %.3f, %zu numbers differ\n", good ? "ok" : "WRONG", share, d.share, different);
    return good;
}

int check_gradients(const struct options &o, parameters &all, const dataset &data, const model &loss_of)
{
    loader batches(data, largest_batch(o), false);
    int wrong = o.dropout > 0 && !check_dropout(o);
    batches.start(largest_batch(o));
    struct batch b = batches.take();
    {
        graph g(o, true, 0);
        variable loss = loss_of(g, b);
        g.backward(loss, 1.0f);
    }
    for (const auto &p : all.trained)
        wrong += !check_parameter(o, *p, b, loss_of);
    for (const auto &p : all.trained)
        p->grad = tensor();
    printf("%zu parameters checked, %d wrong\n", all.trained.size(), wrong);
    return wrong != 0;
}
