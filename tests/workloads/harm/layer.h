/* layer.h - what the layers of harm are made of: kinds of operations that are right, and awkward for whoever runs kernels
 * again.
 *
 * A tensor is words, and what is made of words changes with each bit of them: nothing fades, nothing is rounded. All work is
 * on COMPUTE. What the data say is said by a clock on the device, {step, first step that is late}, which no host parameter
 * shows. */
#ifndef HARM_LAYER_H
#define HARM_LAYER_H
#include "array.h"
#include "launch.h"
#include <functional>
#include <memory>
#include <vector>

using words = array<uint32_t>;

static inline words make(size_t count) /* uninitialised */
{
    return words(1, count);
}

/* Makes something dense of a tensor of which a part was never written. */
using reader = std::function<words(const words &value)>;

/* What layers find. */
class training
{
  public:
    virtual ~training() = default;
    /* For the backward part, which reads `value`, or what `read` makes of it. */
    virtual void keep(const words &value, const reader &read = nullptr) = 0;
    /* A tensor that lives to the end, filled by `seed`; its bits are told at the end. */
    virtual words persistent(size_t count, uint32_t seed) = 0;

    words clock;  /* 2 words */
    int step = 0; /* from 1 */
};

class layer
{
  public:
    virtual ~layer() = default;
    /* Makes the output of an input. */
    virtual words forward(training &t, const words &x) = 0;
    /* Between the forward and the backward part of each step. */
    virtual void between(training &)
    {
    }
};

/* `count`: words in its large tensors. */
struct kind {
    const char *name;
    std::unique_ptr<layer> (*create)(training &t, size_t count);
    const char *what;
};

template <class T> std::unique_ptr<layer> create(training &t, size_t count)
{
    return std::make_unique<T>(t, count);
}
template <class T, int variant> std::unique_ptr<layer> create_variant(training &t, size_t count)
{
    return std::make_unique<T>(t, count, variant);
}

/* By file. */
extern const std::vector<struct kind> index_kinds, partial_kinds, late_kinds, state_kinds, graph_kinds, host_kinds,
    stored_kinds;
extern const std::vector<struct kind> ordered_kinds; /* not among those that are listed, and drawn from */

/* y[i] = f(x[i], w[i]); where x or w is shorter it begins again. What is between the kinds. */
void plain(const words &x, const words &w, const words &y);
/* w[i] = f(w[i], g[i]) */
void update(const words &w, const words &g);
/* y[i] = f(i, seed) */
void fill(const words &y, uint32_t seed);

static inline words plain(const words &x, const words &w)
{
    words y = make(x.count());
    plain(x, w, y);
    return y;
}

/* kernel<<<…>>> over `count` elements, with arguments; one block of one thread; so many blocks of one thread. */
#define LAUNCH(kernel, count, ...) \
    do { \
        kernel<<<blocks_for(count), THREADS, 0, stream_of(COMPUTE)>>>(__VA_ARGS__); \
        CHECK_LAUNCH(kernel); \
    } while (0)
#define LAUNCH_BLOCKS(kernel, blocks, ...) \
    do { \
        kernel<<<(blocks), 1, 0, stream_of(COMPUTE)>>>(__VA_ARGS__); \
        CHECK_LAUNCH(kernel); \
    } while (0)

/* On the device, in footprints: operations for each element. */
#define EACH 100.0

#define ODD         1664525u
#define MIXED(a, b) ((a)*ODD + ((b) ^ (b) >> 15) + 1013904223u)
#define IS_LATE(c)  ((c)[0] >= (c)[1])
#endif
