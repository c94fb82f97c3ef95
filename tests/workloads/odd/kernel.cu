/* kernel.cu - programs whose kernels find what they touch in unusual ways, or change it late. */
#include "odd.h"

/* Addresses in device memory, written by a kernel: {x, w, y}. */
NAMED __global__ void kernel_tell(unsigned long long *table, word *x, word *w, word *y)
{
    table[0] = (unsigned long long)x;
    table[1] = (unsigned long long)w;
    table[2] = (unsigned long long)y;
}
NAMED __global__ void kernel_follow(const unsigned long long *table, size_t n)
{
    const word *x = (const word *)table[0], *w = (const word *)table[1];
    word *y = (word *)table[2];
    SPAN (i, n)
        y[i] = MIXED(x[i], w[i]);
}
SIMGPU_FOOTPRINT(kernel_follow, (const unsigned long long *table, size_t n), EACH *n, R(table, 3))

static void run_tables()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n);
            CUdeviceptr table;
            DO(cuMemAllocAsync(&table, 64, s));
            RUN(kernel_tell, s, (unsigned long long *)table, x, t.weights[(size_t)l], y);
            RUN(kernel_follow, s, (const unsigned long long *)table, t.n);
            DO(cuMemFreeAsync(table, s));
            t.keep(y, t.n);
            return y;
        });
}

/* A list of all weights and gradients, uploaded once, of which an optimizer takes each; late some are replaced by a kernel.
 */
NAMED __global__ void kernel_optimize(const unsigned long long *list, size_t count, size_t n)
{
    for (size_t k = 0; k < count; k++) {
        word *w = (word *)list[2 * k];
        const word *g = (const word *)list[2 * k + 1];
        SPAN (i, n)
            w[i] = MIXED(w[i], g[i]);
    }
}
SIMGPU_FOOTPRINT(kernel_optimize, (const unsigned long long *list, size_t count, size_t n), EACH *n *count,
                 R(list, 2 * count))
NAMED __global__ void kernel_exchange(unsigned long long *list, size_t a, size_t b, const word *clock)
{
    if (IS_LATE(clock)) {
        const unsigned long long kept = list[2 * a + 1];
        list[2 * a + 1] = list[2 * b + 1];
        list[2 * b + 1] = kept;
    }
}

static void run_optimizer()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> gradients;
    std::vector<unsigned long long> list;
    const size_t n = t.n / 4;
    for (int l = 0; l < told.layers; l++) {
        gradients.push_back(lasting(n, 50 + (word)l));
        list.push_back(at(t.weights[(size_t)l]));
        list.push_back(at(gradients.back()));
    }
    CUdeviceptr on_device;
    DO(cuMemAlloc(&on_device, list.size() * 8));
    DO(cuMemcpyHtoD(on_device, list.data(), list.size() * 8));
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        word *x = t.forward();
        t.backward(
            x, [&](int k, word *g) { fold(s, gradients[(size_t)(k % told.layers)], g, t.n, n); }, false);
        RUN(kernel_exchange, s, (unsigned long long *)on_device, 2, 5, the_clock);
        for (size_t k = 0; k + 2 <= gradients.size(); k += 2)
            RUN(kernel_optimize, s, (const unsigned long long *)on_device + 2 * k, 2, n);
        say(s, "step", step, t.weights[0], t.n);
    }
    DO(cuMemFree(on_device));
}

/* Addresses in structures that are parameters, some at the ends of tensors. */
struct span_of {
    char tag;
    const word *begin, *end;
    word *out[3];
    int count;
};
NAMED __global__ void kernel_spans(struct span_of p)
{
    size_t k = 0;
    for (const word *x = p.begin; x != p.end; x++, k++)
        for (int o = 0; o < p.count; o++)
            p.out[o][k] = MIXED(*x, (word)o);
}
NAMED __global__ void kernel_reverse(const word *end, size_t n, word *out_end)
{
    for (size_t i = 1; i <= n; i++)
        *(out_end - i) = MIXED(*(end - i), 77u);
}

static void run_spans()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 == 1) {
                struct span_of p = {'x', x, x + t.n, {t.make(t.n), t.make(t.n), nullptr}, 2};
                RUN(kernel_spans, s, p);
                t.keep(p.out[0], t.n);
                t.keep(p.out[1], t.n);
                return p.out[1];
            }
            if (l % 4 == 3) { /* room behind the end, so that it lies within */
                word *wide = t.make(t.n + 64), *y = t.make(t.n + 64);
                fill(s, wide, t.n + 64, (word)l);
                fold(s, wide, x, t.n, t.n);
                fill(s, y, t.n + 64, 3);
                RUN(kernel_reverse, s, wide + t.n, t.n, y + t.n);
                t.keep(wide, t.n + 64);
                t.keep(y, t.n + 64);
                return y;
            }
            return x;
        });
}

/* Indices that are changed in place between the forward part, which uses them, and the backward part, which does again. */
NAMED __global__ void kernel_gather(const word *x, const word *index, word *y, size_t n)
{
    SPAN (i, n)
        y[i] = MIXED(x[index[i] % n], (word)i);
}
NAMED __global__ void kernel_scatter_add(const word *x, const word *index, word *y, size_t n)
{
    SPAN (i, n)
        y[index[i] % n] += x[i];
}
NAMED __global__ void kernel_reorder(word *index, size_t n, const word *clock)
{
    const word by = IS_LATE(clock) ? clock[0] : 1;
    SPAN (i, n)
        index[i] = index[i] * 5 + by;
}

static void run_indices()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *const index = lasting(t.n, 3);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            word *y;
            switch (l % 4) {
            case 0:
                y = t.make(t.n);
                RUN(kernel_gather, s, x, index, y, t.n);
                break;
            case 1:
                y = t.make(t.n);
                DO(cuMemsetD32Async(at(y), 7, t.n, s));
                RUN(kernel_scatter_add, s, x, index, y, t.n);
                break;
            case 2:
                RUN(kernel_reorder, s, index, t.n, the_clock);
                return x;
            default: /* into a copy */
                y = t.make(t.n);
                DO(cuMemcpyDtoDAsync(at(y), at(x), t.n * sizeof(word), s));
                RUN(kernel_scatter_add, s, x, index, y, t.n);
            }
            t.keep(y, t.n);
            return y;
        });
}

/* Side outputs that begin late: into a weight, into a tensor that was kept before, into the input, by C's own rules. */
NAMED __global__ void kernel_late_side(const word *x, word *side, word *y, size_t n, const word *clock, word every)
{
    SPAN (i, n)
        y[i] = MIXED(x[i], side[i]);
    if (IS_LATE(clock) && clock[0] % every == 0)
        for (size_t i = 0; i < n; i += 3)
            side[i] ^= x[i];
}

static void run_late_sides()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3 == 0)
                return x;
            word *y = t.make(t.n);
            word *side = l % 3 == 1 ? t.weights[(size_t)(l + 3) % t.weights.size()] : t.all[t.all.size() / 2].p;
            RUN(kernel_late_side, s, x, side, y, t.n, the_clock, (word)(1 + l % 2));
            t.keep(y, t.n);
            return y;
        });
}

/* A state of random numbers on the device that each launch moves on; masks are made of it; the state is put back at times.
 */
NAMED __global__ void kernel_noise(word *state, const word *x, word *y, unsigned char *mask, size_t n)
{
    const word seed = state[0];
    SPAN (i, n) {
        mask[i] = (unsigned char)((MIXED(seed, (word)i) >> 16) & 1);
        y[i] = mask[i] ? MIXED(x[i], seed) : 0;
    }
    state[0] = seed + 17;
    state[1]++;
}

static void run_noise()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *const state = lasting(2, 9);
    word saved[2];
    for (int step = 1; step <= told.steps; step++) {
        if (step % 6 == 1) {
            DO(cuMemcpyDtoHAsync(saved, at(state), sizeof(saved), s));
            DO(cuStreamSynchronize(s));
        }
        if (step % 6 == 5)
            DO(cuMemcpyHtoDAsync(at(state), saved, sizeof(saved), s));
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 2)
                return x;
            word *y = t.make(t.n), *mask = t.make(t.n / 4);
            RUN(kernel_noise, s, state, x, y, (unsigned char *)mask, t.n);
            t.keep(mask, t.n / 4);
            t.keep(y, t.n);
            return y;
        });
    }
}

/* By all calls that launch: with attributes, cooperatively, by the driver's names, with parameters in a buffer. */
static void run_launches()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    cudaFunction_t f;
    DONE(cudaGetFuncBySymbol(&f, (const void *)odd_mix));
    CUfunction mixing = (CUfunction)f;
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 == 3)
                return x;
            word *y = t.make(t.n), *w = t.weights[(size_t)l];
            size_t n = t.n;
            void *args[] = {&x, &n, &w, &n, &y, &n};
            struct {
                word *x;
                size_t nx;
                word *w;
                size_t nw;
                word *y;
                size_t n;
            } all = {x, n, w, n, y, n};
            size_t size = sizeof(all);
            void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &all, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
            CUlaunchAttribute attributes[2] = {};
            attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
            attributes[0].value.priority = 0;
            attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            attributes[1].value.programmaticStreamSerializationAllowed = 1;
            CUlaunchConfig config = {};
            config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
            config.hStream = s, config.attrs = attributes, config.numAttrs = 1 + (step % 2);
            if (l % 4 == 0)
                DO(cuLaunchKernelEx(&config, mixing, args, nullptr));
            else if (l % 4 == 1)
                DO(cuLaunchCooperativeKernel(mixing, 1, 1, 1, 1, 1, 1, 0, s, args));
            else
                DO(cuLaunchKernel(mixing, 1, 1, 1, 1, 1, 1, 0, s, nullptr, extra));
            t.keep(y, t.n);
            return y;
        });
}

/* A scale in a variable, which the program changes by its address, and a count in which kernels write. */
__device__ word kernel_scale = 3, kernel_seen = 0;
__constant__ word kernel_table[16] = {1, 2, 3};
NAMED __global__ void kernel_scaled(const word *x, word *y, size_t n)
{
    kernel_seen += x[0] & 1;
    SPAN (i, n)
        y[i] = MIXED(x[i], kernel_scale + kernel_table[i % 16]);
}

static void run_variables()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    void *scale, *seen, *table;
    DONE(cudaGetSymbolAddress(&scale, kernel_scale));
    DONE(cudaGetSymbolAddress(&seen, kernel_seen));
    DONE(cudaGetSymbolAddress(&table, kernel_table));
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 == 0) {
                word *y = t.make(t.n);
                RUN(kernel_scaled, s, x, y, t.n);
                t.keep(y, t.n);
                return y;
            }
            if (l % 8 == 5 && step % 5 == 0) {
                const word value = (word)(step + l);
                DO(cuMemcpyHtoDAsync(at(scale), &value, 4, s));
                DO(cuMemcpyDtoDAsync(at(table) + 8, at(x) + 12, 16, s));
            }
            if (l == 14 && step >= told.late)
                DO(cuMemcpyDtoDAsync(at(t.input), at(seen), 4, s));
            return x;
        });
}

/* Few rows of a large table are read, and the same are changed in place by the optimizer. */
NAMED __global__ void kernel_rows(const word *table, const word *index, word *y, size_t rows, size_t width, size_t of)
{
    SPAN (r, rows)
        for (size_t i = 0; i < width; i++)
            y[r * width + i] = MIXED(table[(index[r] % of) * width + i], (word)r);
}
NAMED __global__ void kernel_rows_back(word *table, const word *index, const word *g, size_t rows, size_t width, size_t of)
{
    SPAN (r, rows)
        for (size_t i = 0; i < width; i++)
            table[(index[r] % of) * width + i] += g[r * width + i];
}

static void run_embedding()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t width = 64, of = 3 * t.n / width, rows = t.n / width;
    word *const table = lasting(of * width, 21);
    std::vector<word> tokens(rows);
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        for (size_t r = 0; r < rows; r++)
            tokens[r] = (word)(r * r * 31 + (size_t)step * 7);
        word *index = t.make(rows), *x = t.make(t.n);
        DO(cuMemcpyHtoDAsync(at(index), tokens.data(), rows * sizeof(word), s));
        RUN(kernel_rows, s, table, index, x, rows, width, of);
        t.keep(index, rows);
        t.keep(x, t.n);
        word *last = t.forward(nullptr, -1, x);
        word *g = t.make(t.n);
        mix(s, last, x, g, t.n);
        t.backward(last, [&](int k, word *gradient) {
            if (k == 2)
                fold(s, g, gradient, t.n, t.n);
            if (k == 1)
                RUN(kernel_rows_back, s, table, index, g, rows, width, of);
        });
        t.memory.drop(g, t.n, s);
        say(s, "step", step, t.input, t.n);
    }
}

/* A list on the device whose length the device itself decides, and that is sorted in place; kernels of no footprint. */
NAMED __global__ void kernel_choose(const word *x, size_t n, word *chosen, word *count)
{
    word k = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] % 16 == 0)
            chosen[k++] = (word)i;
    *count = k;
}
NAMED __global__ void kernel_apply(word *y, const word *x, const word *chosen, const word *count)
{
    for (word k = 0; k < *count; k++)
        y[chosen[k]] = MIXED(x[chosen[k]], k);
}

static void run_chosen()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3 != 1)
                return x;
            word *chosen = t.make(t.n), *count = t.make(1), *y = t.make(t.n);
            RUN(kernel_choose, s, x, t.n, chosen, count);
            DO(cuMemcpyDtoDAsync(at(y), at(x), t.n * sizeof(word), s));
            RUN(kernel_apply, s, y, x, chosen, count);
            t.keep(count, 1);
            t.keep(y, t.n);
            t.memory.drop(chosen, t.n, s);
            return y;
        });
}

const std::vector<struct program> kernel_programs = {
    {"tables", run_tables},         {"optimizer", run_optimizer}, {"spans", run_spans},       {"indices", run_indices},
    {"late-sides", run_late_sides}, {"noise", run_noise},         {"launches", run_launches}, {"variables", run_variables},
    {"embedding", run_embedding},   {"chosen", run_chosen},
};
