/* stream.cu - programs with streams, events and threads. */
#include "odd.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

/* Work for another thread, one after the other. */
class worker
{
  public:
    worker() : thread([this] { work(); })
    {
    }
    ~worker()
    {
        give(nullptr);
        thread.join();
    }
    void give(std::function<void()> what)
    {
        std::lock_guard<std::mutex> lock(mutex);
        waiting.push_back(std::move(what));
        changed.notify_all();
    }
    void wait()
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return waiting.empty() && !busy; });
    }

  private:
    void work()
    {
        DONE(cudaSetDevice(0));
        for (;;) {
            std::function<void()> what;
            {
                std::unique_lock<std::mutex> lock(mutex);
                changed.wait(lock, [this] { return !waiting.empty(); });
                what = std::move(waiting.front());
                waiting.pop_front();
                busy = true;
            }
            if (!what)
                return;
            what();
            std::lock_guard<std::mutex> lock(mutex);
            busy = false;
            changed.notify_all();
        }
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    bool busy = false;
    std::thread thread;
};

/* The optimizer runs on another thread and stream, as soon as each gradient's event is recorded. */
static void run_event_threads()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    std::vector<CUevent> ready, done;
    for (int l = 0; l < told.layers; l++) {
        ready.push_back(new_event());
        done.push_back(new_event());
        DO(cuEventRecord(done.back(), side));
    }
    worker other;
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        for (CUevent e : done)
            DO(cuStreamWaitEvent(s, e, 0));
        word *x = t.forward();
        word *g = t.make(t.n);
        mix(s, x, t.input, g, t.n);
        for (int l = told.layers - 1; l >= 0; l--) {
            const trunk::kept k = t.all.back();
            t.all.pop_back();
            word *next = t.make(t.n), *grad = t.make(t.n);
            mix(s, g, t.weights[(size_t)l], next, t.n);
            mix(s, g, k.p, grad, t.n);
            DO(cuEventRecord(ready[(size_t)l], s));
            t.memory.drop(g, t.n, s);
            t.memory.drop(k.p, k.n, s);
            g = next;
            other.give([=, &t, &ready, &done] {
                DO(cuStreamWaitEvent(side, ready[(size_t)l], 0));
                fold(side, t.weights[(size_t)l], grad, t.n, t.n);
                DO(cuEventRecord(done[(size_t)l], side));
                DO(cuMemFreeAsync(at(grad), side));
            });
        }
        t.memory.drop(t.all.back().p, t.n, s);
        t.all.clear();
        fold(s, t.input, g, t.n, t.n);
        t.memory.drop(g, t.n, s);
        other.wait();
        if (step % 4 == 0)
            say(s, "step", step, t.input, t.n);
    }
    other.wait();
    DO(cuStreamSynchronize(side));
}

/* Tensors are freed by another thread, with cuMemFree, while their work is still under way. */
static void run_free_threads()
{
    CUstream s = new_stream();
    worker other;
    const struct memory m = {plain_memory.make,
                             [&](word *p, size_t, CUstream) { other.give([p] { DO(cuMemFree(at(p))); }); }};
    trunk t(m, s);
    for (int step = 1; step <= told.steps; step++) {
        t.step(step);
        if (step % 8 == 0)
            other.wait();
    }
    other.wait();
}

/* The same by cuMemFreeAsync of another thread's stream, which an event puts behind. */
static void run_free_async_threads()
{
    CUstream s = new_stream(), side = new_stream(CU_STREAM_DEFAULT);
    worker other;
    const struct memory m = {async_memory.make, [&](word *p, size_t, CUstream on) {
                                 CUevent e = new_event();
                                 DO(cuEventRecord(e, on));
                                 other.give([=] {
                                     DO(cuStreamWaitEvent(side, e, 0));
                                     DO(cuEventDestroy(e));
                                     DO(cuMemFreeAsync(at(p), side));
                                 });
                             }};
    trunk t(m, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step);
    other.wait();
    DO(cuStreamSynchronize(side));
}

/* A stream waits until another one has written a value; the host is always in between once a layer. */
static void run_values()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    CUdeviceptr flag;
    DO(cuMemAlloc(&flag, 2 * sizeof(word)));
    DO(cuMemsetD32(flag, 0, 2));
    DO(cuStreamSynchronize(nullptr));
    word value = 0;
    for (int step = 1; step <= told.steps; step++) {
        const bool by_values = step % 3 != 1 || step > told.late;
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n), *z = t.make(t.n);
            value++;
            if (by_values) {
                DO(cuStreamWriteValue32(s, flag, value, 0));
                DO(cuStreamWaitValue32(side, flag, value, CU_STREAM_WAIT_VALUE_GEQ));
                order(s, side); /* the device that checks orders knows of events */
            } else {
                order(s, side);
            }
            mix(side, x, t.input, y, t.n);
            if (by_values) {
                DO(cuStreamWriteValue32(side, flag + 4, value, 0));
                DO(cuStreamWaitValue32(s, flag + 4, value, CU_STREAM_WAIT_VALUE_GEQ));
            }
            order(side, s);
            mix(s, y, x, z, t.n);
            t.keep(y, t.n);
            t.keep(z, t.n);
            return z;
        });
    }
    DO(cuStreamSynchronize(side));
    DO(cuMemFree(flag));
}

/* Legacy stream, blocking streams and each thread's own default stream, ordered by nothing but what the legacy one does. */
static void run_defaults()
{
    CUstream blocking = new_stream(CU_STREAM_DEFAULT), own = CU_STREAM_PER_THREAD, legacy = CU_STREAM_LEGACY;
    trunk t(plain_memory, legacy);
    worker other;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3 != 1)
                return x;
            word *y = t.make(t.n), *z = t.make(t.n), *v = t.make(t.n), *u = t.make(t.n);
            mix(blocking, x, t.input, y, t.n); /* behind the legacy stream's */
            mix(own, x, t.weights[0], z, t.n);
            other.give([=] { mix(CU_STREAM_PER_THREAD, x, x, v, t.n); });
            other.wait();
            mix(legacy, y, z, u, t.n); /* behind all of them */
            fold(legacy, u, v, t.n, t.n);
            t.keep(y, t.n);
            t.keep(z, t.n);
            t.keep(v, t.n);
            t.keep(u, t.n);
            return u;
        });
}

/* Streams that are made for a layer, with a priority, and destroyed while their work is pending. */
static void run_short_streams()
{
    int least, greatest;
    DO(cuCtxGetStreamPriorityRange(&least, &greatest));
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 2)
                return x;
            CUstream one;
            DO(cuStreamCreateWithPriority(&one, CU_STREAM_NON_BLOCKING, l % 4 ? least : greatest));
            order(s, one);
            word *y = async_memory.make(t.n, one);
            mix(one, x, t.input, y, t.n);
            order(one, s);
            DO(cuStreamDestroy(one));
            t.keep(y, t.n);
            return y;
        });
}

/* A stream's last work is known to be done by an event that another thread waits for, or asks. */
static void run_events_asked()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(plain_memory, s);
    CUevent e = new_event(CU_EVENT_DEFAULT);
    worker other;
    std::vector<word *> dead;
    for (int step = 1; step <= told.steps; step++) {
        std::atomic<bool> seen{false};
        t.step(step, [&](int l, word *x) -> word * {
            if (l == 3) {
                DO(cuEventRecord(e, s)); /* recorded anew in each step: waits keep what they saw */
                DO(cuStreamWaitEvent(side, e, 0));
                other.give([&] {
                    while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
                        std::this_thread::yield();
                    seen = true;
                });
            }
            if (l == 9) {
                other.wait();
                if (!seen)
                    exit(1);
                word *y = t.make(t.n);
                mix(side, t.all[2].p, t.input, y, t.n);
                DO(cuEventRecord(e, side));
                DO(cuStreamWaitEvent(s, e, 0));
                DO(cuEventRecord(e, s));
                t.keep(y, t.n);
                return y;
            }
            return x;
        });
    }
}

/* Two trunks, a thread and a stream each, that take turns by events that the other one recorded. */
static void run_two_threads()
{
    CUstream s[2] = {new_stream(), new_stream()};
    trunk a(async_memory, s[0], told.layers / 2), b(async_memory, s[1], told.layers / 2);
    std::mutex mutex;
    std::condition_variable changed;
    CUevent given[2] = {new_event(), new_event()};
    int steps[2] = {0, 0};
    word *shared = lasting(told.words, 77);
    const auto train = [&](int me, trunk &t) {
        DONE(cudaSetDevice(0));
        for (int step = 1; step <= told.steps; step++) {
            t.backward(t.forward());
            std::unique_lock<std::mutex> lock(mutex);
            changed.wait(lock, [&] { return me ? steps[0] > steps[1] : steps[0] == steps[1]; });
            if (steps[!me])
                DO(cuStreamWaitEvent(s[me], given[!me], 0));
            fold(s[me], shared, t.input, t.n, t.n);
            fold(s[me], t.input, shared, t.n, t.n);
            DO(cuEventRecord(given[me], s[me]));
            steps[me]++;
            changed.notify_all();
        }
        DO(cuStreamSynchronize(s[me]));
    };
    std::thread second(train, 1, std::ref(b));
    train(0, a);
    second.join();
}

const std::vector<struct program> stream_programs = {
    {"event-threads", run_event_threads},
    {"free-threads", run_free_threads},
    {"free-async-threads", run_free_async_threads},
    {"values", run_values},
    {"defaults", run_defaults},
    {"short-streams", run_short_streams},
    {"events-asked", run_events_asked},
    {"two-threads", run_two_threads},
};
