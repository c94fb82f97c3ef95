/* sketch.h - nets by their memory: what is made of what, how large, how long it takes, and what the way back needs.
 *
 * Nothing is learned. What a kernel makes depends on the bits of all that it reads, so a byte that is lost shows in all
 * losses that follow. Sizes are in KiB; costs in microseconds for each MiB that is made. */
#ifndef WORKLOADS_SKETCH_H
#define WORKLOADS_SKETCH_H
#include "array.h"
#include <functional>
#include <vector>

using words = array<uint32_t>;

words words_of(double kib);

/* What comes out of up to four tensors. `kind` chooses among kernels that do the same. */
void make(int kind, double cost, const std::vector<words> &from, const words &to);
void add_to_words(const words &sum, const words &part);
void scale_words(const words &what, uint32_t factor);
void update(const words &weight, const words &first, const words &second, const words &gradient);

struct weights {
    words value, grad, first, second;

    explicit weights(double kib);
};

/* The weights of a net; they stay where they are. */
struct net {
    std::vector<std::unique_ptr<weights>> all;

    weights *add(double kib)
    {
        all.push_back(std::make_unique<weights>(kib));
        return all.back().get();
    }
    void adam();
    void zero();
};

/* Copies are the same value. */
struct value {
    words what;
    std::shared_ptr<words> grad; /* none: no one wants it */
};

enum save { SAVE_INPUTS = 1, SAVE_OUTPUT = 2 };

class tape
{
  public:
    bool recording = true;

    value apply(int kind, double kib, double cost, const std::vector<value> &from, weights *w = nullptr,
                int saved = SAVE_INPUTS);
    void on_backward(std::function<void()> step)
    {
        steps.push_back(std::move(step));
    }
    void backward(const value &loss);
    void go_back();

  private:
    std::vector<std::function<void()>> steps;
};

value constant(const words &what);
void give(const value &to, const words &part);

struct context {
    int step;       /* from 0 on */
    double size;    /* multiplies all sizes */
    double cost;    /* multiplies all costs */
    int repeat;     /* layers, time steps, micro-batches: what the net has many of; 0: its own number */
    uint32_t *host; /* pinned, 64 words */
};

/* The input of a step, from pinned memory. */
words upload(const context &c, double kib);
uint64_t drawn(const context &c, int what);

/* A net, made once; each step leaves a loss of one word. */
struct sketch {
    virtual ~sketch() = default;
    virtual words step(const context &c) = 0;
    std::vector<net *> nets;
};

std::unique_ptr<sketch> sketch_named(const char *name, const context &c);
const char *sketch_name(int index); /* NULL: no more */
#endif
