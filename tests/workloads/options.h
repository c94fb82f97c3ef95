/* options.h - the command line that all training programs share. */
#ifndef WORKLOADS_OPTIONS_H
#define WORKLOADS_OPTIONS_H
#include "device.h"
#include <string>
#include <vector>

/* The dimensions of a model. 0 means that the model has no such dimension. */
struct dimensions {
    int layers, width, heads, batch, sequence, steps;
};

/* What a program tells about itself. */
struct program {
    const char *about; /* one sentence for --help */
    struct dimensions tiny, small, base;
    bool in_place = false; /* has activations that can be computed in place */
    bool dropout = false;  /* has places for dropout */
};

struct options {
    struct dimensions size;
    uint64_t seed;
    int streams, accumulate, device;
    int evaluate_every, noise_every; /* steps; 0: never */
    std::vector<int> schedule;       /* batch sizes, used in turn; empty: always size.batch */
    bool short_last, keep_losses, step_times, check;
    float dropout; /* share of numbers that become 0, from 0 to less than 1 */
    bool in_place; /* activations and their gradients, where no one needs what was there */
    bool fused;    /* the optimizer updates several parameters with each kernel */
    enum allocator allocator;
    std::string data; /* empty: the usual file */
};

/* Examples in training step `step`, 0 being the first. */
int batch_size(const struct options &o, int step);
int largest_batch(const struct options &o);

/* Ends the program with a message and status 2 when the command line is wrong, and after --help. */
struct options read_options(const struct program &program, int argc, char **argv);
#endif
