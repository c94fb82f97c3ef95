/* test-arrivals.c - whether a tensor that came back by plan was there in time is told by the device's clock, not the host's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "alloc.h"
#include "arrivals.h"
#include "transfers.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "events.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "unlocked.h"

#define BYTES ((size_t)64 << 10) /* 8 us on its way back */

static CUcontext context;
static struct spw_device *device;
static CUstream s;

static void begin_with(uint64_t budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_transfer_reset();
    spw_arrivals_reset();
    spw_reclaim_pressed = false;
    fake_start(4096, 128 << 20, budget, 64 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
}

static int begin(void **state)
{
    begin_with(64 * BYTES);
    return 0;
}

static CUdeviceptr allocate(void)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static struct spw_block *block_at(CUdeviceptr a)
{
    return spw_block_of(spw_object_at_locked(a));
}

static void kernel(CUdeviceptr a)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, 1);
    spw_op_end(&op);
}

static void wait(void)
{
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_transfer_pump_locked(device);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

static void leave(CUdeviceptr a)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_evict_locked(device, block_at(a)), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    wait();
    assert_true(block_at(a)->object.attention & SPW_EVICTED);
}

static void restore(CUdeviceptr a)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_prefetch_locked(device, block_at(a)), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

static void assert_counts(uint64_t used, uint64_t in_time, double late_us)
{
    const struct spw_arrivals *a = &spw_arrivals[0];
    spw_lock();
    spw_arrivals_collect_locked(device);
    spw_unlock();
    assert_int_equal(a->used_count, used);
    assert_int_equal(a->in_time_count, in_time);
    assert_true(a->late_us > late_us - 0.1 && a->late_us < late_us + 0.1);
}

/* A tensor that is away. */
static CUdeviceptr away(void)
{
    CUdeviceptr a = allocate();
    kernel(a);
    leave(a);
    return a;
}

/* The clocks of all streams come together: what is submitted next begins everywhere at once. */
static void meet(void)
{
    CUevent e;
    const CUstream streams[] = {s, device->mover->out->handle, device->mover->in ? device->mover->in->handle : s};
    assert_int_equal(spw_driver.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3; i++) {
            spw_driver.cuEventRecord(e, streams[i]);
            spw_driver.cuStreamWaitEvent(streams[(i + 1) % 3], e, 0);
        }
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

static void what_is_complete_when_its_use_is_submitted_was_in_time(void **state)
{
    CUdeviceptr a = away();
    restore(a);
    wait();
    kernel(a);
    assert_counts(1, 1, 0);
    kernel(a); /* its second use is no arrival */
    assert_counts(1, 1, 0);
}

/* The host is ahead: the copy is still to come when the use is submitted, but the stream has work until then. */
static void what_comes_while_the_stream_has_other_work_was_in_time(void **state)
{
    CUdeviceptr b = allocate(), a = away();
    meet();
    kernel(b);
    restore(a);
    kernel(a);
    assert_counts(0, 0, 0);
    wait();
    assert_counts(1, 1, 0);
}

static void what_the_stream_stood_still_for_was_late_by_that_much(void **state)
{
    CUdeviceptr a = away(), b = away();
    meet();
    restore(b);
    restore(a); /* 16 us from now */
    kernel(allocate());
    kernel(a); /* would begin after 10 */
    wait();
    assert_counts(1, 0, 6);
    kernel(b);
    assert_counts(2, 1, 6);
}

static void what_had_no_memory_when_it_was_needed_was_missed(void **state)
{
    begin_with(2 * BYTES);
    CUdeviceptr a = away(), b = allocate(), c = allocate();
    kernel(b);
    kernel(c);
    restore(a);
    kernel(a);
    wait();
    assert_int_equal(spw_transfer_counts.late_count, 1);
    assert_counts(1, 0, 0);
}

static void what_is_freed_or_goes_again_unused_does_not_count(void **state)
{
    enum { COUNT = 256 };
    CUdeviceptr a[COUNT];
    begin_with((COUNT + 10) * BYTES);
    CUdeviceptr b = away();
    for (int i = 0; i < COUNT; i++) {
        a[i] = away();
        restore(a[i]);
    }
    wait();
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(spw_free(a[i], NULL), 0);
    restore(b);
    leave(b);
    assert_counts(0, 0, 0);
    restore(b);
    wait();
    kernel(b);
    assert_counts(1, 1, 0);
}

static void a_thousand_arrivals_need_few_events(void **state)
{
    CUdeviceptr a = away(), b = away();
    for (int i = 0; i < 1000; i++) {
        restore(a);
        restore(b);
        kernel(a);
        kernel(b);
        leave(a);
        leave(b);
        fake_run_all();
    }
    spw_lock();
    spw_arrivals_collect_locked(device);
    assert_int_equal(spw_arrivals[0].used_count, 2000);
    const uint64_t all = spw_events_held();
    spw_arrivals_context_gone_locked(context);
    assert_in_range(all - spw_events_held(), 1, 8);
    spw_unlock();
}

static void more_on_their_way_than_there_is_room_for_do_not_count(void **state)
{
    enum { COUNT = 300 };
    CUdeviceptr a[COUNT];
    begin_with((COUNT + 10) * BYTES);
    for (int i = 0; i < COUNT; i++)
        a[i] = away();
    for (int i = 0; i < COUNT; i++)
        restore(a[i]);
    for (int i = 0; i < COUNT; i++)
        kernel(a[i]);
    wait();
    assert_counts(256, 256, 0);
}

static void a_context_that_goes_takes_what_was_expected_along(void **state)
{
    CUdeviceptr a = away();
    restore(a);
    spw_lock();
    spw_arrivals_context_gone_locked(context);
    spw_unlock();
    CUdeviceptr b = away();
    restore(b); /* with the first pair of the next events */
    wait();
    kernel(a);
    assert_counts(0, 0, 0);
    kernel(b);
    assert_counts(1, 1, 0);
}

static void calls_that_fail_leave_the_tensor_uncounted_and_whole(void **state)
{
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"};
    for (int i = 0; i < 3; i++)
        for (unsigned n = 1; n <= 8; n++) {
            begin(NULL);
            CUdeviceptr a = away(), b = away();
            fake_fail(calls[i], n, CUDA_ERROR_UNKNOWN, false);
            restore(a);
            restore(b);
            kernel(a);
            kernel(b);
            fake_run_all();
            spw_lock();
            spw_arrivals_collect_locked(device);
            spw_unlock();
            fake_fail("", 0, CUDA_SUCCESS, false);
            assert_in_range(spw_arrivals[0].used_count, 0, 2);
            leave(a);
            restore(a);
            kernel(a);
            fake_run_all();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_complete_when_its_use_is_submitted_was_in_time, begin),
        cmocka_unit_test_setup(what_comes_while_the_stream_has_other_work_was_in_time, begin),
        cmocka_unit_test_setup(what_the_stream_stood_still_for_was_late_by_that_much, begin),
        cmocka_unit_test_setup(what_had_no_memory_when_it_was_needed_was_missed, begin),
        cmocka_unit_test_setup(what_is_freed_or_goes_again_unused_does_not_count, begin),
        cmocka_unit_test_setup(a_thousand_arrivals_need_few_events, begin),
        cmocka_unit_test_setup(more_on_their_way_than_there_is_room_for_do_not_count, begin),
        cmocka_unit_test_setup(a_context_that_goes_takes_what_was_expected_along, begin),
        cmocka_unit_test_setup(calls_that_fail_leave_the_tensor_uncounted_and_whole, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
