/* test-mover.c - copies in flight while contexts go and waits fail: no bytes are lost, and nobody waits for what is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "contexts.h"
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

static void begin(uint64_t budget)
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

static CUdeviceptr allocate_in(CUcontext c)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, BYTES, NULL, c, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static int begin_use(struct spw_op *op, CUdeviceptr *a, unsigned read_only)
{
    *op = (struct spw_op){.handle = s, .hits = a, .count = 1, .room = 1, .read_only = read_only, .name = "a kernel"};
    return spw_op_begin(op);
}

static void fill(CUdeviceptr a, unsigned char value)
{
    struct spw_op op;
    assert_int_equal(begin_use(&op, &a, 0), 0);
    fake_fill(s, a, BYTES, value);
    spw_op_end(&op);
}

static void expect(CUdeviceptr a, unsigned char value)
{
    struct spw_op op;
    assert_int_equal(begin_use(&op, &a, 1), 0);
    fake_expect(s, a, BYTES, value);
    spw_op_end(&op);
}

/* The copy streams belong to one context; when it goes, a tensor of another one that they had brought in is still good. */
static void a_tensor_outlives_the_context_whose_streams_brought_it_in(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate_in((CUcontext)(uintptr_t)0xd0); /* the first to be moved: the copy streams are its context's */
    CUdeviceptr b = allocate_in(context), c = allocate_in(context);
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);   /* a goes */
    expect(a, 1); /* b goes */
    expect(b, 2); /* c goes; b is on its way in */
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    spw_context_free((CUcontext)(uintptr_t)0xd0);
    s = fake_stream();
    expect(c, 3);
    CUdeviceptr d = allocate_in(context);
    spw_lock(); /* the next copy streams are made, and are others */
    spw_object_use(spw_object_at_locked(b), spw_tick, true);
    spw_unlock();
    fill(d, 4);
    expect(b, 2);
    expect(c, 3);
    fake_run_all();
}

/* What a context's destruction finds on its way out is freed as soon as it is let go of. */
static void a_context_that_goes_takes_along_what_is_being_evicted(void **state)
{
    begin(BYTES);
    CUdeviceptr a = allocate_in(context);
    fill(a, 1);
    CUdeviceptr b = allocate_in((CUcontext)(uintptr_t)0xd0);
    struct spw_op op;
    spw_lock();
    struct spw_object *o = spw_object_at_locked(a);
    spw_block_of(o)->holds++;
    spw_unlock();
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    spw_context_free(context);
    assert_int_equal(device->live_count, 1);
    spw_lock();
    spw_release_hold_locked(device, spw_block_of(o));
    spw_unlock();
    assert_int_equal(begin_use(&op, &b, 0), 0);
    spw_op_end(&op);
    fake_run_all();
}

/* The bytes that are pinned are those of allocations that live. */
static void freed_tensors_are_no_longer_counted_as_pinned(void **state)
{
    const char *why;
    begin(4 * BYTES);
    CUdeviceptr a = allocate_in(context);
    spw_pin_address(a, "the test says so");
    assert_int_equal(spw_pinned_bytes_locked(&why), BYTES);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_pinned_bytes_locked(&why), 0);
}

/* A copy to the host whose end could not be waited for still writes: its host memory goes to nobody else before. */
static void host_memory_stays_while_a_copy_writes_to_it(void **state)
{
    begin(BYTES);
    CUdeviceptr a = allocate_in(context), b = allocate_in(context);
    struct spw_op op;
    fill(a, 1);
    fake_fail("cuEventSynchronize", 1, CUDA_ERROR_UNKNOWN, true);
    fake_fail_too("cuCtxSynchronize");
    assert_true(begin_use(&op, &b, 0) < 0); /* a was to go, and stays: its copy is in flight */
    fake_fail("", 0, 0, false);
    assert_int_equal(spw_free(a, NULL), 0);
    spw_lock();
    struct spw_block *block = device->blocks[0];
    assert_true(!block->host_copy_valid);
    assert_non_null(block->host_copy);
    spw_unlock();
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_outlives_the_context_whose_streams_brought_it_in),
        cmocka_unit_test(a_context_that_goes_takes_along_what_is_being_evicted),
        cmocka_unit_test(freed_tensors_are_no_longer_counted_as_pinned),
        cmocka_unit_test(host_memory_stays_while_a_copy_writes_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
