/* replay.cu - trains with layers of many kinds of kernels, and sees for itself whether what its backward part reads is what
 * its forward part made.
 *
 *     step 3 loss 0.123456 0x3dfcd6e9        mean square of the last layer's output
 *     parameters 0x0123456789abcdef          of all that was kept in any step and is the same in every run, and all weights
 *     calls 16                               that layers of kind counter have counted
 *     unstable: 2                            tensors that were not, when they were read again, what they had been
 *     unstable clock 2                       by kind
 *     step_ms, step_ms_each, peak_bytes      as the training programs print them
 *
 * Exit status: 0; 1 when a tensor was unstable or the count of calls is wrong; 2 for a bad option; 3 when a CUDA call
 * failed. */
#include "choices.h"
#include "elementwise.h"
#include "sums.h"
#include <map>
#include <stdio.h>
#include <string.h>
#include <string>

#define GLOBALS_CHANGE_EVERY 3 /* steps, between the two parts */
#define KEPT_PER_LAYER       2 /* at most */

/* A tensor that the forward part has made for the backward part. */
struct kept {
    tensor value;
    size_t layer;
    bool exact;
    producer again; /* none, unless it is to be made anew naively */
};

/* What the device says of one step, in pinned memory: two sums for each tensor kept, and the last output's. */
struct findings {
    unsigned long long *sums;
    float *squares; /* by column */
};

class trainer : public forward_part
{
  public:
    explicit trainer(const struct choices &c);
    ~trainer() override;
    void step(int number);
    /* Of the step before, once the device has done it. */
    void look_at_findings(int number);
    /* Prints what all steps came to; whether nothing was wrong. */
    bool finish();

    void keep(const tensor &value, bool exact, const producer &again) override;

  private:
    tensor forward(int number);
    void backward(const tensor &output);

    const struct choices &choices;
    std::vector<tensor> weights, gradients;
    array<unsigned long long> sums;
    struct findings findings;
    size_t layer = 0; /* that is being computed */
    std::vector<kept> all;
    std::vector<std::pair<size_t, bool>> order; /* layer and whether exact, of what this step has kept */
    std::vector<unsigned> unstable;             /* by layer */
    unsigned long long fingerprint = 0;
    unsigned counters_launched = 0;
};

trainer::trainer(const struct choices &c)
    : forward_part(c.rows, c.columns, c.seed), choices(c), sums(c.layers.size() * KEPT_PER_LAYER, 2),
      unstable(c.layers.size())
{
    for (size_t i = 0; i < c.layers.size(); i++) {
        weights.emplace_back(1, columns);
        fill_random(weights.back(), 2, c.seed + i + 1);
    }
    gradients.resize(c.layers.size());
    CHECK(cudaHostAlloc((void **)&findings.sums, sums.bytes(), cudaHostAllocDefault));
    CHECK(cudaHostAlloc((void **)&findings.squares, columns * sizeof(float), cudaHostAllocDefault));
    change_globals(0);
}

trainer::~trainer()
{
    CHECK(cudaFreeHost(findings.sums));
    CHECK(cudaFreeHost(findings.squares));
    if (told)
        CHECK(cudaFreeHost(told));
}

void trainer::keep(const tensor &value, bool exact, const producer &again)
{
    take_sum(value, sums.data() + 2 * all.size());
    order.emplace_back(layer, exact);
    all.push_back({value, layer, exact, choices.naive ? again : nullptr});
}

tensor trainer::forward(int number)
{
    tensor x = output();
    this->number = number;
    fill_random(x, 1, choices.seed + 1000 + (uint64_t)number);
    for (layer = 0; layer < choices.layers.size(); layer++) {
        x = choices.layers[layer]->compute(*this, weights[layer], x);
        counters_launched += !strcmp(choices.layers[layer]->name, "counter");
    }
    return x;
}

/* From the last tensor that was kept to the first; each is freed once it was used. */
void trainer::backward(const tensor &last)
{
    tensor gradient = last;
    for (; !all.empty(); all.pop_back()) {
        struct kept &k = all.back();
        if (k.again) {
            k.value = output();
            fill(k.value, 0.75f);
            k.again(k.value);
        }
        take_sum(k.value, sums.data() + 2 * (all.size() - 1) + 1);
        if (!k.exact)
            continue;
        tensor part = column_sums(product_of(gradient, k.value), COMPUTE);
        if (gradients[k.layer])
            add_to(gradients[k.layer], part);
        else
            gradients[k.layer] = part;
        gradient = mixed(gradient, k.value);
    }
}

void trainer::step(int number)
{
    CHECK(cudaMemsetAsync(sums.data(), 0, sums.bytes(), stream_of(COMPUTE)));
    order.clear();
    {
        tensor last = forward(number);
        tensor squares = column_sums(product_of(last, last), COMPUTE);
        CHECK(
            cudaMemcpyAsync(findings.squares, squares.data(), squares.bytes(), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        if (number % GLOBALS_CHANGE_EVERY == GLOBALS_CHANGE_EVERY - 1)
            change_globals(number);
        backward(last);
    }
    for (size_t i = 0; i < weights.size(); i++)
        if (gradients[i])
            update(weights[i], gradients[i], rows);
    for (tensor &gradient : gradients)
        gradient = tensor();
    CHECK(cudaMemcpyAsync(findings.sums, sums.data(), sums.bytes(), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
}

static unsigned long long mixed_in(unsigned long long so_far, unsigned long long bits)
{
    so_far = (so_far ^ bits) * 0x9e3779b97f4a7c15u;
    return so_far ^ so_far >> 29;
}

void trainer::look_at_findings(int number)
{
    double squares = 0;
    for (size_t c = 0; c < columns; c++)
        squares += (double)findings.squares[c];
    float loss = (float)(squares / (double)(rows * columns));
    uint32_t bits;
    memcpy(&bits, &loss, sizeof bits);
    printf("step %d loss %.6f 0x%08x\n", number + 1, (double)loss, bits);
    fflush(stdout);
    for (size_t i = 0; i < order.size(); i++) {
        unstable[order[i].first] += findings.sums[2 * i] != findings.sums[2 * i + 1];
        if (order[i].second)
            fingerprint = mixed_in(mixed_in(fingerprint, findings.sums[2 * i]), findings.sums[2 * i + 1]);
    }
}

bool trainer::finish()
{
    std::vector<uint32_t> words(columns);
    wait_for_device();
    for (const tensor &w : weights) {
        CHECK(cudaMemcpy(words.data(), w.data(), w.bytes(), cudaMemcpyDeviceToHost));
        for (uint32_t word : words)
            fingerprint = mixed_in(fingerprint, word);
    }
    const unsigned calls = calls_counted();
    std::map<std::string, unsigned> by_kind;
    unsigned total = 0;
    for (size_t i = 0; i < unstable.size(); i++) {
        by_kind[choices.layers[i]->name] += unstable[i];
        total += unstable[i];
    }
    printf("parameters 0x%016llx\ncalls %u\nunstable: %u\n", fingerprint, calls, total);
    for (const auto &kind : by_kind)
        if (kind.second)
            printf("unstable %s %u\n", kind.first.c_str(), kind.second);
    return total == 0 && (choices.naive || calls == counters_launched);
}

/* From each step's begin to the next one's. */
struct clockwork {
    std::vector<cudaEvent_t> events;

    void note()
    {
        events.emplace_back();
        CHECK(cudaEventCreate(&events.back()));
        CHECK(cudaEventRecord(events.back(), stream_of(COMPUTE)));
    }
    void print(bool each) const
    {
        const size_t steps = events.size() - 1, from = steps > 2 ? 2 : 0;
        float ms;
        CHECK(cudaEventElapsedTime(&ms, events[from], events[steps]));
        printf("step_ms %.3f\n", (double)ms / (double)(steps - from));
        for (size_t i = 0; i < steps && each; i++) {
            CHECK(cudaEventElapsedTime(&ms, events[i], events[i + 1]));
            printf("%s %.3f", i ? "" : "step_ms_each", (double)ms);
        }
        printf(each ? "\n" : "");
    }
    ~clockwork()
    {
        for (cudaEvent_t event : events)
            CHECK(cudaEventDestroy(event));
    }
};

int main(int argc, char **argv)
{
    struct choices c = read_choices(argc, argv);
    bool good;
    device_open(c.device, c.streams, c.allocator);
    {
        trainer all(c);
        clockwork times;
        times.note();
        for (int number = 0; number < c.steps; number++) {
            all.step(number);
            times.note();
            CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
            all.look_at_findings(number);
        }
        good = all.finish();
        times.print(c.step_times);
        printf("peak_bytes %zu\n", peak_live_bytes());
    }
    device_close();
    return good ? 0 : 1;
}
