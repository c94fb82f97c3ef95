/* several.cu - one process that trains on several devices at once, each its own small chain of layers; after each step
 * every device sends the weights of one layer to the next device, which mixes them into its own.
 *
 *     several [--devices N] [--threads] [--layers N] [--steps N] [--kibibytes N]
 *
 * --threads: a thread for each device; otherwise one thread submits for all in turn. Prints a line for each step and device,
 * and how long each step took on device 0. Exit status 3: a CUDA call failed. */
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#ifndef SIMGPU
#define SIMGPU_FOOTPRINT(...)
#endif

static struct {
    int devices = 2, layers = 16, steps = 14, kibibytes = 64;
    bool threads = false;
} o;

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "several: %s: %s\n", call, cudaGetErrorString(error));
    _exit(3);
}
#define CHECK(call) check((call), #call)

/* out = a / 2 + b */
__global__ void mix(float *out, const float *a, const float *b, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = 0.5f * a[i] + b[i];
}
SIMGPU_FOOTPRINT(mix, (float *out, const float *a, const float *b, int n), 100.0 * n, W(out, n), R(a, n), R(b, n))

/* w = w + rate * g */
__global__ void update(float *w, const float *g, float rate, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        w[i] += rate * g[i];
}
SIMGPU_FOOTPRINT(update, (float *w, const float *g, float rate, int n), 100.0 * n, RW(w, n), R(g, n))

/* One device with its layers. */
struct trainer {
    int device, n = o.kibibytes * 1024 / (int)sizeof(float);
    cudaStream_t stream;
    cudaEvent_t done, begin[2];
    std::vector<float *> weights;
    float *received, *loss; /* from the device before; pinned */
    std::vector<uint32_t> losses;
    std::vector<float> step_ms;

    explicit trainer(int number) : device(number)
    {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&done));
        for (cudaEvent_t &event : begin)
            CHECK(cudaEventCreate(&event));
        CHECK(cudaMallocHost((void **)&loss, sizeof *loss));
        received = make();
        std::vector<float> values((size_t)n);
        for (int l = 0; l < o.layers; l++) {
            for (int i = 0; i < n; i++)
                values[(size_t)i] = (float)((i * 31 + l * 17 + device * 7) % 101) / 101.0f;
            weights.push_back(make());
            CHECK(cudaMemcpy(weights.back(), values.data(), bytes(), cudaMemcpyHostToDevice));
        }
    }

    size_t bytes() const
    {
        return (size_t)n * sizeof(float);
    }
    float *make()
    {
        void *p;
        CHECK(cudaMallocAsync(&p, bytes(), stream));
        return (float *)p;
    }
    void drop(float *p)
    {
        CHECK(cudaFreeAsync(p, stream));
    }

    /* Submits a step: forward, backward with updates, and the loss on its way back. */
    void submit(int step)
    {
        CHECK(cudaSetDevice(device));
        CHECK(cudaEventRecord(begin[step % 2], stream));
        std::vector<float *> values = {make()};
        CHECK(cudaMemsetAsync(values[0], 0, bytes(), stream));
        for (float *w : weights) {
            values.push_back(make());
            mix<<<1, 1, 0, stream>>>(values.back(), values[values.size() - 2], w, n);
        }
        float *gradient = make();
        CHECK(cudaMemcpyAsync(gradient, values.back(), bytes(), cudaMemcpyDeviceToDevice, stream));
        CHECK(cudaMemcpyAsync(loss, gradient + n / 2, sizeof *loss, cudaMemcpyDeviceToHost, stream));
        for (size_t l = weights.size(); l-- > 0;) {
            drop(values.back());
            values.pop_back();
            float *next = make();
            mix<<<1, 1, 0, stream>>>(next, gradient, values.back(), n);
            update<<<1, 1, 0, stream>>>(weights[l], gradient, -0.001f, n);
            drop(gradient);
            gradient = next;
        }
        drop(gradient);
        drop(values[0]);
        CHECK(cudaGetLastError());
    }

    void finish(int step)
    {
        float ms;
        uint32_t bits;
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamSynchronize(stream));
        memcpy(&bits, loss, sizeof bits);
        losses.push_back(bits);
        if (step > 0) {
            CHECK(cudaEventElapsedTime(&ms, begin[(step - 1) % 2], begin[step % 2]));
            step_ms.push_back(ms);
        }
    }

    /* Takes what `from` has of this step's layer into its own; on its own stream, behind what `from` has submitted. */
    void receive(struct trainer &from, int step)
    {
        size_t layer = (size_t)step % weights.size();
        CHECK(cudaSetDevice(from.device));
        CHECK(cudaEventRecord(from.done, from.stream));
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamWaitEvent(stream, from.done, 0));
        CHECK(cudaMemcpyPeerAsync(received, device, from.weights[layer], from.device, bytes(), stream));
        update<<<1, 1, 0, stream>>>(weights[layer], received, 0.01f, n);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream)); /* before `from` writes its weights again */
    }

    uint64_t hash()
    {
        std::vector<uint32_t> words((size_t)n);
        uint64_t sum = 0;
        CHECK(cudaSetDevice(device));
        for (float *w : weights) {
            CHECK(cudaMemcpy(words.data(), w, bytes(), cudaMemcpyDeviceToHost));
            for (uint32_t word : words)
                sum = (sum ^ word) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29;
        }
        return sum;
    }

    void close()
    {
        CHECK(cudaSetDevice(device));
        for (float *w : weights)
            drop(w);
        drop(received);
        CHECK(cudaStreamSynchronize(stream));
        for (cudaEvent_t event : {done, begin[0], begin[1]})
            CHECK(cudaEventDestroy(event));
        CHECK(cudaFreeHost(loss));
        CHECK(cudaStreamDestroy(stream));
    }
};

static void step_in_turn(std::vector<trainer> &all, int step)
{
    for (trainer &one : all)
        one.submit(step);
    for (trainer &one : all)
        one.finish(step);
}

static void step_in_threads(std::vector<trainer> &all, int step)
{
    std::vector<std::thread> threads;
    for (trainer &one : all)
        threads.emplace_back([&one, step] {
            one.submit(step);
            one.finish(step);
        });
    for (std::thread &thread : threads)
        thread.join();
}

static void report(std::vector<trainer> &all)
{
    for (trainer &one : all) {
        for (size_t step = 0; step < one.losses.size(); step++)
            printf("step %zu device %d loss 0x%08x\n", step + 1, one.device, one.losses[step]);
        printf("parameters %d 0x%016llx\n", one.device, (unsigned long long)one.hash());
    }
    printf("step_ms_each");
    for (float ms : all[0].step_ms)
        printf(" %.3f", ms);
    printf("\n");
}

static void read_options(char **argv)
{
    const struct {
        const char *name;
        int *to;
    } numbers[] = {{"--devices", &o.devices}, {"--layers", &o.layers}, {"--steps", &o.steps}, {"--kibibytes", &o.kibibytes}};
    for (char **at = argv + 1; *at; at++) {
        bool known = strcmp(*at, "--threads") == 0;
        o.threads = o.threads || known;
        for (const auto &number : numbers)
            if (strcmp(*at, number.name) == 0 && at[1] && (known = true))
                *number.to = atoi(*++at);
        if (!known) {
            fprintf(stderr, "several: what is %s?\n", *at);
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    std::vector<trainer> all;
    all.reserve((size_t)o.devices);
    for (int device = 0; device < o.devices; device++)
        all.emplace_back(device);
    for (int step = 0; step < o.steps; step++) {
        (o.threads ? step_in_threads : step_in_turn)(all, step);
        for (size_t d = 0; d < all.size() && all.size() > 1; d++)
            all[(d + 1) % all.size()].receive(all[d], step);
    }
    report(all);
    for (trainer &one : all)
        one.close();
    return 0;
}
