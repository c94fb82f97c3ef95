/* harm.cu - trains a chain of layers, some of them of kinds that are right, and awkward for whoever runs kernels again.
 *
 *     step 3 loss 0x0123456789abcdef     of the gradient that is left at the end of the backward part
 *     persistent 0x0123456789abcdef      of all tensors that live from the first step to the last
 *     peak_bytes 1048576
 *
 * Every bit of these depends on every bit of every tensor that was kept for the backward part. --list names the kinds;
 * README.md tells the options. Exit status: 0; 2 for a bad option; 3 when a CUDA call failed. */
#include "beside.h"
#include "options.h"
#include <stdio.h>

/* next = f(g, all of kept), word by word. */
__global__ void backward_kernel(const uint32_t *g, const uint32_t *kept, size_t nk, uint32_t *next, size_t n)
{
    SPAN (i, n) {
        uint32_t value = g[i];
        for (size_t k = i; k < nk; k += n)
            value = MIXED(value, kept[k]);
        next[i] = value;
    }
}
SIMGPU_FOOTPRINT(backward_kernel, (const uint32_t *g, const uint32_t *kept, size_t nk, uint32_t *next, size_t n), EACH *n,
                 R(g, n), R(kept, nk), W(next, n))

__global__ void digest_kernel(const uint32_t *x, size_t n, unsigned long long *sum)
{
    unsigned long long mine = 0;
    SPAN (i, n) {
        unsigned long long word = (x[i] + 1ull) * (2 * i + 0x9e3779b97f4a7c15u);
        mine += word ^ word >> 29;
    }
    atomicAdd(sum, mine);
}
SIMGPU_FOOTPRINT(digest_kernel, (const uint32_t *x, size_t n, unsigned long long *sum), 10.0 * n, R(x, n), RW(sum, 1))

__global__ void tick_kernel(uint32_t *clock)
{
    clock[0]++;
}
SIMGPU_FOOTPRINT(tick_kernel, (uint32_t * clock), 1.0, RW(clock, 1))

#define BESIDE_PERIOD 8 /* steps between two turns of the thread beside that captures; the other has one in each step */

struct kept {
    words value;
    reader read;
};

class trainer : public training
{
  public:
    explicit trainer(const struct options &o);
    void run_step(int number);
    unsigned long long digest_of_all();

    void keep(const words &value, const reader &read) override
    {
        all_kept.push_back({value, read});
    }
    words persistent(size_t count, uint32_t seed) override;

  private:
    words forward();
    void backward(words gradient);
    unsigned long long digest(const words &x);

    std::vector<words> lasting, weights;
    std::vector<std::unique_ptr<layer>> layers; /* nullptr: plain */
    std::vector<kept> all_kept;
    array<unsigned long long> sum;
    words input;
};

trainer::trainer(const struct options &o) : sum(1, 1)
{
    const uint32_t begin[2] = {0, o.late};
    clock = make(2);
    CHECK(cudaMemcpyAsync(clock.data(), begin, sizeof(begin), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    input = persistent(o.places[0].count, o.seed);
    for (const place &p : o.places) {
        weights.push_back(persistent(p.count, o.seed + 100 + (uint32_t)weights.size()));
        layers.push_back(p.kind ? p.kind->create(*this, p.count) : nullptr);
    }
}

words trainer::persistent(size_t count, uint32_t seed)
{
    lasting.push_back(make(count));
    fill(lasting.back(), seed);
    return lasting.back();
}

words trainer::forward()
{
    words x = make(input.count());
    plain(input, clock, x);
    for (size_t l = 0; l < layers.size(); l++) {
        words y = make(weights[l].count());
        plain(x, weights[l], y);
        x = y;
        if (layers[l])
            x = layers[l]->forward(*this, x);
        else
            keep(x, nullptr);
    }
    return x;
}

/* From the last tensor that was kept to the first; each goes once it was used. */
void trainer::backward(words gradient)
{
    size_t layer = layers.size();
    for (; !all_kept.empty(); all_kept.pop_back()) {
        const struct kept &k = all_kept.back();
        const words value = k.read ? k.read(k.value) : k.value;
        words next = make(gradient.count());
        LAUNCH(backward_kernel, next.count(), gradient.data(), value.data(), value.count(), next.data(), next.count());
        gradient = next;
        if (layer > 0)
            update(weights[--layer], gradient);
    }
    update(input, gradient);
}

unsigned long long trainer::digest(const words &x)
{
    unsigned long long result;
    CHECK(cudaMemsetAsync(sum.data(), 0, sum.bytes(), stream_of(COMPUTE)));
    LAUNCH(digest_kernel, x.count(), x.data(), x.count(), sum.data());
    CHECK(cudaMemcpyAsync(&result, sum.data(), sizeof(result), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    return result;
}

void trainer::run_step(int number)
{
    step = number;
    LAUNCH_BLOCKS(tick_kernel, 1, clock.data());
    words last = forward();
    for (const auto &one : layers)
        if (one)
            one->between(*this);
    backward(last);
    printf("step %d loss 0x%016llx\n", number, digest(input));
    fflush(stdout);
}

unsigned long long trainer::digest_of_all()
{
    unsigned long long all = 0;
    for (const words &one : lasting) {
        all = (all ^ digest(one)) * 0x9e3779b97f4a7c15u;
        all ^= all >> 29;
    }
    return all;
}

int main(int argc, char **argv)
{
    (void)argc;
    const struct options o = read_options(argv);
    device_open(0, 1, o.allocator);
    {
        trainer all(o);
        std::unique_ptr<beside> other;
        const int period = o.beside == CAPTURES ? BESIDE_PERIOD : 1;
        if (o.beside != NOTHING)
            other = std::make_unique<beside>(all, o.places[0].count, o.beside, o.steps / period + 1, period);
        for (int step = 1; step <= o.steps; step++) {
            if (other)
                other->at_step(step);
            all.run_step(step);
        }
        if (other)
            other->end();
        printf("persistent 0x%016llx\n", all.digest_of_all());
        printf("peak_bytes %zu\n", peak_live_bytes());
    }
    device_close();
    return 0;
}
