/* programs.h - training programs made of numbers, which tell a detector what they do and judge what it answers.
 *
 * Every operation and allocation carries a label, the place in the program that it comes from (loop counters included), and
 * each iteration of the program begins with program_step(). An ordinal is right when it always stands for the same label. */
#ifndef SPILLWAY_TESTS_PROGRAMS_H
#define SPILLWAY_TESTS_PROGRAMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/iteration.h"

enum { PROGRAM_SHAPES = 64, PROGRAM_LIVE = 1 << 16, PROGRAM_MICRO_SHIFT = 48 };

struct map { /* ordinal -> label, for one shape */
    uint32_t shape;
    uint64_t *op, *alloc; /* 0: not seen yet */
    uint32_t length, allocs;
};

struct program_watcher { /* is told what the detector is told, behind it */
    void (*alloc)(void *context, uint64_t id, uint64_t bytes);
    void (*free)(void *context, uint64_t id);
    void (*op)(void *context, const struct spw_iteration_op *op, const struct spw_iteration_place *place, uint64_t label);
    void *context;
};

struct program {
    struct spw_iteration *detector;
    const struct program_watcher *watcher; /* may be NULL */
    uint32_t loose;                        /* of the touches of each operation to come, the last so many are */
    uint64_t seed, random;
    uint64_t next_id;

    /* What the detector said. */
    struct spw_iteration_place place; /* of the latest operation */
    uint64_t found_op;                /* first operation with a place; UINT64_MAX: none yet */
    uint64_t ops, bones;
    uint64_t sure, likely, off; /* operations by answer */
    uint64_t wrong_sure, wrong_likely, wrong_allocs, right_allocs;
    uint64_t begins;
    uint64_t step_begins; /* operations said to begin an iteration since program_step() */
    struct map maps[PROGRAM_SHAPES];
    uint32_t map_count;
    uint32_t whole_length; /* shorter shapes are judged without the number of the micro-step */

    /* The truth. */
    uint64_t steps, step_op;       /* iterations begun; the first operation of this one */
    uint64_t labels[PROGRAM_LIVE]; /* of allocations by id, wrapping around */
    uint64_t programs;             /* random ones made so far */
};

struct program *program_create(size_t max_operations, uint64_t seed);
void program_destroy(struct program *program);

uint64_t program_random(struct program *program, uint64_t below);
void program_step(struct program *program);

uint64_t program_alloc(struct program *program, uint64_t bytes, uint64_t label);
void program_free(struct program *program, uint64_t id);

/* `touched`: ids, ended by 0, with `bytes` being a function of the id that the program knows. */
struct object {
    uint64_t id, bytes;
};
void program_op(struct program *program, enum spw_iteration_kind kind, uint64_t function, uint64_t geometry, uint64_t label,
                const struct object *touched, uint32_t count);

/* The shape that is followed now; a length of 0 when there is none. */
struct spw_iteration_shape program_shape(const struct program *program);
uint32_t program_followed(const struct program *program); /* its length */

/* ---- a training loop */
enum { MODEL_LAYERS = 64 };

struct model {
    /* how it is built */
    uint32_t layers;
    uint64_t seed;    /* of its sizes */
    uint64_t batch;   /* scales activations and grids */
    bool equal;       /* all layers alike */
    bool in_place;    /* all memory is made once */
    uint32_t times;   /* time steps of each layer, 1 for none */
    bool lazy_states; /* the optimizer's states come with its first step */
    bool momentum;    /* there are states at all */
    bool grads_stay;  /* gradients live across iterations */
    bool input;       /* each micro-step begins with a copy from the host */
    bool loader;      /* the next step's data come from another thread, at any time during this step */

    /* what it has */
    struct object weight[MODEL_LAYERS], grad[MODEL_LAYERS], state[MODEL_LAYERS], activation[MODEL_LAYERS], data, next;
    struct object *steps;    /* activations, layers * times */
    uint32_t calls, load_at; /* forward and backward calls of this step, and when the loader comes */
};

struct model model_plain(void);                   /* six layers, momentum, input from the host */
uint32_t model_length(const struct model *model); /* operations of one iteration, without accumulation */
void model_setup(struct program *program, struct model *model);
void model_free(struct program *program, struct model *model);
void model_micro_step(struct program *program, struct model *model, uint32_t micro); /* input, forward, backward */
void model_update(struct program *program, struct model *model);
void model_evaluate(struct program *program, struct model *model, uint64_t batch);
void model_log(struct program *program, struct model *model, uint32_t kernels);
void model_keep(struct program *program, const struct model *model, uint64_t bytes); /* a tensor that stays for ever */
void model_train(struct program *program, struct model *model);                      /* program_step, micro-step, update */
#endif
