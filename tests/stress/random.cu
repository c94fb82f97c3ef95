/* random.cu - a random but repeatable program: several threads with several streams each allocate, free, launch, set and
 * copy, and every byte is held against a reference that is kept on the host.
 *
 *     random [--seed N] [--threads N] [--streams N] [--operations N] [--buffers N] [--kibibytes N]
 *
 * Exit status: 0 every byte was right, 1 a byte was wrong, 3 a CUDA call failed. Out of memory at an allocation is no
 * failure: the program frees a buffer and goes on, as an allocator under pressure would. */
#include <cuda_runtime.h>
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#ifndef SIMGPU
#define SIMGPU_FOOTPRINT(...)
#endif

struct options {
    unsigned seed = 1, threads = 2, streams = 2, operations = 300, buffers = 24, kibibytes = 256;
};

static void check(cudaError_t error, const char *call)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "random: %s: %s\n", call, cudaGetErrorString(error));
    _exit(3);
}
#define CHECK(call) check((call), #call)

/* ----------------------------------------------------------------------------------------------------------- kernels */
__global__ void mix(uint32_t *out, const uint32_t *in, uint32_t words, uint32_t salt)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        out[i] = out[i] * 1664525u + in[i] + salt;
}
SIMGPU_FOOTPRINT(mix, (uint32_t * out, const uint32_t *in, uint32_t words, uint32_t salt), 3.0 * words, RW(out, words),
                 R(in, words))

__global__ void mix3(uint32_t *out, const uint32_t *a, const uint32_t *b, uint32_t words)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        out[i] = out[i] ^ (a[i] * 22695477u + b[i]);
}
SIMGPU_FOOTPRINT(mix3, (uint32_t * out, const uint32_t *a, const uint32_t *b, uint32_t words), 3.0 * words, RW(out, words),
                 R(a, words), R(b, words))

/* A kernel that finds its buffers through a table in device memory, as grouped operations do. */
__global__ void mix_table(uint32_t *const *table, uint32_t count, uint32_t words)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        for (uint32_t k = 0; k < count; k++)
            table[k][i] = table[k][i] * 69069u + k;
}
SIMGPU_FOOTPRINT(mix_table, (uint32_t *const *table, uint32_t count, uint32_t words), 2.0 * words * count, R(table, count))

/* -------------------------------------------------------------------------------------------------- one thread's part */
struct buffer {
    uint32_t *device = nullptr;
    unsigned last_stream = 0;       /* index of the stream that used it last */
    bool async = false;             /* from cudaMallocAsync */
    std::vector<uint32_t> expected; /* the reference: what the device has to hold once all streams are done */
};

class worker
{
  public:
    worker(const options &o, unsigned number) : o(o), number(number), state(o.seed * 7919u + number * 104729u + 1)
    {
    }

    void run()
    {
        streams.resize(o.streams);
        for (auto &stream : streams)
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        for (unsigned i = 0; i < o.operations && wrong == 0; i++)
            operate();
        while (!live.empty())
            release(0);
        CHECK(cudaEventDestroy(event));
        for (auto &stream : streams)
            CHECK(cudaStreamDestroy(stream));
    }

    unsigned long wrong = 0;
    uint64_t sum = 0;

  private:
    const options &o;
    unsigned number;
    uint32_t state;
    std::vector<cudaStream_t> streams;
    std::vector<buffer> live;
    cudaEvent_t event;

    uint32_t random(uint32_t below)
    {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        return state % below;
    }

    void operate()
    {
        const uint32_t dice = random(100);
        if (live.size() < 3 || (dice < 25 && live.size() < o.buffers))
            allocate();
        else if (dice < 40)
            release(random(live.size()));
        else if (dice < 60)
            launch_mix();
        else if (dice < 72)
            launch_mix3();
        else if (dice < 77)
            launch_table();
        else if (dice < 83)
            set();
        else if (dice < 89)
            copy_within();
        else if (dice < 95)
            copy_in();
        else if (dice < 99)
            compare(live[random(live.size())]);
        else
            CHECK(cudaDeviceSynchronize());
    }

    /* Makes stream `s` wait for what was last done to `b`, and remembers that it is the one who uses it now. */
    void order(buffer &b, unsigned s)
    {
        if (b.last_stream != s) {
            CHECK(cudaEventRecord(event, streams[b.last_stream]));
            CHECK(cudaStreamWaitEvent(streams[s], event, 0));
        }
        b.last_stream = s;
    }

    buffer &pick()
    {
        return live[random(live.size())];
    }

    uint32_t common_words(const buffer &a, const buffer &b)
    {
        return a.expected.size() < b.expected.size() ? a.expected.size() : b.expected.size();
    }

    void allocate()
    {
        buffer b;
        const uint32_t words = 1 + random(o.kibibytes * 256);
        b.async = random(2);
        b.last_stream = random(streams.size());
        cudaError_t error = b.async ? cudaMallocAsync((void **)&b.device, words * 4ul, streams[b.last_stream])
                                    : cudaMalloc((void **)&b.device, words * 4ul);
        if (error == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            if (live.empty())
                check(error, "the first allocation");
            release(random(live.size()));
            return;
        }
        check(error, "allocation");
        CHECK(cudaMemsetAsync(b.device, 0xa5, words * 4ul, streams[b.last_stream]));
        b.expected.assign(words, 0xa5a5a5a5u);
        live.push_back(std::move(b));
    }

    void release(unsigned index)
    {
        buffer &b = live[index];
        if (b.async && random(2)) { /* with its last use still under way */
            CHECK(cudaFreeAsync(b.device, streams[b.last_stream]));
        } else {
            compare(b);
            CHECK(cudaFree(b.device));
        }
        live.erase(live.begin() + index);
    }

    void compare(buffer &b)
    {
        std::vector<uint32_t> got(b.expected.size());
        CHECK(cudaMemcpyAsync(got.data(), b.device, got.size() * 4, cudaMemcpyDeviceToHost, streams[b.last_stream]));
        CHECK(cudaStreamSynchronize(streams[b.last_stream]));
        for (size_t i = 0; i < got.size(); i++) {
            if (got[i] != b.expected[i] && wrong++ == 0)
                fprintf(stderr, "random: thread %u, word %zu of %zu at %p: %08x, expected %08x\n", number, i, got.size(),
                        (void *)b.device, got[i], b.expected[i]);
            sum = sum * 31 + got[i];
        }
    }

    void launch_mix()
    {
        buffer &out = pick(), &in = pick();
        const unsigned s = random(streams.size());
        const uint32_t words = common_words(out, in), salt = random(1000);
        order(out, s), order(in, s);
        mix<<<16, 128, 0, streams[s]>>>(out.device, in.device, words, salt);
        CHECK(cudaGetLastError());
        for (uint32_t i = 0; i < words; i++)
            out.expected[i] = out.expected[i] * 1664525u + in.expected[i] + salt;
    }

    void launch_mix3()
    {
        buffer &out = pick(), &a = pick(), &b = pick();
        const unsigned s = random(streams.size());
        uint32_t words = common_words(out, a);
        words = words < b.expected.size() ? words : b.expected.size();
        order(out, s), order(a, s), order(b, s);
        mix3<<<16, 128, 0, streams[s]>>>(out.device, a.device, b.device, words);
        CHECK(cudaGetLastError());
        for (uint32_t i = 0; i < words; i++)
            out.expected[i] = out.expected[i] ^ (a.expected[i] * 22695477u + b.expected[i]);
    }

    void launch_table()
    {
        buffer &a = pick(), &b = pick();
        if (&a == &b)
            return;
        const unsigned s = random(streams.size());
        const uint32_t words = common_words(a, b);
        uint32_t *addresses[2] = {a.device, b.device}, **table;
        order(a, s), order(b, s);
        CHECK(cudaMallocAsync((void **)&table, sizeof(addresses), streams[s]));
        CHECK(cudaMemcpyAsync(table, addresses, sizeof(addresses), cudaMemcpyHostToDevice, streams[s]));
        mix_table<<<16, 128, 0, streams[s]>>>(table, 2, words);
        CHECK(cudaGetLastError());
        CHECK(cudaFreeAsync(table, streams[s]));
        for (uint32_t i = 0; i < words; i++) {
            a.expected[i] = a.expected[i] * 69069u;
            b.expected[i] = b.expected[i] * 69069u + 1;
        }
    }

    void set()
    {
        buffer &b = pick();
        const unsigned s = random(streams.size());
        const uint32_t value = random(256), words = 1 + random(b.expected.size());
        order(b, s);
        CHECK(cudaMemsetAsync(b.device, value, words * 4ul, streams[s]));
        for (uint32_t i = 0; i < words; i++)
            b.expected[i] = value * 0x01010101u;
    }

    void copy_within()
    {
        buffer &to = pick(), &from = pick();
        if (&to == &from)
            return;
        const unsigned s = random(streams.size());
        const uint32_t words = common_words(to, from);
        order(to, s), order(from, s);
        CHECK(cudaMemcpyAsync(to.device, from.device, words * 4ul, cudaMemcpyDeviceToDevice, streams[s]));
        memcpy(to.expected.data(), from.expected.data(), words * 4ul);
    }

    void copy_in()
    {
        buffer &b = pick();
        const unsigned s = b.last_stream;
        for (auto &word : b.expected)
            word = random(0xffffffffu);
        /* Pageable memory: the call returns when the source may change again. */
        CHECK(cudaMemcpyAsync(b.device, b.expected.data(), b.expected.size() * 4, cudaMemcpyHostToDevice, streams[s]));
        CHECK(cudaStreamSynchronize(streams[s]));
    }
};

/* -------------------------------------------------------------------------------------------------------------- main */
static bool take(const char *name, const char *argument, const char *value, unsigned *ret)
{
    if (strcmp(argument, name) != 0 || !value)
        return false;
    *ret = (unsigned)strtoul(value, nullptr, 10);
    return true;
}

int main(int argc, char **argv)
{
    options o;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (!take("--seed", argv[i], value, &o.seed) && !take("--threads", argv[i], value, &o.threads) &&
            !take("--streams", argv[i], value, &o.streams) && !take("--operations", argv[i], value, &o.operations) &&
            !take("--buffers", argv[i], value, &o.buffers) && !take("--kibibytes", argv[i], value, &o.kibibytes)) {
            fprintf(stderr, "random: what is '%s'?\n", argv[i]);
            return 2;
        }
    }

    CHECK(cudaFree(nullptr));
    std::vector<worker> workers;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < o.threads; t++)
        workers.emplace_back(o, t);
    for (auto &w : workers)
        threads.emplace_back([&w] { w.run(); });
    for (auto &t : threads)
        t.join();

    unsigned long wrong = 0;
    for (unsigned t = 0; t < o.threads; t++) {
        wrong += workers[t].wrong;
        printf("thread %u sum %016llx\n", t, (unsigned long long)workers[t].sum);
    }
    CHECK(cudaDeviceReset());
    return wrong ? 1 : 0;
}
