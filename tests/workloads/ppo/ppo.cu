/* ppo.cu - proximal policy optimisation by its memory: many equal steps of a rollout, whose observations are kept, and then
 * minibatches of them, many times as large, each with an update.
 *
 *     ppo [--rollout K] [--batches M] [--environments N] [--rows N] [--layers N] [--width N] [--observations N]
 *         [--steps N] [--keep list|buffer] [--host] [--streams N] [--step-times]
 *
 * A step of the program is K steps of the rollout and M minibatches. --keep: observations stay in tensors of their own until
 * they are put together for the update, or are written into one that stays. --host: the environments are the host's, which
 * is sent the policy's answers and sends observations; otherwise they are computed on the device. The last line but those of
 * times is a hash of all parameters. Exit status 3: a CUDA call failed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise.h"
#include "matmul.h"
#include "operations.h"
#include "optimizer.h"

static const int ACTIONS = 16;

static struct {
    int rollout = 32, batches = 16, environments = 64, rows = 512, layers = 12, width = 64, observations = 256, steps = 12,
        streams = 1;
    bool in_buffer = false, on_host = false, step_times = false;
} o;

static const struct options plain = {};

static uint64_t random_number()
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

/* ---- the policy ---- */

struct layer {
    parameter &weight, &bias, &scale, &shift;

    layer(parameters &p, size_t width)
        : weight(p.weight("weight", width, width, width)), bias(p.constant("bias", width, 0)),
          scale(p.constant("scale", width, 1)), shift(p.constant("shift", width, 0))
    {
    }
    variable forward(graph &g, const variable &x) const
    {
        return add(g, x, activate(g, GELU, layer_norm(g, linear(g, x, weight, bias), scale, shift)));
    }
};

struct policy {
    parameter &entry, &entry_bias, &head, &head_bias;
    std::vector<layer> layers;

    explicit policy(parameters &p)
        : entry(p.weight("entry", (size_t)o.observations, (size_t)o.width, (size_t)o.observations)),
          entry_bias(p.constant("entry.bias", (size_t)o.width, 0)),
          head(p.weight("head", (size_t)o.width, ACTIONS, 4 * (size_t)o.width)),
          head_bias(p.constant("head.bias", ACTIONS, 0))
    {
        for (int i = 0; i < o.layers; i++)
            layers.emplace_back(p, (size_t)o.width);
    }
    variable scores(graph &g, const tensor &observations) const
    {
        variable x = linear(g, input(observations), entry, entry_bias);
        for (const layer &layer : layers)
            x = layer.forward(g, x);
        return linear(g, x, head, head_bias);
    }
};

/* ---- the environments ---- */

struct environments {
    tensor now, dynamics;
    float *sent, *received; /* pinned */

    environments()
        : now((size_t)o.environments, (size_t)o.observations), dynamics((size_t)o.observations, (size_t)o.observations)
    {
        fill_random(now, 1, 7);
        fill_random(dynamics, 0.1f, 8);
        CHECK(cudaHostAlloc((void **)&sent, now.bytes(), cudaHostAllocDefault));
        CHECK(cudaHostAlloc((void **)&received, (size_t)o.environments * ACTIONS * sizeof(float), cudaHostAllocDefault));
    }
    ~environments()
    {
        CHECK(cudaFreeHost(sent));
        CHECK(cudaFreeHost(received));
    }
    void step(const tensor &scores)
    {
        tensor next;
        if (!o.on_host) {
            now = activate(GELU, times(now, dynamics, {}, COMPUTE));
            return;
        }
        CHECK(cudaMemcpyAsync(received, scores.data(), scores.bytes(), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        for (size_t i = 0; i < now.count(); i++)
            sent[i] = received[i % scores.count()] * 0.1f + (float)(random_number() % 1000) / 1000;
        next = tensor(now.rows, now.columns);
        CHECK(cudaMemcpyAsync(next.data(), sent, next.bytes(), cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        now = next;
    }
};

/* ---- what a rollout leaves ---- */

struct rollout {
    std::vector<tensor> list;
    tensor all; /* observations, a row each */

    void keep(int step, const tensor &observations)
    {
        if (!o.in_buffer) {
            list.push_back(observations);
            return;
        }
        if (!all)
            all = tensor((size_t)o.rollout * observations.rows, observations.columns);
        put(step, observations);
    }
    void put_together()
    {
        if (o.in_buffer)
            return;
        all = tensor((size_t)o.rollout * list[0].rows, list[0].columns);
        for (size_t step = 0; step < list.size(); step++)
            put((int)step, list[step]);
        list.clear();
    }
    void end()
    {
        if (!o.in_buffer)
            all = {};
    }

  private:
    void put(int step, const tensor &observations)
    {
        CHECK(cudaMemcpyAsync(all.slice((size_t)step * observations.rows, observations.rows).data(), observations.data(),
                              observations.bytes(), cudaMemcpyDeviceToDevice, stream_of(COMPUTE)));
    }
};

/* ---- a step ---- */

struct choice { /* of rows, in pinned memory */
    int *numbers;

    choice()
    {
        CHECK(cudaHostAlloc((void **)&numbers, 2 * (size_t)o.rows * sizeof(int), cudaHostAllocDefault));
    }
    ~choice()
    {
        CHECK(cudaFreeHost(numbers));
    }
    /* Which ones, and what was done there. */
    void draw(indices *ret_which, indices *ret_actions)
    {
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        for (int i = 0; i < o.rows; i++) {
            numbers[i] = (int)(random_number() % ((uint64_t)o.rollout * (uint64_t)o.environments));
            numbers[o.rows + i] = numbers[i] * 7 % ACTIONS;
        }
        for (indices *part : {ret_which, ret_actions}) {
            *part = indices((size_t)o.rows, 1);
            CHECK(cudaMemcpyAsync(part->data(), numbers + (part == ret_which ? 0 : o.rows), part->bytes(),
                                  cudaMemcpyHostToDevice, stream_of(COMPUTE)));
        }
    }
};

static void roll_out(const policy &policy, environments &environments, rollout &kept)
{
    for (int step = 0; step < o.rollout; step++) {
        graph g(plain, false, 0);
        const tensor observations = environments.now;
        kept.keep(step, observations);
        environments.step(policy.scores(g, observations).value);
    }
    kept.put_together();
}

static void learn(const policy &policy, optimizer &optimizer, rollout &kept, choice &choice, float *loss)
{
    for (int batch = 0; batch < o.batches; batch++) {
        indices which, actions;
        choice.draw(&which, &actions);
        graph g(plain, true, 0);
        variable of = cross_entropy(g, policy.scores(g, gather_rows(kept.all, which)), actions);
        g.backward(of, 1.0f);
        CHECK(cudaMemcpyAsync(loss, of.value.data(), sizeof(float), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
        of = {};
        optimizer.step();
    }
    kept.end();
}

static uint64_t hash_of(const parameters &all)
{
    uint64_t sum = 0;
    wait_for_device();
    for (const auto &p : all.trained) {
        std::vector<uint32_t> words(p->value.count());
        CHECK(cudaMemcpy(words.data(), p->value.data(), p->value.bytes(), cudaMemcpyDeviceToHost));
        for (uint32_t word : words)
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29;
    }
    return sum;
}

static void run()
{
    parameters all(1);
    policy policy(all);
    optimizer adam(all, ADAM, 0.001f, false);
    environments environments;
    rollout kept;
    choice choice;
    float *loss;
    std::vector<float> times_ms;
    cudaEvent_t begin, end;
    CHECK(cudaHostAlloc((void **)&loss, sizeof(*loss), cudaHostAllocDefault));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    for (int step = 0; step < o.steps; step++) {
        float ms;
        uint32_t bits;
        CHECK(cudaEventRecord(begin, stream_of(COMPUTE)));
        roll_out(policy, environments, kept);
        learn(policy, adam, kept, choice, loss);
        CHECK(cudaEventRecord(end, stream_of(COMPUTE)));
        CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        times_ms.push_back(ms);
        memcpy(&bits, loss, sizeof(bits));
        printf("step %d loss %.6f 0x%08x\n", step + 1, *loss, bits);
    }
    printf("parameters 0x%016llx\n", (unsigned long long)hash_of(all));
    printf("step_ms_each");
    for (size_t step = 0; o.step_times && step < times_ms.size(); step++)
        printf(" %.3f", times_ms[step]);
    printf("\n");
    CHECK(cudaFreeHost(loss));
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

/* ---- the command line ---- */

[[noreturn]] static void wonder(const char *option)
{
    fprintf(stderr, "ppo: what is %s?\n", option);
    exit(2);
}

static bool read_number(const char *name, const char *value)
{
    const struct {
        const char *name;
        int *to;
    } numbers[] = {{"--rollout", &o.rollout}, {"--batches", &o.batches}, {"--environments", &o.environments},
                   {"--rows", &o.rows},       {"--layers", &o.layers},   {"--width", &o.width},
                   {"--steps", &o.steps},     {"--streams", &o.streams}, {"--observations", &o.observations}};
    for (const auto &number : numbers)
        if (value && strcmp(name, number.name) == 0) {
            *number.to = atoi(value);
            return *number.to > 0;
        }
    return false;
}

static void read_options(char **argv)
{
    for (char **at = argv + 1; *at; at++)
        if (strcmp(*at, "--host") == 0)
            o.on_host = true;
        else if (strcmp(*at, "--step-times") == 0)
            o.step_times = true;
        else if (strcmp(*at, "--keep") == 0 && at[1])
            o.in_buffer = strcmp(*++at, "buffer") == 0;
        else if (read_number(*at, at[1]))
            at++;
        else
            wonder(*at);
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    device_open(0, o.streams, ALLOCATE_ASYNC);
    run();
    device_close();
    return 0;
}
