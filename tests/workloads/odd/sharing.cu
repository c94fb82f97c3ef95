/* sharing.cu - programs in which several streams or threads share tensors, blocks, workspaces. */
#include "odd.h"
#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <semaphore.h>
#include <thread>

NAMED __global__ void sharing_part(const word *x, word *y, size_t first, size_t n, word by)
{
    SPAN (i, n)
        y[first + i] = MIXED(x[first + i], by);
}
SIMGPU_FOOTPRINT(sharing_part, (const word *x, word *y, size_t first, size_t n, word by), EACH *n, R(x + first, n),
                 W(y + first, n))

/* Tensors of one block belong to different streams; what one has dropped another one gets as soon as an event says so. */
static void run_block_of_streams()
{
    struct piece {
        word *p;
        CUstream owner;
        CUevent done;
    };
    const int streams = 3;
    CUstream s[streams];
    for (auto &one : s)
        one = new_stream();
    std::vector<word *> blocks;
    std::deque<struct piece> space;
    const size_t n = told.words, each = 6;
    const auto make = [&](size_t, CUstream on) {
        for (auto it = space.begin(); it != space.end(); ++it)
            if (it->owner == on || cuEventQuery(it->done) == CUDA_SUCCESS) {
                word *p = it->p;
                DO(cuEventDestroy(it->done));
                space.erase(it);
                return p;
            }
        blocks.push_back(plain_memory.make(each * n, nullptr));
        for (size_t i = 1; i < each; i++) {
            CUevent e = new_event();
            space.push_back({blocks.back() + i * n, on, e});
        }
        return blocks.back();
    };
    const auto drop = [&](word *p, size_t, CUstream on) {
        CUevent e = new_event();
        DO(cuEventRecord(e, on));
        space.push_back({p, on, e});
    };
    trunk t({make, drop}, s[0]);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 2)
                return x;
            CUstream side = s[1 + l / 4 % 2];
            word *y = make(n, side), *z = t.make(n);
            order(s[0], side);
            mix(side, x, t.input, y, n);
            fold(s[0], z, x, n, n); /* what lies there, which nothing depends on, */
            mix(s[0], x, x, z, n);  /* is written over */
            order(side, s[0]);
            fold(s[0], z, y, n, n);
            order(s[0], side);
            drop(y, n, side);
            t.keep(z, n);
            return z;
        });
    DO(cuCtxSynchronize());
    for (word *p : blocks)
        DO(cuMemFree(at(p)));
}

/* A tensor is written in eight parts by as many streams, and read by all of them. */
static void run_many_streams()
{
    const size_t parts = 8;
    CUstream s = new_stream(), part[parts];
    for (auto &one : part)
        one = new_stream();
    trunk t(async_memory, s);
    const size_t n = t.n / parts;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n);
            for (size_t k = 0; k < parts; k++) {
                order(s, part[k]);
                RUN(sharing_part, part[k], x, y, k * n, n, (word)(step % 4) + (word)k);
                order(part[k], s);
            }
            t.keep(y, t.n);
            return y;
        });
}

/* A thread for each step, which uses its own default stream and ends. */
static void run_short_threads()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *side = lasting(t.n, 91);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 6 != 1)
                return x;
            word *y = nullptr;
            CUevent ready = new_event(), done = new_event();
            DO(cuEventRecord(ready, s));
            std::thread([&] {
                DONE(cudaSetDevice(0));
                y = async_memory.make(t.n, CU_STREAM_PER_THREAD);
                DO(cuStreamWaitEvent(CU_STREAM_PER_THREAD, ready, 0));
                mix(CU_STREAM_PER_THREAD, x, side, y, t.n);
                fold(CU_STREAM_PER_THREAD, side, y, t.n, t.n);
                DO(cuEventRecord(done, CU_STREAM_PER_THREAD));
            }).join();
            DO(cuStreamWaitEvent(s, done, 0));
            DO(cuEventDestroy(ready));
            DO(cuEventDestroy(done));
            t.keep(y, t.n);
            return y;
        });
}

/* Nobody waits for anything until the end. */
static void run_never_waits()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        t.backward(t.forward());
    }
}

/* A workspace that all layers share: sums in parts, a counter that the last part sets back, and stale bytes between. */
NAMED __global__ void sharing_partial(const word *x, word *work, word *counter, word *y, size_t n, size_t parts)
{
    const size_t each = n / parts;
    for (size_t part = 0; part < parts; part++) {
        for (size_t i = 0; i < each; i++)
            work[part * each + i] = MIXED(x[part * each + i], (word)part);
        if (++*counter == parts) {
            for (size_t i = 0; i < n; i++)
                y[i] = MIXED(work[n - 1 - i], x[i]);
            *counter = 0;
        }
    }
}

static void run_workspace()
{
    CUstream s = new_stream(), other = new_stream();
    trunk t(async_memory, s);
    word *work = lasting(t.n, 0), *counter = lasting(64, 0), *work2 = lasting(t.n, 0);
    DO(cuMemsetD32(at(counter), 0, 64));
    DO(cuCtxSynchronize());
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3 == 0)
                return x;
            word *y = t.make(t.n);
            if (l % 3 == 1) {
                RUN(sharing_partial, s, x, work, counter, y, t.n, 4);
            } else {
                order(s, other);
                RUN(sharing_partial, other, x, work2, counter + 32, y, t.n, (size_t)(2 + step % 2));
                order(other, s);
            }
            t.keep(y, t.n);
            return y;
        });
}

/* A callback tells another thread that what came before is done, which then frees, by cuMemFree. */
static sem_t freeable;
static void CUDA_CB may_free(CUstream, CUresult, void *)
{
    sem_post(&freeable);
}
static void CUDA_CB may_free_too(void *)
{
    sem_post(&freeable);
}

static void run_callbacks()
{
    CUstream s = new_stream();
    sem_init(&freeable, 0, 0);
    std::deque<word *> waiting;
    std::mutex mutex;
    std::thread freeing([&] {
        DONE(cudaSetDevice(0));
        for (;;) {
            while (sem_wait(&freeable) != 0)
                continue;
            word *p;
            {
                std::lock_guard<std::mutex> lock(mutex);
                if (waiting.empty())
                    return;
                p = waiting.front();
                waiting.pop_front();
            }
            DO(cuMemFree(at(p)));
        }
    });
    unsigned turn = 0;
    const struct memory m = {plain_memory.make, [&](word *p, size_t, CUstream on) {
                                 {
                                     std::lock_guard<std::mutex> lock(mutex);
                                     waiting.push_back(p);
                                 }
                                 if (turn++ % 2)
                                     DO(cuStreamAddCallback(on, may_free, nullptr, 0));
                                 else
                                     DO(cuLaunchHostFunc(on, may_free_too, nullptr));
                             }};
    trunk t(m, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step);
    DO(cuStreamSynchronize(s));
    sem_post(&freeable);
    freeing.join();
}

/* Two streams work in turn on the two halves of each tensor; each waits only for what it needs. */
static void run_halves()
{
    CUstream a = new_stream(), b = new_stream();
    trunk t(async_memory, a);
    const size_t n = t.n, half = n / 2;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3 != 1)
                return x;
            word *y = t.make(n), *z = t.make(n);
            order(a, b);
            RUN(sharing_part, a, x, y, 0, half, 1);
            RUN(sharing_part, b, x, y, half, half, 2);
            RUN(sharing_part, b, y, z, half, half, 3); /* reads a half of y while the other is written */
            DO(cuMemsetD32Async(at(y + half), 5, half / 2, b));
            RUN(sharing_part, a, y, z, 0, half, 4);
            order(b, a);
            t.keep(y, n);
            t.keep(z, n);
            return z;
        });
}

const std::vector<struct program> sharing_programs = {
    {"block-of-streams", run_block_of_streams},
    {"many-streams", run_many_streams},
    {"short-threads", run_short_threads},
    {"never-waits", run_never_waits},
    {"workspace", run_workspace},
    {"callbacks", run_callbacks},
    {"halves", run_halves},
};
