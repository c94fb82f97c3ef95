/* carried.h - what the tests of tensors on their way share: a device, kernels on tensors, and the asking under locks. */
#ifndef SPILLWAY_TESTS_CARRIED_H
#define SPILLWAY_TESTS_CARRIED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "transfers.h"
#include "devices.h"
#include "digest.h"
#include "follower.h"
#include "own_memory.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "mempool_stats.h"
#include "clean_check.h"
#include "reclaim.h"
#include "unlocked.h"

#define BYTES ((size_t)64 << 10)

static CUcontext context;
static struct spw_device *device;
static CUstream s, t;

static inline void begin(uint64_t budget, uint64_t host_budget)
{
    atomic_store(&spw_engine_lock, 0); /* a test that failed may have left with it */
    spw_plan_follower_any = false;     /* nobody follows, unless the test does */
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_transfer_reset();
    spw_clean_check_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, budget, host_budget);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
    t = fake_stream();
}

static inline CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static inline struct spw_block *block_at(CUdeviceptr a)
{
    return spw_block_of(spw_object_at_locked(a));
}

static inline int fill_on(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_fill(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static inline int expect_on(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .read_only = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_expect(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static inline void fill(CUdeviceptr a, unsigned char value)
{
    assert_int_equal(fill_on(s, a, BYTES, value), 0);
}

static inline void expect(CUdeviceptr a, unsigned char value)
{
    assert_int_equal(expect_on(s, a, BYTES, value), 0);
}

static inline int under_locks(int (*act)(struct spw_device *d, struct spw_block *b), CUdeviceptr a)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    int r = act(device, block_at(a));
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return r;
}

static inline void leave(CUdeviceptr a)
{
    assert_int_equal(under_locks(spw_transfer_evict_locked, a), 0);
}

static inline void restore(CUdeviceptr a)
{
    assert_int_equal(under_locks(spw_transfer_prefetch_locked, a), 0);
}

/* Before there is anything that would have to leave for them. */
static inline void open_digests(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_digests_open_unlocking(device, context), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

static inline void check_blocks(void)
{
    bool all = true;
    spw_lock();
    for (uint32_t i = 0; i < device->block_count; i++)
        all &= spw_block_check_locked(device->blocks[i]);
    spw_unlock();
    assert_true(all);
}

static inline void pump(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_transfer_pump_locked(device);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    check_blocks();
}

static inline uint32_t attention(CUdeviceptr a)
{
    return spw_object_at_locked(a)->attention;
}

/* What was submitted runs, as far as the tensor's users and its copies go. */
static inline void let_run(void)
{
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
}
#endif
