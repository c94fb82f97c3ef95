/* habits.cu - programs with habits of training programs and libraries: caches, lazy states, tied weights, pages, tries. */
#include "odd.h"
#include <algorithm>
#include <map>

/* Small tensors: a bias of each layer's, made of what the layer gets, changed in place between the two parts of a step. */
NAMED __global__ void habits_bias(const word *x, size_t n, word *bias, size_t small)
{
    for (size_t k = 0; k < small; k++)
        bias[k] = MIXED(x[k * (n / small)], (word)k);
}
NAMED __global__ void habits_biased(word *y, const word *bias, size_t small, size_t n)
{
    SPAN (i, n)
        y[i] += bias[i % small];
}
static void run_small()
{
    CUstream s = new_stream(), side = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++) {
        tick(s);
        std::vector<word *> biases;
        word *x = t.forward([&](int l, word *y) {
            const size_t small = 100 + 33 * (size_t)(l % 7);
            word *bias = async_memory.make(small, l % 2 ? s : side);
            if (l % 2 == 0)
                order(side, s);
            RUN(habits_bias, s, y, t.n, bias, small);
            word *z = t.make(t.n);
            mix(s, y, bias, z, t.n > small ? small : t.n);
            mix(s, y, t.n, bias, small, z, t.n);
            RUN(habits_biased, s, z, bias, small, t.n);
            t.keep(z, t.n);
            biases.push_back(bias);
            if (biases.size() > 2)
                fold(s, biases[biases.size() - 3], bias, 50, 100); /* an earlier one is changed */
            return z;
        });
        t.backward(x);
        for (word *b : biases) {
            fold(s, t.input, b, 100, t.n);
            async_memory.drop(b, 0, s);
        }
        say(s, "step", step, t.input, t.n);
    }
}

/* Hundreds of addresses by value in one structure. */
struct addresses {
    word *w[400];
    const word *g;
    size_t n, count;
};
NAMED __global__ void habits_for_each(struct addresses a)
{
    for (size_t k = 0; k < a.count; k++)
        for (size_t i = 0; i < a.n; i++)
            a.w[k][i] = MIXED(a.w[k][i], a.g[i] + (word)k);
}
static void run_many_arguments()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const size_t n = 300;
    struct addresses a = {};
    std::vector<word *> own;
    for (int k = 0; k < 400; k++)
        own.push_back(lasting(n, 40 + (word)k));
    for (int step = 1; step <= told.steps; step++) {
        a.n = n, a.g = t.input, a.count = step % 3 ? 400 : 170;
        for (size_t k = 0; k < a.count; k++)
            a.w[k] = own[(k + (step >= told.late ? (size_t)step : 0)) % own.size()];
        RUN(habits_for_each, s, a);
        t.step(step, [&](int l, word *x) {
            if (l == 3 || l == 9)
                fold(s, x, own[(size_t)l * 17], n, t.n);
            return x;
        });
    }
}

/* The same weights at two places, and the same tensor kept twice, changed in place in between. */
static void run_tied()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    t.weights[t.weights.size() - 1] = t.weights[0];
    t.weights[t.weights.size() / 2] = t.weights[1];
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) {
            if (l % 2 == 0) {
                fold(s, x, t.weights[0], t.n, t.n);
                t.keep(x, t.n, false);
            }
            if (l % 5 == 4) {
                word *earlier = t.all[t.all.size() - 4].p; /* kept long ago, and changed now */
                fold(s, earlier, x, t.n, t.n / 2);
            }
            return x;
        });
}

/* A tensor that eighty small writes make, in place and in part. */
static void run_many_writers()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 6 != 2)
                return x;
            word *y = t.make(t.n);
            const size_t each = t.n / 40;
            DO(cuMemsetD8Async(at(y), 0, t.n * sizeof(word), s));
            for (size_t k = 0; k < 80; k++)
                fold(s, y + (k % 40) * each, x + k * 16, each, each);
            t.keep(y, t.n);
            return y;
        });
}

/* Memory that the driver itself moves, with pitch, beside what is allocated plainly. */
static void run_managed()
{
    CUstream s = new_stream();
    trunk t(plain_memory, s);
    CUdeviceptr managed, pitched;
    size_t pitch;
    DO(cuMemAllocManaged(&managed, t.n * sizeof(word) / 2, CU_MEM_ATTACH_GLOBAL));
    memset((void *)managed, 3, t.n * sizeof(word) / 2);
    for (int step = 1; step <= told.steps; step++) {
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 5 == 2) {
                word *y = t.make(t.n);
                mix(s, x, t.n, words_at(managed), t.n / 2, y, t.n);
                fold(s, words_at(managed), y, 1000, t.n / 2);
                t.keep(y, t.n);
                return y;
            }
            if (l % 5 == 4) {
                DO(cuMemAllocPitch(&pitched, &pitch, 1000, 200, 4));
                DO(cuMemsetD2D8Async(pitched, pitch, (unsigned char)l, 1000, 200, s));
                CUDA_MEMCPY2D c = {};
                c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
                c.srcDevice = at(x), c.srcPitch = 1000, c.dstDevice = pitched, c.dstPitch = pitch;
                c.WidthInBytes = 777, c.Height = 190;
                DO(cuMemcpy2DAsync(&c, s));
                word *y = t.make(t.n);
                mix(s, x, t.n, words_at(pitched + 3 * pitch), 190, y, t.n);
                DO(cuStreamSynchronize(s));
                DO(cuMemFree(pitched));
                t.keep(y, t.n);
                return y;
            }
            return x;
        });
        ((word *)managed)[step] += 5;
    }
    DO(cuMemFree(managed));
}

/* A cache of tensors that were computed once, made anew when they are too short; states that come with the first update. */
static void run_lazy()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    word *table = nullptr;
    size_t have = 0;
    std::map<word *, word *> states;
    for (int step = 1; step <= told.steps; step++) {
        const size_t wanted = t.n / 4 + (size_t)(step / 12) * 5000;
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 3)
                return x;
            if (have < wanted) {
                if (table)
                    t.memory.drop(table, have, s);
                table = t.make(wanted);
                fill(s, table, wanted, 17);
                have = wanted;
            }
            word *y = t.make(t.n);
            mix(s, x, t.n, table, wanted, y, t.n);
            t.keep(y, t.n);
            return y;
        });
        for (size_t l = 0; l < t.weights.size(); l++) { /* not all weights have gradients in the first steps */
            if (step < 5 && l % 3)
                continue;
            word *&m = states[t.weights[l]];
            if (!m) {
                m = t.make(t.n / 8);
                DO(cuMemsetD32Async(at(m), 0, t.n / 8, s));
            }
            fold(s, m, t.weights[l], t.n, t.n / 8);
            fold(s, t.weights[l], m, t.n / 8, t.n / 2);
        }
    }
    for (auto &one : states) {
        say(s, "state", 0, one.second, t.n / 8);
        t.memory.drop(one.second, t.n / 8, s);
    }
    t.memory.drop(table, have, s);
}

/* An average of the weights is exchanged with them by three copies before an evaluation, and back behind it. */
static void run_averages()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    std::vector<word *> average;
    const size_t bytes = t.n * sizeof(word);
    for (size_t l = 0; l < t.weights.size(); l++)
        average.push_back(lasting(t.n, 600 + (word)l));
    const auto exchange = [&] {
        word *between = t.make(t.n);
        for (size_t l = 0; l < average.size(); l++) {
            DO(cuMemcpyDtoDAsync(at(between), at(average[l]), bytes, s));
            DO(cuMemcpyDtoDAsync(at(average[l]), at(t.weights[l]), bytes, s));
            DO(cuMemcpyDtoDAsync(at(t.weights[l]), at(between), bytes, s));
        }
        t.memory.drop(between, t.n, s);
    };
    for (int step = 1; step <= told.steps; step++) {
        t.step(step);
        for (size_t l = 0; l < average.size(); l++)
            fold(s, average[l], t.weights[l], t.n, t.n);
        if (step % 6 == 0) {
            exchange();
            word *x = t.forward();
            say(s, "evaluation", step, x, t.n);
            for (; !t.all.empty(); t.all.pop_back())
                t.memory.drop(t.all.back().p, t.n, s);
            exchange();
        }
    }
}

/* Keys in pages of one large tensor, by a table of numbers that the host changes in each step, from its stack. */
NAMED __global__ void habits_put(word *pages, const int *table, int place, size_t each, const word *x)
{
    for (size_t i = 0; i < each; i++)
        pages[(size_t)table[place] * each + i] = MIXED(x[i], (word)place);
}
NAMED __global__ void habits_get(const word *pages, const int *table, int count, size_t each, const word *x, word *y,
                                 size_t n)
{
    SPAN (i, n) {
        word sum = x[i];
        for (int k = 0; k < count; k++)
            sum = MIXED(sum, pages[(size_t)table[k] * each + i % each]);
        y[i] = sum;
    }
}
static void run_pages()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    const int pages = 32;
    const size_t each = t.n / 16;
    word *pool = lasting(each * pages, 1);
    CUdeviceptr table;
    DO(cuMemAlloc(&table, pages * sizeof(int)));
    for (int step = 1; step <= told.steps; step++) {
        int numbers[pages];
        for (int k = 0; k < pages; k++)
            numbers[k] = (k * 7 + step * (step >= told.late ? 3 : 1)) % pages;
        DO(cuMemcpyHtoDAsync(table, numbers, sizeof(numbers), s));
        memset(numbers, 0, sizeof(numbers));
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n);
            RUN(habits_put, s, pool, (const int *)table, (l + step) % pages, each, x);
            RUN(habits_get, s, pool, (const int *)table, 3 + l % 3, each, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
    }
    DO(cuStreamSynchronize(s));
    DO(cuMemFree(table));
}

/* Which of two buffers holds what counts, the device decides, and a word tells. */
NAMED __global__ void habits_pass(word *a, word *b, word *which, size_t n)
{
    word *from = *which ? b : a, *to = *which ? a : b;
    if (from[0] % 3 == 0)
        return;
    for (size_t i = 0; i < n; i++)
        to[i] = MIXED(from[i], from[(i * 7 + 1) % n]);
    *which = !*which;
}
NAMED __global__ void habits_take(const word *a, const word *b, const word *which, word *y, size_t n)
{
    const word *from = *which ? b : a;
    SPAN (i, n)
        y[i] = from[i];
}
static void run_selector()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 2)
                return x;
            word *a = t.make(t.n), *b = t.make(t.n), *which = t.make(1), *y = t.make(t.n);
            DO(cuMemcpyDtoDAsync(at(a), at(x), t.n * sizeof(word), s));
            DO(cuMemsetD32Async(at(which), 0, 1, s));
            for (int k = 0; k < 4; k++)
                RUN(habits_pass, s, a, b, which, t.n);
            RUN(habits_take, s, a, b, which, y, t.n);
            t.memory.drop(a, t.n, s);
            t.memory.drop(b, t.n, s);
            t.keep(which, 1);
            t.keep(y, t.n);
            return y;
        });
}

/* Calls that fail, as the program expects: launches of too many threads, memory beyond all bounds, wrong addresses. */
static void run_tries()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    cudaFunction_t f;
    DONE(cudaGetFuncBySymbol(&f, (const void *)odd_mix));
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *y = t.make(t.n);
            size_t n = t.n;
            void *args[] = {&x, &n, &x, &n, &y, &n};
            CUdeviceptr p;
            const CUresult wide = cuLaunchKernel((CUfunction)f, 1, 1, 1, 5000, 1, 1, 0, s, args, nullptr);
            const CUresult none = cuLaunchKernel((CUfunction)f, 0, 1, 1, 1, 1, 1, 0, s, args, nullptr);
            const CUresult much = cuMemAlloc(&p, (size_t)1 << 50);
            const CUresult much2 = cuMemAllocAsync(&p, (size_t)1 << 50, s);
            const CUresult wrong = cuMemFree(at(y) + 64);
            const CUresult beyond = cuMemsetD8Async(at(y), 0, (size_t)1 << 40, s);
            if (!wide || !none || !much || !much2 || !wrong || !beyond)
                printf("tries %d %d %d %d %d %d\n", wide, none, much, much2, wrong, beyond);
            mix(s, x, x, y, t.n);
            t.keep(y, t.n);
            return y;
        });
}

/* The program takes nearly all that is free in a few large blocks, when it begins, and cuts them. */
static void run_all_of_it()
{
    CUstream s = new_stream();
    const size_t n = told.words, blocks = 8, each = 3;
    std::vector<word *> block, space;
    for (size_t b = 0; b < blocks; b++) {
        block.push_back(plain_memory.make(each * n, nullptr));
        for (size_t i = 0; i < each; i++)
            space.push_back(block[b] + i * n);
    }
    const struct memory m = {[&](size_t, CUstream) {
                                 if (space.empty())
                                     exit(1);
                                 word *p = space.back();
                                 space.pop_back();
                                 return p;
                             },
                             [&](word *p, size_t, CUstream) { space.insert(space.begin() + (long)(space.size() / 2), p); }};
    trunk t(m, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step);
    for (word *p : block)
        DO(cuMemFree(at(p)));
}

/* Names of tensors that begin with 1: the address that kernels get lies a word before the tensor. */
NAMED __global__ void habits_from_one(const word *x, word *y, size_t n)
{
    for (size_t i = 1; i <= n; i++)
        y[i] = MIXED(x[i], (word)i);
}
static void run_from_one()
{
    CUstream s = new_stream();
    trunk t(async_memory, s);
    for (int step = 1; step <= told.steps; step++)
        t.step(step, [&](int l, word *x) -> word * {
            if (l % 4 != 1)
                return x;
            word *wide = t.make(t.n + 1), *y = t.make(t.n + 1);
            fill(s, y, 1, 4);
            fill(s, wide, 1, 5);
            DO(cuMemcpyDtoDAsync(at(wide + 1), at(x), t.n * sizeof(word), s));
            RUN(habits_from_one, s, wide, y, t.n);
            t.keep(wide, t.n + 1);
            t.keep(y, t.n + 1);
            return y;
        });
}

const std::vector<struct program> habits_programs = {
    {"small", run_small},         {"many-arguments", run_many_arguments},
    {"tied", run_tied},           {"many-writers", run_many_writers},
    {"managed", run_managed},     {"lazy", run_lazy},
    {"averages", run_averages},   {"pages", run_pages},
    {"selector", run_selector},   {"tries", run_tries},
    {"all-of-it", run_all_of_it}, {"from-one", run_from_one},
};
