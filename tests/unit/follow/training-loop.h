/* training-loop.h - a small training loop on the fake device, through the engine: layers forward and backward, with bytes
 * that are checked at every operation.
 *
 * The device keeps up with the host or lags behind it, as the test says. */
#ifndef SPILLWAY_TESTS_UNIT_TRAINING_LOOP_H
#define SPILLWAY_TESTS_UNIT_TRAINING_LOOP_H
#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

#include "ledger.h"
#include "settings.h"

#define LOOP_BYTES ((size_t)64 << 10) /* of each tensor */
enum {
    LOOP_LAYERS = 8,
    LOOP_TENSORS = 2 * LOOP_LAYERS + 1, /* alive at once, at most, as the loop is at first */
    LOOP_STALE = 4,
    LOOP_BACKWARD = 200 /* the function of the first layer's backward operation; the others' follow */
};

struct training_loop {
    struct spw_device *device;
    CUcontext context;
    CUstream stream;
    CUdeviceptr weights[LOOP_LAYERS], activations[LOOP_LAYERS], batch, next_batch;
    uint8_t weight_values[LOOP_LAYERS], batch_value, next_batch_value;
    unsigned step;        /* so many are done */
    size_t bytes;         /* of an activation: another batch size has other ones */
    uint64_t geometry;    /* of its launches */
    bool device_lags;     /* it runs when somebody waits, or at the end of a step; else right behind each operation */
    bool loads_ahead;     /* the batch of the next step is allocated during this one */
    bool frees_nothing;   /* during a step: all activations at its end */
    unsigned skips;       /* a layer also reads the activation of so many layers before it; 0: it does not */
    unsigned stale;       /* so many weights (LOOP_STALE at most) each layer names as well, without being known by them */
    unsigned leaves_out;  /* a bit for each layer without an operation on the way back */
    bool evaluates_alike; /* by the kernels of the way forward */
    bool is_strict;       /* a copy out that is submitted behind an operation has to be due there */
    bool is_patient;      /* what is refused is asked for again, once */
    uint64_t named;       /* launches of this function say that they are, so that its name can be asked for; 0: none does */
    uint64_t refused;     /* operations that there was no memory for */
    const struct spw_scan_doubted *doubted;    /* of what is launched; NULL: nothing */
    void (*after)(struct training_loop *loop); /* behind each operation; NULL: nothing */
};

/* Forgets everything of an earlier test. `budget` of the device's memory, LOOP_BYTES for each tensor that is to fit. */
void loop_start(struct training_loop *loop, uint64_t budget, enum spw_plan_setting plan);
void loop_step(struct training_loop *loop);     /* forward, backward, and the end of it */
void loop_evaluate(struct training_loop *loop); /* forward alone, by other kernels */
void loop_steps(struct training_loop *loop, unsigned count);

/* One operation. `hits`: the last `read_only` of them are only read. False: refused. */
bool loop_launch(struct training_loop *loop, uint64_t function, CUdeviceptr *hits, unsigned count, unsigned read_only);
void loop_end_launch(struct training_loop *loop); /* of the one that loop_launch() began */
CUdeviceptr loop_allocate(struct training_loop *loop, size_t bytes);
void loop_free(struct training_loop *loop, CUdeviceptr address);

/* Every weight has its bytes, and the ledger is in order. */
void loop_check(struct training_loop *loop);
#endif
