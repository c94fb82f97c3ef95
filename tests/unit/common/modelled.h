/* modelled.h - tensors that are used at random, each with the bytes that it has to hold, on either of two streams.
 *
 * As programs do it: the next use on another stream is ordered behind the last one, and so is a free. */
#ifndef SPILLWAY_TESTS_MODELLED_H
#define SPILLWAY_TESTS_MODELLED_H
#include "carried.h"
#include "unlocked.h"

enum { MODELLED = 16 };

static struct {
    CUdeviceptr a; /* 0: not allocated */
    size_t bytes;
    unsigned char value;
    bool written;
    CUstream last; /* that used it */
} model[MODELLED];

static CUevent order_event;
static uint32_t seed;

static inline unsigned any(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* On a device that has begun anew. */
static inline void model_reset(uint32_t first)
{
    memset(model, 0, sizeof(model));
    seed = first;
    assert_int_equal(spw_driver.cuEventCreate(&order_event, 0), CUDA_SUCCESS);
}

static inline size_t any_size(void)
{
    static const size_t sizes[] = {BYTES / 2, BYTES, 3 * BYTES / 2};
    return sizes[any(3)];
}

/* In the order of a stream or for nobody in particular; there may be no memory. */
static inline void model_allocate(unsigned i, size_t bytes)
{
    model[i].bytes = bytes;
    model[i].last = NULL;
    model[i].written = false;
    spw_lock();
    struct spw_stream *record = any(2) ? spw_stream_of_locked(s) : NULL;
    spw_unlock();
    if (spw_allocate(device, bytes, record, context, spw_mempool_stats_of_locked(NULL), &model[i].a) < 0)
        model[i].a = 0;
    else if (record)
        model[i].last = s;
}

/* False: the driver refuses. */
static inline bool follow_last(unsigned i, CUstream stream)
{
    if (!model[i].last || model[i].last == stream)
        return true;
    return spw_driver.cuEventRecord(order_event, model[i].last) == CUDA_SUCCESS &&
           spw_driver.cuStreamWaitEvent(stream, order_event, 0) == CUDA_SUCCESS;
}

/* Its order has to be that of the last use. */
static inline void model_expect_on(CUstream stream, unsigned i)
{
    if (expect_on(stream, model[i].a, model[i].bytes, model[i].value) == 0)
        model[i].last = stream;
}

/* One after the other. `lacks`: an operation may find no room, since the host has none, or the driver did not take memory
 * back. */
static inline void model_expect_all(bool lacks)
{
    for (unsigned i = 0; i < MODELLED; i++)
        if (model[i].a && model[i].written) {
            let_run();
            const int r = expect_on(s, model[i].a, model[i].bytes, model[i].value);
            assert_true(r == 0 || (lacks && r == -ENOMEM));
        }
    fake_run_all();
}
#endif
