/* host.cu - programs in which the host takes part: it loads, reads, decides, registers, forks. */
#include "odd.h"
#include <algorithm>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void host_fill(word *p, size_t n, word seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = MIXED(seed * 2654435761u, (word)i * 40503u);
}

/* Two page-locked buffers that a copy stream uploads in turn; the host fills one as soon as its copy is done. */
static void run_loader()
{
    CUstream s = new_stream(), copies = new_stream();
    trunk t(async_memory, s);
    word *host[2];
    CUevent copied[2] = {new_event(), new_event()}, used[2] = {new_event(), new_event()};
    word *batch[2] = {lasting(t.n, 1), lasting(t.n, 2)};
    for (auto &h : host)
        DO(cuMemHostAlloc((void **)&h, t.n * sizeof(word), CU_MEMHOSTALLOC_PORTABLE));
    const auto load = [&](int step) {
        const int k = step % 2;
        DO(cuEventSynchronize(copied[k]));
        host_fill(host[k], t.n, (word)step);
        DO(cuStreamWaitEvent(copies, used[k], 0));
        DO(cuMemcpyHtoDAsync(at(batch[k]), host[k], t.n * sizeof(word), copies));
        DO(cuEventRecord(copied[k], copies));
    };
    load(1);
    for (int step = 1; step <= told.steps; step++) {
        if (step < told.steps)
            load(step + 1);
        DO(cuStreamWaitEvent(s, copied[step % 2], 0));
        tick(s);
        t.backward(t.forward(nullptr, -1, batch[step % 2]));
        DO(cuEventRecord(used[step % 2], s));
        if (step % 5 == 0)
            say(s, "step", step, t.input, t.n);
    }
    DO(cuStreamSynchronize(copies));
    DO(cuStreamSynchronize(s));
    for (auto &h : host)
        DO(cuMemFreeHost(h));
}

/* A function of the host's fills the buffer that the stream uploads next. */
struct filling {
    word *host;
    size_t n;
    word step;
};
static void CUDA_CB fill_next(void *data)
{
    struct filling *f = (struct filling *)data;
    host_fill(f->host, f->n, f->step++);
}
static void run_host_function()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    struct filling f = {nullptr, t.n, 1};
    DO(cuMemHostAlloc((void **)&f.host, t.n * sizeof(word), 0));
    for (int step = 1; step <= told.steps; step++) {
        DO(cuLaunchHostFunc(s, fill_next, &f));
        word *batch = t.make(t.n);
        DO(cuMemcpyHtoDAsync(at(batch), f.host, t.n * sizeof(word), s));
        tick(s);
        t.keep(batch, t.n);
        word *x = t.forward(nullptr, -1, batch);
        t.backward(x);
        if (step % 3 == 0)
            say(s, "step", step, t.input, t.n);
    }
    DO(cuStreamSynchronize(s));
    DO(cuMemFreeHost(f.host));
}

/* Memory of the program's is registered, what comes from the device is read there, and it is unregistered and unmapped. */
static void run_registered()
{
    CUstream s = new_stream();
    trunk t(plain_memory, s);
    const size_t bytes = t.n * sizeof(word);
    for (int step = 1; step <= told.steps; step++) {
        void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        DO(cuMemHostRegister(p, bytes, CU_MEMHOSTREGISTER_DEVICEMAP));
        host_fill((word *)p, t.n, (word)step);
        t.step(step, [&](int l, word *x) -> word * {
            if (l == 2) {
                word *y = t.make(t.n);
                DO(cuMemcpyHtoDAsync(at(y), p, bytes, s));
                fold(s, y, x, t.n, t.n);
                t.keep(y, t.n);
                return y;
            }
            if (l == 7) {
                DO(cuMemcpyDtoHAsync(p, at(x), bytes, s));
                word *y = t.make(t.n);
                DO(cuMemcpyHtoDAsync(at(y), p, bytes, s));
                fold(s, y, x, t.n, t.n);
                t.keep(y, t.n);
                return y;
            }
            if (l == 12) { /* a kernel reads the host's memory by its address there */
                CUdeviceptr mapped;
                DO(cuMemHostGetDevicePointer(&mapped, p, 0));
                word *y = t.make(t.n);
                mix(s, x, words_at(mapped), y, t.n);
                t.keep(y, t.n);
                return y;
            }
            return x;
        });
        DO(cuStreamSynchronize(s));
        DO(cuMemHostUnregister(p));
        munmap(p, bytes);
    }
}

/* The program itself puts half of its tensors into page-locked memory, frees them, and brings them back. */
static void run_offload()
{
    CUstream s = new_stream(), out = new_stream(), in = new_stream();
    const size_t n = told.words, bytes = n * sizeof(word);
    std::vector<word *> host((size_t)told.layers);
    for (auto &h : host)
        DO(cuMemHostAlloc((void **)&h, bytes, 0));
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        word *x = t.make(n);
        mix(s, t.input, n, the_clock, 2, x, n);
        std::vector<word *> acts((size_t)told.layers, nullptr);
        word *first = x;
        for (int l = 0; l < told.layers; l++) {
            word *y = t.make(n);
            mix(s, x, t.weights[(size_t)l], y, n);
            acts[(size_t)l] = y;
            if (l > 0 && l % 2 == 1) { /* the one before leaves */
                word *leaves = acts[(size_t)l - 1];
                order(s, out);
                DO(cuMemcpyDtoHAsync(host[(size_t)l - 1], at(leaves), bytes, out));
                DO(cuMemFreeAsync(at(leaves), out));
                acts[(size_t)l - 1] = nullptr;
            }
            x = y;
        }
        order(out, in);
        word *g = t.make(n);
        mix(s, x, t.input, g, n);
        for (int l = told.layers - 1; l >= 0; l--) {
            if (l > 0 && !acts[(size_t)l - 1]) {
                CUdeviceptr p;
                DO(cuMemAllocAsync(&p, bytes, in));
                DO(cuMemcpyHtoDAsync(p, host[(size_t)l - 1], bytes, in));
                acts[(size_t)l - 1] = words_at(p);
                order(in, s);
            }
            fold(s, g, acts[(size_t)l], n, n);
            fold(s, t.weights[(size_t)l], g, n, n);
            t.memory.drop(acts[(size_t)l], n, s);
        }
        fold(s, t.input, g, n, n);
        t.memory.drop(g, n, s);
        t.memory.drop(first, n, s);
        order(s, out); /* the next copies out come to the buffers after these came in */
        say(s, "step", step, t.input, n);
    }
    DO(cuStreamSynchronize(out));
    DO(cuStreamSynchronize(in));
    for (auto &h : host)
        DO(cuMemFreeHost(h));
}

/* A word that the host reads in each step says how many layers there are, whether the step counts, and what is dropped. */
static void run_decisions()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word said = 0;
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        const int layers = told.layers - (step >= told.late ? (int)(said % 5) : (int)(said % 2));
        word *x = t.forward(nullptr, layers);
        word *middle = t.all[(size_t)layers / 2].p;
        DO(cuMemcpyDtoHAsync(&said, at(middle) + 4 * (said % 1000), sizeof(said), s));
        DO(cuStreamSynchronize(s));
        if (said % 7 == 3) { /* an overflow: the step is left out */
            for (; !t.all.empty(); t.all.pop_back())
                t.memory.drop(t.all.back().p, t.n, s);
            printf("step %d left out\n", step);
            continue;
        }
        t.backward(x, nullptr, said % 3 != 0);
        say(s, "step", step, t.input, t.n);
    }
}

/* As much as the device says is free, and never more. */
static void run_as_free()
{
    CUstream s = new_stream();
    trunk t(plain_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int, word *x) -> word * {
            size_t left, total;
            DO(cuMemGetInfo(&left, &total));
            CUdeviceptr base;
            size_t size;
            DO(cuMemGetAddressRange(&base, &size, at(x) + 40));
            if (base != at(x) || size < t.n * sizeof(word) || left > total)
                exit(1);
            return x;
        });
}

/* Children are forked in the middle, with work under way; one of them runs for long. */
static void run_forks()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    pid_t last = 0;
    for (int step = 1; step <= told.steps; step++) {
        t.step(step, [&](int l, word *x) -> word * {
            if (l == 8 && step % 10 == 4) {
                fflush(stdout);
                last = fork();
                if (last == 0) {
                    std::vector<char> much(1 << 20, 3);
                    usleep(30000);
                    _exit(much[5] == 3 ? 0 : 1);
                }
            }
            return x;
        });
        if (last > 0 && step % 10 == 6) {
            int status;
            waitpid(last, &status, 0);
            printf("child %d\n", status);
            last = 0;
        }
    }
}

/* Page-locked memory that kernels and the host share, written by a kernel and read by the host in each step, late also back.
 */
static void run_mailbox()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *host;
    CUdeviceptr mapped;
    DO(cuMemHostAlloc((void **)&host, t.n * sizeof(word), CU_MEMHOSTALLOC_DEVICEMAP));
    DO(cuMemHostGetDevicePointer(&mapped, host, 0));
    memset(host, 0, t.n * sizeof(word));
    for (int step = 1; step <= told.steps; step++) {
        t.step(step, [&](int l, word *x) -> word * {
            if (l == 5)
                fold(s, words_at(mapped), x, t.n, t.n);
            if (l != 10)
                return x;
            word *y = t.make(t.n);
            if (step >= told.late)
                mix(s, words_at(mapped), x, y, t.n);
            else
                mix(s, x, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
        host[step % 100]++;
    }
    DO(cuMemFreeHost(host));
}

/* Copies and sets of all kinds by one batched call, and uploads from memory that changes as soon as the call returns. */
static void run_uploads()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word> host(t.n);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 != 1)
                return x;
            word *y = t.make(t.n);
            host_fill(host.data(), t.n, (word)(step * 31 + l));
            DO(cuMemcpyHtoDAsync(at(y), host.data(), t.n * sizeof(word) / 2, s));
            DO(cuMemcpyDtoDAsync(at(y) + t.n * 2, at(x), t.n * 2, s));
            host_fill(host.data(), 100, 0);
            DO(cuMemsetD16Async(at(y) + 2, (unsigned short)step, 33, s));
            DO(cuMemcpyAsync(at(y) + t.n + 4, at(x) + 8, 1000, s));
            t.keep(y, t.n);
            return y;
        });
}

const std::vector<struct program> host_programs = {
    {"loader", run_loader},         {"host-function", run_host_function},
    {"registered", run_registered}, {"offload", run_offload},
    {"decisions", run_decisions},   {"as-free", run_as_free},
    {"forks", run_forks},           {"mailbox", run_mailbox},
    {"uploads", run_uploads},
};
