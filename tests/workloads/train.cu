/* train.cu - the loop around a model. */
#include "train.h"
#include "noise.h"
#include <stdio.h>
#include <string.h>

/* Host memory for what is read back each step, and the events where steps begin and end. */
struct meter {
    float *losses;
    cudaEvent_t begin[2], end; /* the beginnings of this step and the one before take turns */
    double total_ms = 0;
    int timed = 0;
    std::vector<float> from_begin_to_begin; /* ms */
    std::vector<tensor> kept;               /* losses on the device */

    explicit meter(int count)
    {
        CHECK(cudaHostAlloc((void **)&losses, (size_t)count * sizeof(float), cudaHostAllocDefault));
        for (cudaEvent_t *event : {&begin[0], &begin[1], &end})
            CHECK(cudaEventCreate(event));
    }
    ~meter()
    {
        CHECK(cudaFreeHost(losses));
        for (cudaEvent_t event : {begin[0], begin[1], end})
            CHECK(cudaEventDestroy(event));
    }
};

static void read_back(float *to, const tensor &one_number)
{
    CHECK(cudaMemcpyAsync(to, one_number.data(), sizeof(float), cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
}

static tensor copy_of(const tensor &one_number)
{
    tensor copy(1, 1);
    CHECK(cudaMemcpyAsync(copy.data(), one_number.data(), sizeof(float), cudaMemcpyDeviceToDevice, stream_of(COMPUTE)));
    return copy;
}

static void print_loss(const char *what, int step, float loss)
{
    uint32_t bits;
    memcpy(&bits, &loss, sizeof bits);
    printf("%sstep %d loss %.6f 0x%08x\n", what, step, loss, bits);
    fflush(stdout);
}

static uint64_t hash(uint64_t so_far, const tensor &t)
{
    std::vector<uint32_t> words(t.count());
    CHECK(cudaMemcpy(words.data(), t.data(), t.bytes(), cudaMemcpyDeviceToHost));
    for (uint32_t word : words) {
        so_far = (so_far ^ word) * 0x9e3779b97f4a7c15u;
        so_far ^= so_far >> 29;
    }
    return so_far;
}

static uint64_t hash_all(const parameters &all, const optimizer &optimizer)
{
    uint64_t sum = 0;
    wait_for_device();
    for (const auto &p : all.trained)
        sum = hash(sum, p->value);
    for (const auto &buffer : all.buffers)
        sum = hash(sum, *buffer);
    for (const tensor &t : optimizer.state)
        sum = hash(sum, t);
    return sum;
}

/* One optimizer step; the losses of its batches are on their way to meter.losses. */
static void train_step(const struct options &o, int step, optimizer &optimizer, loader &batches, const model &loss_of,
                       struct meter &meter)
{
    for (int k = 0; k < o.accumulate; k++) {
        bool last = k == o.accumulate - 1;
        struct batch now = batches.take();
        if (!last || step + 1 < o.size.steps)
            batches.start(batch_size(o, last ? step + 1 : step));
        graph g(o, true, (uint64_t)step * (uint64_t)o.accumulate + (uint64_t)k);
        variable loss = loss_of(g, now);
        g.backward(loss, 1.0f / (float)o.accumulate);
        read_back(&meter.losses[k], loss.value);
        if (o.keep_losses)
            meter.kept.push_back(copy_of(loss.value));
    }
    optimizer.step();
}

static float evaluate(const struct options &o, loader &held_out, const model &loss_of, struct meter &meter)
{
    held_out.start(largest_batch(o));
    struct batch now = held_out.take();
    graph g(o, false, 0);
    read_back(meter.losses, loss_of(g, now).value);
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    return meter.losses[0];
}

/* A step's time runs until the next one begins, or the last one ends: whatever comes between counts too. */
static void note_step_time(struct meter &meter, int step, cudaEvent_t until)
{
    float ms;
    CHECK(cudaEventElapsedTime(&ms, meter.begin[step % 2], until));
    meter.from_begin_to_begin.push_back(ms);
}

static void begin_step(const struct options &o, int step, struct meter &meter)
{
    noise_begin_step(o.noise_every && (step + 1) % o.noise_every == 0, o.seed + (uint64_t)step);
    CHECK(cudaEventRecord(meter.begin[step % 2], stream_of(COMPUTE)));
}

static void finish_step(const struct options &o, int step, struct meter &meter)
{
    float ms, loss = 0;
    CHECK(cudaEventRecord(meter.end, stream_of(COMPUTE)));
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    for (int k = 0; k < o.accumulate; k++)
        loss += meter.losses[k];
    print_loss("", step + 1, loss / (float)o.accumulate);
    if (o.step_times && step > 0)
        note_step_time(meter, step - 1, meter.begin[step % 2]);
    CHECK(cudaEventElapsedTime(&ms, meter.begin[step % 2], meter.end));
    if (step >= 2 || o.size.steps <= 2) {
        meter.total_ms += ms;
        meter.timed++;
    }
}

static void print_times(const struct options &o, struct meter &meter)
{
    printf("step_ms %.3f\n", meter.total_ms / meter.timed);
    if (!o.step_times)
        return;
    note_step_time(meter, o.size.steps - 1, meter.end);
    printf("step_ms_each");
    for (float ms : meter.from_begin_to_begin)
        printf(" %.3f", ms);
    printf("\n");
}

int train(const struct options &o, parameters &all, optimizer &optimizer, const dataset &data, const model &loss_of)
{
    if (o.check)
        return check_gradients(o, all, data, loss_of);
    struct meter meter(o.accumulate);
    loader batches(data, largest_batch(o), false);
    std::unique_ptr<loader> held_out;
    if (o.evaluate_every)
        held_out = std::make_unique<loader>(data, largest_batch(o), true);

    if (o.step_times)
        meter.from_begin_to_begin.reserve((size_t)o.size.steps);
    batches.start(batch_size(o, 0));
    for (int step = 0; step < o.size.steps; step++) {
        begin_step(o, step, meter);
        train_step(o, step, optimizer, batches, loss_of, meter);
        finish_step(o, step, meter);
        if (o.evaluate_every && (step + 1) % o.evaluate_every == 0)
            print_loss("evaluate ", step + 1, evaluate(o, *held_out, loss_of, meter));
    }
    printf("parameters 0x%016llx\n", (unsigned long long)hash_all(all, optimizer));
    print_times(o, meter);
    printf("peak_bytes %zu\n", peak_live_bytes());
    return 0;
}
