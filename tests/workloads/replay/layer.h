/* layer.h - what the layers of replay are made of: kinds of producers, and what of their outputs is used again later.
 *
 * All tensors have the same shape, apart from weights, which are one row. All work is on COMPUTE. */
#ifndef REPLAY_LAYER_H
#define REPLAY_LAYER_H
#include "array.h"
#include <functional>

/* The last operation that made a tensor, to be done anew into another one. */
using producer = std::function<void(const tensor &to)>;

/* What layers find when they compute their outputs. */
class forward_part
{
  public:
    forward_part(size_t rows, size_t columns, uint64_t seed);
    virtual ~forward_part() = default;

    /* Keeps a tensor that is never written again for the backward part. `exact`: it is the same in every run; otherwise it
     * can only be compared with itself. */
    virtual void keep(const tensor &value, bool exact, const producer &again) = 0;
    /* Memory for one, uninitialised. */
    tensor output() const
    {
        return tensor(rows, columns);
    }

    const size_t rows, columns;

    /* What lives from the first step to the last. */
    const tensor mixing;           /* columns x columns */
    const tensor partial;          /* what the parts of a product leave for the last one */
    const array<unsigned> tickets; /* how many of them have come; 0 between launches */
    tensor scaled;                 /* of kind `scale`, made by the first layer of it */
    float *told = nullptr;         /* of kind `told`: a row in the host's memory; whoever runs the steps frees it */
    unsigned times_told = 0;       /* by the host so far */
    int number = 0;                /* that is being computed, from 0 */
};

/* Computes a layer's output from its input and its weights. */
using forward = tensor (*)(forward_part &f, const tensor &weights, const tensor &x);

/* Kinds of layers. What the last operation of one makes can be made anew by that operation alone ... */
tensor forward_plain(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_matmul(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_struct(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_copy(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_set(forward_part &f, const tensor &weights, const tensor &x);
/* ... if what has been freed since is made first, */
tensor forward_chain(forward_part &f, const tensor &weights, const tensor &x);
/* ... as long as variables of the module have not been changed, */
tensor forward_global(forward_part &f, const tensor &weights, const tensor &x);
/* ... together with the operation before it, */
tensor forward_in_place(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_two_outputs(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_half(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_old(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_turns(forward_part &f, const tensor &weights, const tensor &x); /* from the 15th step on */
/* ... or not at all. */
tensor forward_atomics(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_clock(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_counter(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_scale(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_tracks(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_wears(forward_part &f, const tensor &weights, const tensor &x);
/* Kinds whose input is another after the output was made (hazards.cu). `aside` needs two streams. */
tensor forward_updated(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_reused(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_aside(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_told(forward_part &f, const tensor &weights, const tensor &x);
/* Kinds that go on from what the launch before left in variables of the module (states.cu). */
tensor forward_tally(forward_part &f, const tensor &weights, const tensor &x);
tensor forward_random(forward_part &f, const tensor &weights, const tensor &x);

/* y = squash(x * weights + 0.25), element by element: what is between the kinds, and the first of them. */
void plain(const tensor &x, const tensor &weights, const tensor &y);
tensor plain(forward_part &f, const tensor &x, const tensor &weights);
/* y = squash(y / 2 + x). */
void blend(const tensor &y, const tensor &x);

/* Gives the variables of the module, hidden inputs of kind `global`, other values from now on. */
void change_globals(int step);
/* How often kernels of kind `counter` were run, by their own count. Waits for the device. */
unsigned calls_counted(void);

/* Into the range from -1 to 1. */
#define SQUASHED(x) ((x) / (1.0f + fabsf(x)))
#endif
