/* moved.h - what the tests of single moves share: blocks of several contexts that are evicted on demand. */
#ifndef SPILLWAY_TESTS_MOVED_H
#define SPILLWAY_TESTS_MOVED_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "unlocked.h"

#define BYTES ((size_t)64 << 10)

static CUcontext context;
static struct spw_device *device;
static CUstream s;

static inline void begin(uint64_t budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, budget, 16 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
}

static inline CUdeviceptr allocate_in(CUcontext c)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, BYTES, NULL, c, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static inline int begin_use(struct spw_op *op, CUdeviceptr *a, unsigned read_only)
{
    *op = (struct spw_op){.handle = s, .hits = a, .count = 1, .room = 1, .read_only = read_only, .name = "a kernel"};
    return spw_op_begin(op);
}

static inline void fill(CUdeviceptr a, unsigned char value)
{
    struct spw_op op;
    assert_int_equal(begin_use(&op, &a, 0), 0);
    fake_fill(s, a, BYTES, value);
    spw_op_end(&op);
}
#endif
