/* shape.cu - programs whose steps have other shapes: batches, lengths, models, parts. */
#include "odd.h"
#include <deque>

static void drop_all(trunk &t)
{
    for (; !t.all.empty(); t.all.pop_back())
        if (t.all.back().owned)
            t.memory.drop(t.all.back().p, t.all.back().n, t.s);
}

/* One to four micro-batches in each step, gradients of which are summed in place. */
static void run_accumulation()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> sums;
    for (int l = 0; l < told.layers; l++)
        sums.push_back(lasting(t.n / 4, 400 + (word)l));
    for (int step = 1; step <= told.steps; step++) {
        for (int micro = 0; micro < 1 + step * 7 % 4; micro++) {
            tick(s);
            word *x = t.forward();
            t.backward(
                x,
                [&](int kept, word *g) {
                    if (kept > 0)
                        fold(s, sums[(size_t)kept - 1], g, t.n, t.n / 4);
                },
                false);
        }
        for (size_t l = 0; l < sums.size(); l++) {
            fold(s, t.weights[l], sums[l], t.n / 4, t.n);
            DO(cuMemsetD32Async(at(sums[l]), 0, t.n / 4, s));
        }
        say(s, "step", step, t.weights[0], t.n);
    }
}

/* Three lengths in turn, another order late, the last batch of each ten smaller, an evaluation behind each seven. */
static void run_lengths()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t full = t.n;
    for (int step = 1; step <= told.steps; step++) {
        t.n = step % 10 == 0 ? full / 3 : full - full / 4 * (size_t)((step >= told.late ? step * step : step) % 3);
        t.step(step);
        if (step % 7 == 0) {
            t.n = full;
            word *x = t.forward();
            say(s, "evaluation", step, x, t.n);
            drop_all(t);
        }
        t.n = full;
    }
}

/* Keys and values that grow with each token: made anew, copied, and the old ones freed. */
static void run_growing()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> cache((size_t)told.layers / 2, nullptr);
    size_t length = 0;
    const size_t piece = t.n / 8;
    for (int step = 1; step <= told.steps; step++) {
        if (step % 11 == 0) {
            for (auto &c : cache) {
                t.memory.drop(c, length, s);
                c = nullptr;
            }
            length = 0;
        }
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 2)
                return x;
            word *&c = cache[(size_t)l / 2];
            word *longer = t.make(length + piece);
            if (c) {
                DO(cuMemcpyDtoDAsync(at(longer), at(c), length * sizeof(word), s));
                t.memory.drop(c, length, s);
            }
            mix(s, x, x, longer + length, piece);
            c = longer;
            word *y = t.make(t.n);
            mix(s, x, t.n, c, length + piece, y, t.n);
            t.keep(y, t.n);
            return y;
        });
        length += piece;
    }
    for (auto &c : cache)
        if (c)
            t.memory.drop(c, length, s);
}

/* The program drops what lies between checkpoints, and makes it again itself. */
static void run_checkpoints()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t n = t.n;
    const int each = 4;
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        std::vector<word *> points;
        word *x = t.make(n);
        mix(s, t.input, n, the_clock, 2, x, n);
        points.push_back(x);
        for (int l = 0; l < told.layers; l++) {
            word *y = t.make(n);
            mix(s, x, t.weights[(size_t)l], y, n);
            if (l % each != 0)
                t.memory.drop(x, n, s);
            x = y;
            if (l % each == each - 1)
                points.push_back(x);
        }
        word *g = t.make(n);
        mix(s, x, t.input, g, n);
        for (int from = (told.layers - 1) / each * each; from >= 0; from -= each) {
            std::vector<word *> again{points[(size_t)(from / each)]};
            for (int l = from; l < from + each && l < told.layers; l++) {
                again.push_back(t.make(n));
                mix(s, again[again.size() - 2], t.weights[(size_t)l], again.back(), n);
            }
            for (int l = (int)again.size() - 1; l > 0; l--) {
                fold(s, g, again[(size_t)l], n, n);
                fold(s, t.weights[(size_t)(from + l - 1)], g, n, n);
                t.memory.drop(again[(size_t)l], n, s);
            }
        }
        for (word *p : points)
            t.memory.drop(p, n, s);
        fold(s, t.input, g, n, n);
        t.memory.drop(g, n, s);
        say(s, "step", step, t.input, n);
    }
}

/* Two models that learn from each other, of which one takes more turns, in two contexts of the device. */
static void run_contexts()
{
    CUcontext first, second;
    CUdevice device;
    DO(cuCtxGetCurrent(&first));
    DO(cuCtxGetDevice(&device));
    DO(cuCtxCreate(&second, nullptr, 0, device));
    CUstream b = new_stream();
    DO(cuCtxPushCurrent(first));
    CUstream a = new_stream();
    trunk one(plain_memory, a, told.layers / 2);
    DO(cuCtxPopCurrent(nullptr));
    struct memory m = plain_memory;
    std::vector<CUdeviceptr> others;
    const size_t bytes = one.n * sizeof(word);
    for (int l = 0; l < told.layers / 2; l++) {
        CUdeviceptr p;
        DO(cuMemAlloc(&p, bytes));
        DO(cuMemsetD32Async(p, 5 + (unsigned)l, one.n, b));
        others.push_back(p);
    }
    for (int step = 1; step <= told.steps; step++) {
        DO(cuStreamSynchronize(b));
        DO(cuCtxPushCurrent(first));
        tick(a);
        one.step(step);
        DO(cuCtxPopCurrent(nullptr));
        for (size_t l = 0; l < others.size(); l++) {
            DO(cuMemcpyPeerAsync(others[l], second, at(one.weights[l]), first, bytes / 2, b));
            DO(cuMemsetD2D8Async(others[l] + bytes / 2, 512, (unsigned char)step, 100, bytes / 1024 - 1, b));
            if (step >= told.late && l) {
                DO(cuMemcpyDtoDAsync(others[l] + 64, others[l - 1], bytes / 4, b));
                DO(cuStreamSynchronize(b));
                DO(cuMemcpyPeer(at(one.weights[l]) + 4, first, others[l], second, 2000));
            }
        }
        DO(cuStreamSynchronize(b));
        DO(cuCtxSynchronize());
    }
    std::vector<word> back(one.n);
    unsigned long long all = 0;
    for (CUdeviceptr p : others) {
        DO(cuMemcpyDtoH(back.data(), p, bytes));
        for (word v : back)
            all = (all ^ v) * 0x100000001b3u;
        DO(cuMemFree(p));
    }
    printf("others 0x%016llx\n", all);
    DO(cuStreamDestroy(b));
    DO(cuCtxDestroy(second));
    DO(cuCtxSetCurrent(first));
}

/* Layers are added, and then taken away, at late steps; all weights are made anew once. */
static void run_surgery()
{
    CUstream s = new_stream();
    trunk t(async_memory, s, told.layers / 2);
    std::vector<word *> made;
    for (int step = 1; step <= told.steps; step++) {
        if (step == told.late / 2 || step == told.late)
            for (int l = 0; l < told.layers / 4; l++) {
                word *w = async_memory.make(t.n, s);
                fill(s, w, t.n, 900 + (word)(step + l));
                made.push_back(w);
                t.weights.insert(t.weights.begin() + l * 2, w);
            }
        if (step == told.late + 5) {
            word *gone = t.weights.back();
            t.weights.pop_back();
            fold(s, t.input, gone, t.n, t.n);
        }
        t.step(step);
    }
    for (word *w : made) {
        say(s, "made", 0, w, t.n);
        async_memory.drop(w, t.n, s);
    }
}

/* --- a reversible net: two halves that last, are changed in place, and changed back on the way back --- */

NAMED __global__ void odd_push(word *x, const word *by, size_t n)
{
    SPAN (i, n)
        x[i] += by[i] * ODD;
}
SIMGPU_FOOTPRINT(odd_push, (word * x, const word *by, size_t n), EACH *n, RW(x, n), R(by, n))

NAMED __global__ void odd_pull(word *x, const word *by, size_t n)
{
    SPAN (i, n)
        x[i] -= by[i] * ODD;
}
SIMGPU_FOOTPRINT(odd_pull, (word * x, const word *by, size_t n), EACH *n, RW(x, n), R(by, n))

static void run_reversible()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *half[2] = {lasting(t.n, 1), lasting(t.n, 2)};
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        fold(s, half[0], the_clock, 2, t.n);
        for (int l = 0; l < told.layers; l++) {
            word *by = t.make(t.n);
            mix(s, half[(l + 1) % 2], t.weights[(size_t)l], by, t.n);
            RUN(odd_push, s, half[l % 2], by, t.n);
            t.memory.drop(by, t.n, s);
        }
        word *g = t.make(t.n);
        mix(s, half[0], half[1], g, t.n);
        for (int l = told.layers - 1; l >= 0; l--) {
            word *by = t.make(t.n), *next = t.make(t.n);
            mix(s, half[(l + 1) % 2], t.weights[(size_t)l], by, t.n);
            RUN(odd_pull, s, half[l % 2], by, t.n);
            mix(s, g, by, next, t.n);
            fold(s, t.weights[(size_t)l], next, t.n, t.n);
            t.memory.drop(by, t.n, s);
            t.memory.drop(g, t.n, s);
            g = next;
        }
        fold(s, half[0], g, t.n, t.n);
        t.memory.drop(g, t.n, s);
        say(s, "step", step, half[0], t.n);
    }
}

/* One layer of the way back of the oldest batch; its last tensor goes. */
static void one_back(trunk &t, std::vector<word *> &kept)
{
    word *last = kept.back(), *before = kept[kept.size() - 2];
    fold(t.s, before, last, t.n, t.n);
    fold(t.s, t.weights[kept.size() - 2], before, t.n, t.n);
    t.memory.drop(last, t.n, t.s);
    kept.pop_back();
}

/* As stages of a pipeline have it: the way forward of one batch lies between those back of others, across steps. */
static void run_pipelined()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::deque<std::vector<word *>> flying;
    for (int step = 1; step <= told.steps + 2; step++) {
        std::vector<word *> batch;
        tick(s);
        for (int l = 0; l <= told.layers; l++) {
            batch.push_back(t.make(t.n));
            if (l == 0)
                mix(s, t.input, t.n, the_clock, 2, batch[0], t.n);
            else
                mix(s, batch[(size_t)l - 1], t.weights[(size_t)l - 1], batch.back(), t.n);
            if (flying.size() == 2 && flying.front().size() > 1)
                one_back(t, flying.front());
        }
        flying.push_back(batch);
        while (flying.size() > (step > told.steps ? 0 : 2)) {
            fold(s, t.input, flying.front()[0], t.n, t.n);
            for (word *p : flying.front())
                t.memory.drop(p, t.n, s);
            flying.pop_front();
        }
        say(s, "step", step, t.input, t.n);
    }
}

const std::vector<struct program> shape_programs = {
    {"accumulation", run_accumulation}, {"lengths", run_lengths},     {"growing", run_growing},
    {"checkpoints", run_checkpoints},   {"contexts", run_contexts},   {"surgery", run_surgery},
    {"reversible", run_reversible},     {"pipelined", run_pipelined},
};
