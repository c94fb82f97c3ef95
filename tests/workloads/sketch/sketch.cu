/* sketch.cu - trains nothing, in the order and the sizes of a net that is trained.
 *
 *     sketch NET [--steps N] [--size X] [--cost X] [--repeat N] [--alloc plain|async] [--step-times]
 *     sketch --list
 *
 * Prints a loss for each step and a hash of all weights as bits, and the times of the steps. Exit status 3: a CUDA call
 * failed. */
#include "sketch.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

[[noreturn]] static void wonder(const char *what)
{
    fprintf(stderr, "sketch: what is %s?\n", what);
    exit(2);
}

static uint32_t read_word(const context &c, const words &what)
{
    CHECK(cudaMemcpyAsync(c.host, what.data(), 4, cudaMemcpyDeviceToHost, stream_of(COMPUTE)));
    CHECK(cudaStreamSynchronize(stream_of(COMPUTE)));
    return c.host[0];
}

static uint32_t hash_of(const context &c, const sketch &s)
{
    words sum = words_of(0.004);
    make(0, 1, {}, sum);
    for (net *n : s.nets)
        for (auto &w : n->all) {
            words next = words_of(0.004);
            make(1, 1, {sum, w->value, w->first, w->second}, next);
            sum = next;
        }
    return read_word(c, sum);
}

static void train(const char *name, context c, int steps, bool step_times)
{
    std::unique_ptr<sketch> s = sketch_named(name, c);
    std::vector<float> times_ms;
    cudaEvent_t begin[2];
    if (!s)
        wonder(name);
    for (cudaEvent_t &event : begin)
        CHECK(cudaEventCreate(&event));
    for (c.step = 0; c.step < steps; c.step++) {
        CHECK(cudaEventRecord(begin[c.step % 2], stream_of(COMPUTE)));
        printf("step %d loss 0x%08x\n", c.step + 1, read_word(c, s->step(c)));
        fflush(stdout);
        if (c.step > 0) {
            float ms;
            CHECK(cudaEventElapsedTime(&ms, begin[(c.step + 1) % 2], begin[c.step % 2]));
            times_ms.push_back(ms);
        }
    }
    printf("parameters 0x%08x\n", hash_of(c, *s));
    printf("step_ms_each");
    for (size_t i = 0; step_times && i < times_ms.size(); i++)
        printf(" %.3f", times_ms[i]);
    printf("\npeak_bytes %zu\n", peak_live_bytes());
    for (cudaEvent_t event : begin)
        CHECK(cudaEventDestroy(event));
}

int main(int argc, char **argv)
{
    context c = {0, 1, 1, 0, nullptr};
    int steps = 7;
    bool step_times = false;
    enum allocator allocator = ALLOCATE_ASYNC;
    if (argc < 2)
        wonder("the net");
    for (int i = 0; strcmp(argv[1], "--list") == 0; i++) {
        if (!sketch_name(i))
            return 0;
        printf("%s\n", sketch_name(i));
    }
    for (char **at = argv + 2; *at; at++)
        if (strcmp(*at, "--step-times") == 0)
            step_times = true;
        else if (!at[1])
            wonder(*at);
        else if (strcmp(*at, "--steps") == 0)
            steps = atoi(*++at);
        else if (strcmp(*at, "--size") == 0)
            c.size = atof(*++at);
        else if (strcmp(*at, "--cost") == 0)
            c.cost = atof(*++at);
        else if (strcmp(*at, "--repeat") == 0)
            c.repeat = atoi(*++at);
        else if (strcmp(*at, "--alloc") == 0)
            allocator = strcmp(*++at, "plain") == 0 ? ALLOCATE_PLAIN : ALLOCATE_ASYNC;
        else
            wonder(*at);
    device_open(0, 1, allocator);
    CHECK(cudaHostAlloc((void **)&c.host, 64 * sizeof(uint32_t), cudaHostAllocDefault));
    train(argv[1], c, steps, step_times);
    CHECK(cudaFreeHost(c.host));
    device_close();
    return 0;
}
