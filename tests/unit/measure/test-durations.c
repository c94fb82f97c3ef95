/* test-durations.c - how long operations take on the device is measured around the driver's call, each once, by whoever
 * asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "devices.h"
#include "driver.h"
#include "durations.h"
#include "events.h"
#include "fake-device.h"
#include "capture.h"
#include "lock.h"
#include "streams.h"
#include "unlocked.h"

enum { MOST = 16 };

static struct spw_device *device;
static struct spw_stream *s, *other;
static double told_us[MOST];
static unsigned told[MOST];

static void tell(void *context, uint32_t ordinal, double us)
{
    assert_true(ordinal < MOST);
    assert_ptr_equal(context, &told);
    told_us[ordinal] = us;
    told[ordinal]++;
}

static bool collect(void)
{
    spw_lock();
    bool all = spw_durations_collect_locked(device, tell, &told);
    spw_unlock();
    return all;
}

static struct spw_duration *take(const struct spw_stream *on, uint32_t ordinal)
{
    spw_lock();
    struct spw_duration *p = spw_duration_take_locked(device, on, ordinal);
    spw_unlock();
    return p;
}

static void stop(void)
{
    spw_lock();
    spw_durations_stop_locked(device);
    spw_unlock();
}

static void wait(const struct spw_stream *on)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(on->handle), CUDA_SUCCESS);
}

/* A kernel that touches nothing. */
static void kernel(const struct spw_stream *on)
{
    fake_fill(on->handle, 0x700000000000, 0, 0);
}

static int begin(void **state)
{
    CUcontext context;
    spw_ledger_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_durations_reset();
    spw_captures_active = 0;
    fake_start(4096, 1 << 20, 1 << 20, 1 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    CUdeviceptr a; /* somewhere for kernels to be */
    CUmemGenericAllocationHandle h;
    CUmemAccessDesc access = {0};
    assert_int_equal(spw_driver.cuMemAddressReserve(&a, 4096, 0, 0, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemCreate(&h, 4096, NULL, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemMap(0x700000000000, 4096, 0, h, 0), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuMemSetAccess(0x700000000000, 4096, &access, 1), CUDA_SUCCESS);
    spw_lock();
    s = spw_stream_find_locked(fake_stream());
    other = spw_stream_find_locked(fake_stream());
    spw_unlock();
    for (int i = 0; i < MOST; i++)
        told[i] = 0;
    return 0;
}

static void submit(const struct spw_stream *on, uint32_t ordinal)
{
    struct spw_duration *p = take(on, ordinal);
    assert_non_null(p);
    spw_duration_before(p);
    kernel(on);
    spw_duration_after(p, true);
}

static void each_operation_is_told_once_with_its_time_when_it_is_complete(void **state)
{
    submit(s, 0);
    submit(s, 1);
    assert_false(collect());
    assert_int_equal(told[0] + told[1], 0);
    wait(s);
    assert_true(collect());
    assert_true(collect());
    for (int i = 0; i < 2; i++) {
        assert_int_equal(told[i], 1);
        assert_true(told_us[i] > 9.9 && told_us[i] < 10.1);
    }
}

/* Copies that bring something in are ordered before the operation, so they are waited for before its first event. */
static void what_the_operation_waits_for_is_not_part_of_its_time(void **state)
{
    CUevent brought_in;
    assert_int_equal(spw_driver.cuEventCreate(&brought_in, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    for (int i = 0; i < 20; i++)
        kernel(other);
    spw_driver.cuEventRecord(brought_in, other->handle);
    spw_driver.cuStreamWaitEvent(s->handle, brought_in, 0);
    submit(s, 3);
    wait(s);
    assert_true(collect());
    assert_true(told_us[3] > 9.9 && told_us[3] < 10.1);
}

static void a_copy_that_waited_for_others_counts_no_longer_than_its_bytes_can_take(void **state)
{
    assert_true(spw_duration_of_copy_us(7385, 4096, 50) < 400); /* 82 us by itself */
    assert_true(spw_duration_of_copy_us(7385, 4096, 50) > 82);
    assert_true(spw_duration_of_copy_us(7385, 262144, 50) == 7385); /* 5243 us by itself: it may be pageable memory */
    assert_true(spw_duration_of_copy_us(9.8, 4, 50) == 9.8);
}

static void collecting_now_and_then_needs_few_events(void **state)
{
    for (uint32_t i = 0; i < 200; i++) {
        submit(s, i % MOST);
        wait(s);
        assert_true(collect());
    }
    assert_int_equal(spw_events_held(), 4); /* a pair in use, and the one that ended last */
    stop();
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 0);
}

static void an_operation_that_the_driver_refuses_has_no_time(void **state)
{
    struct spw_duration *p = take(s, 5);
    spw_duration_before(p);
    assert_false(collect()); /* it is still to come */
    spw_duration_after(p, false);
    assert_true(collect());
    assert_int_equal(told[5], 0);
    submit(s, 5); /* the same pair does for the next one */
    wait(s);
    assert_true(collect());
    assert_int_equal(told[5], 1);
    assert_int_equal(spw_events_held(), 2);
}

static void nothing_is_timed_while_a_stream_captures(void **state)
{
    submit(s, 0);
    spw_captures_active = 1;
    assert_null(take(s, 1));
    wait(s);
    assert_false(collect());
    spw_captures_active = 0;
    assert_true(collect());
    assert_int_equal(told[0], 1);
}

/* The program begins a capture between our taking the pair and its call. */
static void a_capture_that_begins_meanwhile_is_left_alone(void **state)
{
    struct spw_duration *p = take(s, 1);
    unsigned calls = fake_calls();
    spw_captures_active = 1;
    spw_duration_before(p);
    spw_duration_after(p, true);
    assert_int_equal(fake_calls(), calls);
    spw_captures_active = 0;
    assert_true(collect());
    assert_int_equal(told[1], 0);
}

static void what_was_under_way_when_timing_stopped_is_not_told(void **state)
{
    struct spw_duration *p = take(s, 1);
    submit(s, 2);
    spw_duration_before(p);
    stop();
    spw_duration_after(p, true);
    submit(s, 3);
    wait(s);
    assert_true(collect());
    assert_int_equal(told[1] + told[2], 0);
    assert_int_equal(told[3], 1);
    assert_int_equal(spw_events_held(), 2);
}

static void a_context_that_goes_takes_its_events_along(void **state)
{
    struct spw_duration *p = take(s, 0);
    submit(s, 1);
    spw_lock();
    spw_durations_context_gone_locked(s->context);
    spw_unlock();
    spw_duration_before(p);
    spw_duration_after(p, true);
    assert_int_equal(spw_events_held(), 0);
    assert_int_equal(fake_counts()->events, 0);
    assert_true(collect());
}

static void every_call_may_fail_and_only_the_time_is_lost(void **state)
{
    static const char *const calls[] = {"cuEventCreate", "cuEventRecord", "cuEventElapsedTime"};
    for (int i = 0; i < 3; i++)
        for (unsigned n = 1; n <= 2; n++) {
            begin(NULL);
            fake_fail(calls[i], n, CUDA_ERROR_UNKNOWN, false);
            struct spw_duration *p = take(s, 0);
            spw_duration_before(p);
            kernel(s);
            spw_duration_after(p, true);
            wait(s);
            assert_true(collect());
            fake_fail("", 0, CUDA_SUCCESS, false);
            submit(s, 1);
            wait(s);
            assert_true(collect());
            assert_int_equal(told[0], i == 2 && n == 2);
            assert_int_equal(told[1], 1);
            stop();
            assert_int_equal(fake_counts()->events, 0);
        }
}

/* The first two begin together, the third begins when the first has ended. */
static void what_goes_on_at_once_in_two_streams_counts_once(void **state)
{
    submit(s, 0);
    submit(other, 1);
    submit(s, 2);
    wait(s);
    wait(other);
    assert_true(collect());
    assert_true(told[0] == 1 && told[1] == 1 && told[2] == 1);
    assert_true(told_us[0] > 9.9 && told_us[0] < 10.1);
    assert_true(told_us[1] >= 0 && told_us[1] < 0.1);
    assert_true(told_us[2] > 9.9 && told_us[2] < 10.1);
}

/* Both operations of the second stream go on while those of the first do, which were submitted before. */
static void one_that_ends_within_another_leaves_the_next_nothing_to_count(void **state)
{
    submit(s, 0);
    submit(s, 1);
    submit(other, 2);
    submit(other, 3);
    wait(s);
    wait(other);
    assert_true(collect());
    assert_true(told_us[0] + told_us[1] > 19.8 && told_us[0] + told_us[1] < 20.2);
    assert_true(told_us[2] + told_us[3] >= 0 && told_us[2] + told_us[3] < 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_operation_is_told_once_with_its_time_when_it_is_complete, begin),
        cmocka_unit_test_setup(what_the_operation_waits_for_is_not_part_of_its_time, begin),
        cmocka_unit_test_setup(a_copy_that_waited_for_others_counts_no_longer_than_its_bytes_can_take, begin),
        cmocka_unit_test_setup(collecting_now_and_then_needs_few_events, begin),
        cmocka_unit_test_setup(an_operation_that_the_driver_refuses_has_no_time, begin),
        cmocka_unit_test_setup(nothing_is_timed_while_a_stream_captures, begin),
        cmocka_unit_test_setup(a_capture_that_begins_meanwhile_is_left_alone, begin),
        cmocka_unit_test_setup(what_was_under_way_when_timing_stopped_is_not_told, begin),
        cmocka_unit_test_setup(a_context_that_goes_takes_its_events_along, begin),
        cmocka_unit_test_setup(what_goes_on_at_once_in_two_streams_counts_once, begin),
        cmocka_unit_test_setup(one_that_ends_within_another_leaves_the_next_nothing_to_count, begin),
        cmocka_unit_test_setup(every_call_may_fail_and_only_the_time_is_lost, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
