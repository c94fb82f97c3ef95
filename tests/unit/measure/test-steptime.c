/* test-steptime.c - iterations are timed from beginning to beginning by the device's clock, and nobody waits for that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "events.h"
#include "fake-device.h"
#include "capture.h"
#include "ledger.h"
#include "lock.h"
#include "steptime.h"
#include "unlocked.h"

static struct spw_device *device;
static struct spw_stream *s, *other;

static int begin(void **state)
{
    CUcontext context;
    CUdeviceptr a; /* somewhere for kernels to be */
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc access = {0};
    spw_ledger_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_steptime_reset();
    spw_captures_active = 0;
    fake_start(4096, 1 << 20, 1 << 20, 1 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    assert_int_equal(spw_driver.cuMemAddressReserve(&a, 4096, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemCreate(&h, 4096, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemMap(0x700000000000, 4096, 0, h, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemSetAccess(0x700000000000, 4096, &access, 1), CUDA_SUCCESS);
    spw_lock();
    s = spw_stream_find_locked(fake_stream());
    other = spw_stream_find_locked(fake_stream());
    spw_unlock();
    return 0;
}

static void begins(uint32_t shape)
{
    spw_lock();
    spw_steptime_begins_locked(0, s, shape);
    spw_unlock();
}

static void broken(void)
{
    spw_lock();
    spw_steptime_broken_locked(0);
    spw_unlock();
}

/* Kernels of FAKE_KERNEL_US each. */
static void kernels(int count)
{
    for (int i = 0; i < count; i++)
        fake_fill(s->handle, 0x700000000000, 0, 0);
}

static void iteration(uint32_t shape, int count)
{
    begins(shape);
    kernels(count);
}

static void wait(void)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(s->handle), CUDA_SUCCESS);
}

static bool is_pending(uint32_t shape)
{
    spw_lock();
    const bool is = spw_steptime_is_pending_locked(0, shape);
    spw_unlock();
    return is;
}

static struct spw_steptime get(uint32_t shape)
{
    spw_lock();
    spw_steptime_collect_locked(0);
    struct spw_steptime t = spw_steptime_locked(0, shape);
    spw_unlock();
    return t;
}

static void assert_is(uint32_t shape, uint64_t count, double last_us, double mean_us)
{
    struct spw_steptime t = get(shape);
    assert_int_equal(t.count, count);
    assert_true(t.last_us > last_us - 0.1 && t.last_us < last_us + 0.1);
    assert_true(t.mean_us > mean_us - 0.1 && t.mean_us < mean_us + 0.1);
}

static void an_iteration_lasts_until_the_next_one_begins(void **state)
{
    assert_is(1, 0, 0, 0);
    iteration(1, 4);
    wait();
    assert_is(1, 0, 0, 0);
    begins(1);
    wait();
    assert_is(1, 1, 40, 40);
    kernels(6);
    begins(1);
    wait();
    assert_is(1, 2, 60, 50);
}

static void what_is_under_way_is_not_waited_for(void **state)
{
    iteration(1, 4);
    assert_false(is_pending(1));
    begins(1);
    unsigned calls = fake_calls();
    assert_is(1, 0, 0, 0);
    assert_int_equal(fake_calls(), calls);
    assert_true(is_pending(1));
    assert_false(is_pending(2));
    wait();
    assert_is(1, 1, 40, 40);
    assert_false(is_pending(1));
    begins(2);
    broken();
    begins(1);
    assert_false(is_pending(2));
}

static void one_that_was_disturbed_makes_no_difference_to_the_median(void **state)
{
    const unsigned lengths[] = {9, 4, 5, 30, 6, 5};
    for (unsigned i = 0; i < 6; i++)
        iteration(1, lengths[i]);
    begins(1);
    wait();
    const double median_us = get(1).median_us; /* of 40, 50, 300, 60, 50 */
    assert_true(median_us > 49.9 && median_us < 50.1);
}

static void shapes_are_kept_apart(void **state)
{
    iteration(1, 4);
    iteration(2, 1);
    iteration(1, 5);
    begins(2);
    wait();
    assert_is(1, 2, 50, 45);
    assert_is(2, 1, 10, 10);
    assert_is(3, 0, 0, 0);
    assert_is(SPW_STEPTIME_ANY, 3, 50, 100 / 3.0);
}

static void the_mean_is_of_the_last_few(void **state)
{
    for (int i = 0; i < 30; i++) {
        iteration(1, i < 14 ? 50 : 2);
        wait();
    }
    begins(1);
    wait();
    assert_is(1, 30, 20, 20);
}

static void what_is_broken_off_is_not_told(void **state)
{
    iteration(1, 4);
    broken();
    kernels(50);
    iteration(1, 3);
    begins(1);
    wait();
    assert_is(1, 1, 30, 30);
    assert_is(SPW_STEPTIME_ANY, 1, 30, 30);
    for (int i = 0; i < 20; i++) { /* its event is used again, for one that is whole */
        iteration(1, 3);
        wait();
    }
    assert_is(1, 21, 30, 30);
}

static void a_host_far_ahead_of_the_device_leaves_iterations_out(void **state)
{
    for (int i = 0; i < 20; i++)
        iteration(1, 2);
    wait();
    assert_is(1, 7, 20, 20);
    iteration(1, 3);
    begins(1);
    wait();
    assert_is(1, 8, 30, (7 * 20 + 30) / 8.0);
    assert_true(fake_counts()->events <= 8);
}

static void a_thousand_iterations_need_eight_events(void **state)
{
    for (int i = 0; i < 1000; i++) {
        iteration(i % 3 == 0, 1);
        if (i % 4 == 0)
            wait();
    }
    fake_run_all();
    assert_is(SPW_STEPTIME_ANY, 999, 10, 10);
    assert_int_equal(fake_counts()->events, 8);
    spw_lock();
    assert_int_equal(spw_events_held(), 8);
    spw_steptime_context_gone_locked(s->context);
    assert_int_equal(spw_events_held(), 0);
    spw_unlock();
    assert_int_equal(fake_counts()->events, 0);
    assert_int_equal(get(SPW_STEPTIME_ANY).count, 999);
}

static void the_shape_used_longest_ago_is_forgotten(void **state)
{
    for (uint32_t shape = 100; shape < 100 + SPW_STEPTIME_SHAPES; shape++) {
        iteration(shape, 1);
        wait();
    }
    iteration(100, 1);
    iteration(7, 3);
    begins(8);
    wait();
    assert_int_equal(get(100).count, 2);
    assert_int_equal(get(101).count, 0);
    assert_int_equal(get(102).count, 1);
    assert_is(7, 1, 30, 30);
}

/* The boundary's event is recorded where the iteration's first operation goes. */
static void an_iteration_may_begin_on_another_stream(void **state)
{
    iteration(1, 4);
    CUevent joined;
    assert_int_equal(spw_driver.cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    spw_driver.cuEventRecord(joined, s->handle);
    spw_driver.cuStreamWaitEvent(other->handle, joined, 0);
    s = other;
    begins(1);
    wait();
    assert_is(1, 1, 40, 40);
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

/* An event recorded there would become a node of the graph. */
static void what_begins_on_a_stream_that_captures_is_not_timed(void **state)
{
    iteration(1, 4);
    spw_driver.cuStreamIsCapturing = is_capturing;
    spw_captures_active = 1;
    unsigned calls = fake_calls();
    iteration(1, 5);
    assert_int_equal(fake_calls(), calls);
    spw_captures_active = 0;
    iteration(1, 2);
    begins(1);
    wait();
    assert_is(1, 1, 20, 20);
}

static void calls_that_fail_lose_iterations_only(void **state)
{
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"};
    for (int i = 0; i < 3; i++)
        for (unsigned n = 1; n <= 4; n++) {
            begin(NULL);
            fake_fail(calls[i], n, CUDA_ERROR_UNKNOWN, false);
            for (int k = 0; k < 6; k++) {
                iteration(1, 2);
                wait();
            }
            struct spw_steptime t = get(1);
            assert_true(t.count >= 3 && t.count < 5);
            assert_is(1, t.count, 20, 20);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_iteration_lasts_until_the_next_one_begins, begin),
        cmocka_unit_test_setup(what_is_under_way_is_not_waited_for, begin),
        cmocka_unit_test_setup(one_that_was_disturbed_makes_no_difference_to_the_median, begin),
        cmocka_unit_test_setup(shapes_are_kept_apart, begin),
        cmocka_unit_test_setup(the_mean_is_of_the_last_few, begin),
        cmocka_unit_test_setup(what_is_broken_off_is_not_told, begin),
        cmocka_unit_test_setup(a_host_far_ahead_of_the_device_leaves_iterations_out, begin),
        cmocka_unit_test_setup(a_thousand_iterations_need_eight_events, begin),
        cmocka_unit_test_setup(the_shape_used_longest_ago_is_forgotten, begin),
        cmocka_unit_test_setup(an_iteration_may_begin_on_another_stream, begin),
        cmocka_unit_test_setup(what_begins_on_a_stream_that_captures_is_not_timed, begin),
        cmocka_unit_test_setup(calls_that_fail_lose_iterations_only, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
