/* odd.h - what the programs of odd are made of: calls of the driver for memory, streams and graphs, kernels of words, and a
 * trunk of layers whose tensors lie between the forward and the backward part of a step.
 *
 * All bits of what is printed depend on all bits that were kept. What the data say is said by a clock on the device,
 * {step, first late step}. */
#ifndef ODD_H
#define ODD_H
#include "../launch.h"
#include <cuda.h>
#include <cuda_runtime.h>
#include <functional>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#ifdef ODD_UNTOLD
#define NAMED extern "C" /* a name in C says nothing of what the kernel may write */
#else
#define NAMED
#endif

using word = uint32_t;

struct told {
    int steps = 40, late = 30, layers = 16;
    size_t words = 64 << 10;
};
extern struct told told;

void check_driver(CUresult r, const char *call, const char *file, int line);
void check_runtime(cudaError_t r, const char *call, const char *file, int line);
#define DO(call)   check_driver((call), #call, __FILE__, __LINE__)
#define DONE(call) check_runtime((call), #call, __FILE__, __LINE__)
#define RUN(kernel, s, ...) \
    do { \
        kernel<<<1, 1, 0, (s)>>>(__VA_ARGS__); \
        DONE(cudaGetLastError()); \
    } while (0)

#define ODD         1664525u
#define MIXED(a, b) ((a)*ODD + ((b) ^ (b) >> 15) + 1013904223u)
#define IS_LATE(c)  ((c)[0] >= (c)[1])
#define EACH        100.0

NAMED __global__ void odd_mix(const word *x, size_t nx, const word *w, size_t nw, word *y, size_t n);
NAMED __global__ void odd_fold(word *y, const word *x, size_t nx, size_t n);
NAMED __global__ void odd_fill(word *y, size_t n, word seed);
NAMED __global__ void odd_digest(const word *x, size_t n, unsigned long long *sum);
NAMED __global__ void odd_tick(word *clock);

static inline CUdeviceptr at(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}
static inline word *words_at(CUdeviceptr p)
{
    return (word *)(uintptr_t)p;
}

void mix(CUstream s, const word *x, size_t nx, const word *w, size_t nw, word *y, size_t n);
static inline void mix(CUstream s, const word *x, const word *w, word *y, size_t n)
{
    mix(s, x, n, w, n, y, n);
}
void fold(CUstream s, word *y, const word *x, size_t nx, size_t n);
void fill(CUstream s, word *y, size_t n, word seed);
void tick(CUstream s);
CUstream new_stream(unsigned flags = CU_STREAM_NON_BLOCKING);
CUevent new_event(unsigned flags = CU_EVENT_DISABLE_TIMING);
void order(CUstream before, CUstream after); /* by an event of its own */
unsigned long long digest_now(CUstream s, const word *x, size_t n);
/* Prints a step's figure, which waits for the stream. */
void say(CUstream s, const char *what, int number, const word *x, size_t n);
extern word *the_clock; /* on the device */

/* In stream order; counts. */
struct memory {
    std::function<word *(size_t words, CUstream s)> make;
    std::function<void(word *p, size_t words, CUstream s)> drop;
};
extern const struct memory plain_memory, async_memory;
word *lasting(size_t words, word seed); /* to the end of the program */
unsigned long long digest_lasting();
void lasting_drop();

struct trunk {
    struct kept {
        word *p;
        size_t n;
        bool owned;
    };
    struct memory memory;
    CUstream s;
    std::vector<word *> weights;
    size_t n;
    word *input;
    std::vector<kept> all;

    explicit trunk(const struct memory &m, CUstream stream, int layers = told.layers, size_t words = told.words);
    word *make(size_t words)
    {
        return memory.make(words, s);
    }
    void keep(word *p, size_t words, bool owned = true)
    {
        all.push_back({p, words, owned});
    }
    /* hook(layer, x) may make another x, and keeps what it makes. */
    word *forward(const std::function<word *(int layer, word *x)> &hook = nullptr, int layers = -1,
                  const word *from = nullptr);
    /* hook(layer, gradient) before the tensor is used. */
    void backward(const word *last, const std::function<void(int kept, word *g)> &hook = nullptr, bool updates = true);
    void step(int number, const std::function<word *(int layer, word *x)> &hook = nullptr);
};

struct program {
    const char *name;
    void (*run)();
};
#define PROGRAMS(file) extern const std::vector<struct program> file##_programs
PROGRAMS(memory);
PROGRAMS(stream);
PROGRAMS(graph);
PROGRAMS(host);
PROGRAMS(shape);
PROGRAMS(kernel);
PROGRAMS(sharing);
PROGRAMS(habits);
PROGRAMS(calls);
#endif
