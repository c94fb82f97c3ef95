/* several.cu - one process that trains on several devices at once, each its own small chain of layers; after each step
 * every device sends the weights of one layer to the next device, which mixes them into its own.
 *
 *     several [--nets N] [--threads] [--layers N] [--steps N] [--kibibytes N]
 *
 * Each net has a device of its own. --threads: a thread for each device; otherwise one thread submits for all in turn.
 * Prints a line for each step and device, and how long each step took on device 0. Exit status 3: a CUDA call failed. */
#include <thread>

#include "nets.h"

static bool in_threads;

static int on_device(int number)
{
    CHECK(cudaSetDevice(number));
    return number;
}

struct trainer : net {
    cudaEvent_t done, begin[2];
    float *received; /* from the device before */
    std::vector<uint32_t> losses;
    std::vector<float> step_ms;

    explicit trainer(int device) : net(on_device(device)), received(make(stream))
    {
        CHECK(cudaEventCreate(&done));
        for (cudaEvent_t &event : begin)
            CHECK(cudaEventCreate(&event));
    }

    void submit_step(int step)
    {
        on_device(number);
        CHECK(cudaEventRecord(begin[step % 2], stream));
        submit();
    }

    void finish_step(int step)
    {
        float ms;
        on_device(number);
        losses.push_back(finish());
        if (step > 0) {
            CHECK(cudaEventElapsedTime(&ms, begin[(step - 1) % 2], begin[step % 2]));
            step_ms.push_back(ms);
        }
    }

    /* Takes what `from` has of this step's layer into its own; on its own stream, behind what `from` has submitted. */
    void receive(struct trainer &from, int step)
    {
        size_t layer = (size_t)step % weights.size();
        on_device(from.number);
        CHECK(cudaEventRecord(from.done, from.stream));
        on_device(number);
        CHECK(cudaStreamWaitEvent(stream, from.done, 0));
        CHECK(cudaMemcpyPeerAsync(received, number, from.weights[layer], from.number, tensor_bytes(), stream));
        update<<<1, 1, 0, stream>>>(weights[layer], received, 0.01f, n);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream)); /* before `from` writes its weights again */
    }

    uint64_t hash()
    {
        std::vector<uint32_t> words((size_t)n);
        uint64_t sum = 0;
        on_device(number);
        for (float *w : weights) {
            CHECK(cudaMemcpy(words.data(), w, tensor_bytes(), cudaMemcpyDeviceToHost));
            for (uint32_t word : words)
                sum = (sum ^ word) * 0x9e3779b97f4a7c15u, sum ^= sum >> 29;
        }
        return sum;
    }

    void close_all()
    {
        on_device(number);
        CHECK(cudaFreeAsync(received, stream));
        close();
        for (cudaEvent_t event : {done, begin[0], begin[1]})
            CHECK(cudaEventDestroy(event));
    }
};

static void step_in_turn(std::vector<trainer> &all, int step)
{
    for (trainer &one : all)
        one.submit_step(step);
    for (trainer &one : all)
        one.finish_step(step);
}

static void step_in_threads(std::vector<trainer> &all, int step)
{
    std::vector<std::thread> threads;
    for (trainer &one : all)
        threads.emplace_back([&one, step] {
            one.submit_step(step);
            one.finish_step(step);
        });
    for (std::thread &thread : threads)
        thread.join();
}

static void report(std::vector<trainer> &all)
{
    for (trainer &one : all) {
        for (size_t step = 0; step < one.losses.size(); step++)
            printf("step %zu device %d loss 0x%08x\n", step + 1, one.number, one.losses[step]);
        printf("parameters %d 0x%016llx\n", one.number, (unsigned long long)one.hash());
    }
    printf("step_ms_each");
    for (float ms : all[0].step_ms)
        printf(" %.3f", ms);
    printf("\n");
}

static void read_options(char **argv)
{
    for (char **at = argv + 1; *at; at++)
        if (strcmp(*at, "--threads") == 0)
            in_threads = true;
        else if (!read_number(at))
            wonder(*at);
}

int main(int argc, char **argv)
{
    (void)argc;
    read_options(argv);
    std::vector<trainer> all;
    all.reserve((size_t)o.nets);
    for (int device = 0; device < o.nets; device++)
        all.emplace_back(device);
    for (int step = 0; step < o.steps; step++) {
        (in_threads ? step_in_threads : step_in_turn)(all, step);
        for (size_t d = 0; d < all.size() && all.size() > 1; d++)
            all[(d + 1) % all.size()].receive(all[d], step);
    }
    report(all);
    for (trainer &one : all)
        one.close_all();
    return 0;
}
