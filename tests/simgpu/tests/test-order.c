/* test-order.c - the ordering check: what it must find, and what it must let pass. */
#include <unistd.h>

#include "device.h"

#include <stdbool.h>
#include <string.h>

enum { COUNT = 1024, BYTES = 4 * COUNT };

static CUdeviceptr memory;
static void *pinned;
static CUstream one, two;
static CUevent event;

static void set_up(void)
{
    device_start();
    OK(cuMemAlloc(&memory, BYTES));
    pinned = new_pinned(BYTES, 1);
    one = new_stream();
    two = new_stream();
    event = new_event();
}

/* The device must have noticed by now. */
static void expect_error(void)
{
    assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHILD_TEST(a_kernel_that_does_not_wait_for_its_input_is_found)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    (void)launch_add(add, memory, COUNT, 1, two);
    expect_error();
}

CHILD_TEST(so_is_one_whose_ranges_are_guessed)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    (void)launch_add(guessed, memory, COUNT, 1, two);
    expect_error();
}

/* Whatever its parameters lead to: of no bytes there is no order. */
CHILD_TEST(a_kernel_that_declares_to_touch_nothing_touches_nothing)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(launch_add(add, memory, 0, 1, two));
    OK(launch_add(add, memory + BYTES, 0, 1, two));
    OK(cuCtxSynchronize());
}

CHILD_TEST(a_copy_out_that_does_not_wait_for_the_kernel_is_found)
{
    set_up();
    OK(launch_add(add, memory, COUNT, 1, one));
    (void)cuMemcpyDtoHAsync(pinned, memory, BYTES, two);
    expect_error();
}

CHILD_TEST(two_declared_kernels_on_the_same_bytes_are_found)
{
    set_up();
    OK(launch_add(add, memory, COUNT, 1, one));
    (void)launch_add(add, memory, COUNT, 1, two);
    expect_error();
}

CHILD_TEST(a_set_beside_a_copy_is_found)
{
    set_up();
    OK(cuMemsetD8Async(memory, 0, BYTES, one));
    (void)cuMemcpyDtoHAsync(pinned, memory + BYTES / 2, 4, two);
    expect_error();
}

CHILD_TEST(two_copies_through_the_same_host_buffer_are_found)
{
    CUdeviceptr other;
    set_up();
    OK(cuMemAlloc(&other, BYTES));
    OK(cuMemcpyDtoHAsync(pinned, memory, BYTES, one));
    (void)cuMemcpyHtoDAsync(other, pinned, BYTES, two);
    expect_error();
}

CHILD_TEST(an_unmap_under_a_copy_that_nobody_waited_for_is_found)
{
    set_up();
    void *large = new_pinned(GRANULE, 1);
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemcpyDtoHAsync(large, p, GRANULE, one));
    OK(cuMemUnmap(p, GRANULE));
    expect_error();
}

CHILD_TEST(an_unmap_after_mere_passing_of_time_is_found_too)
{
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemsetD8Async(p, 1, 16, one));
    for (int i = 0; i < 1000; i++) /* long done, but nobody asked */
        OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, two, NULL, NULL));
    OK(cuStreamSynchronize(two));
    OK(cuMemUnmap(p, GRANULE));
    expect_error();
}

/* An event wait on the device is not enough for a remap, which happens on the host. */
CHILD_TEST(a_remap_behind_an_event_wait_is_found)
{
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemsetD8Async(p, 1, GRANULE, one));
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
    OK(cuMemUnmap(p, GRANULE));
    expect_error();
}

CHILD_TEST(the_same_memory_under_two_addresses_is_the_same_memory)
{
    CUmemGenericAllocationHandle handle;
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, &handle), alias = new_alias(handle);
    OK(cuMemsetD8Async(p, 1, 64, one));
    (void)cuMemsetD8Async(alias, 2, 64, two);
    expect_error();
}

/* The newer operation came through the other address, which stays. */
CHILD_TEST(an_unmap_of_one_of_two_addresses_under_a_copy_there_is_found)
{
    CUmemGenericAllocationHandle handle;
    set_up();
    void *large = new_pinned(GRANULE, 1);
    CUdeviceptr p = new_mapping(GRANULE, &handle), alias = new_alias(handle);
    OK(cuMemcpyDtoHAsync(large, p, GRANULE, one));
    OK(cuMemcpyDtoHAsync(large, alias, GRANULE, one));
    OK(cuMemUnmap(p, GRANULE));
    expect_error();
}

CHILD_TEST(a_non_blocking_stream_is_not_ordered_by_the_legacy_stream)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    (void)launch_add(add, memory, COUNT, 1, NULL);
    expect_error();
}

CHILD_TEST(who_waits_for_a_non_blocking_stream_has_not_waited_for_the_legacy_stream)
{
    set_up();
    OK(launch_add(add, memory, COUNT, 1, NULL));
    OK(cuStreamSynchronize(two));
    (void)launch_add(add, memory, COUNT, 1, one);
    expect_error();
}

/* ---- what is right ---- */

static void expect_clean(void)
{
    float last;
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH(&last, memory + BYTES - 4, 4));
    OK(cuCtxSynchronize());
}

CHILD_TEST(one_of_two_addresses_can_be_unmapped_while_the_other_is_used)
{
    CUmemGenericAllocationHandle handle;
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, &handle), alias = new_alias(handle);
    OK(cuMemsetD8Async(p, 1, 64, one));
    OK(cuEventRecord(event, one));
    OK(cuMemsetD8Async(alias, 2, 64, one));
    OK(cuEventSynchronize(event));
    OK(cuMemUnmap(p, GRANULE));
    expect_clean();
}

CHILD_TEST(an_event_orders_two_streams)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(two, event, 0));
    OK(launch_add(add, memory, COUNT, 1, two));
    expect_clean();
}

CHILD_TEST(events_order_through_a_third_stream)
{
    CUevent second;
    set_up();
    CUstream three = new_stream();
    second = new_event();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(cuEventRecord(event, one));
    OK(cuStreamWaitEvent(three, event, 0));
    OK(cuEventRecord(second, three));
    OK(cuStreamWaitEvent(two, second, 0));
    OK(launch_add(add, memory, COUNT, 1, two));
    expect_clean();
}

CHILD_TEST(waiting_on_the_host_orders)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(cuStreamSynchronize(one));
    OK(launch_add(add, memory, COUNT, 1, two));
    expect_clean();
}

CHILD_TEST(a_successful_query_orders)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(cuEventRecord(event, one));
    int polls = 0;
    while (cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        polls++;
    assert_true(polls > 0);
    OK(launch_add(add, memory, COUNT, 1, two));
    expect_clean();
}

static bool is_running(CUstream s, bool does_more)
{
    unsigned flags;
    if (does_more)
        OK(cuStreamGetFlags(s, &flags));
    return cuStreamQuery(s) == CUDA_ERROR_NOT_READY;
}

CHILD_TEST(a_host_that_does_nothing_but_ask_need_not_ask_all_the_time, "SIMGPU_QUERIES", "16")
{
    enum { LARGE = 16 << 20, MANY = 200 };
    CUdeviceptr large;
    float ms;
    set_up();
    OK(cuMemAlloc(&large, LARGE));
    CUevent later = new_event();
    void *source = new_pinned(LARGE, 1);
    for (int does_more = 0; does_more < 2; does_more++) {
        unsigned polls = 0;
        OK(cuMemcpyHtoDAsync(large, source, LARGE, one));
        OK(cuEventRecord(event, one));
        while (is_running(one, does_more))
            polls++;
        assert_true(does_more ? polls > MANY : polls >= 16 && polls < 24);
        OK(cuEventRecord(later, one));
        OK(cuStreamSynchronize(one));
        OK(cuEventElapsedTime(&ms, event, later));
        assert_true(ms >= 0 && ms < 0.01f); /* it is not noticed later for that */
    }
}

CHILD_TEST(the_legacy_stream_orders_blocking_streams)
{
    CUstream a, b;
    set_up();
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, a));
    OK(launch_add(add, memory, COUNT, 1, NULL));
    OK(cuMemcpyDtoHAsync(pinned, memory, BYTES, b));
    expect_clean();
}

CHILD_TEST(who_waits_for_a_blocking_stream_has_waited_for_the_legacy_stream)
{
    CUstream blocking;
    set_up();
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(launch_add(add, memory, COUNT, 1, NULL));
    OK(cuStreamSynchronize(blocking)); /* to which nothing was ever submitted */
    OK(launch_add(add, memory, COUNT, 1, one));
    OK(cuStreamSynchronize(one));
    OK(launch_add(add, memory, COUNT, 1, NULL));
    while (cuStreamQuery(blocking) == CUDA_ERROR_NOT_READY)
        ;
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuStreamSynchronize(two));
    expect_clean();
}

static void raise_flag(void *flag)
{
    __atomic_store_n((int *)flag, 1, __ATOMIC_SEQ_CST);
}

static void set_flag(void *flag)
{
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

static void set_flag_and_linger(void *flag)
{
    set_flag(flag);
    usleep(300000);
}

CHILD_TEST(what_a_host_function_comes_after_is_known_before_it_returns)
{
    static int flag;
    device_start();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    CUstream one = new_stream(), two = new_stream();
    OK(launch_add(add, p, 1, 1, one));
    OK(cuLaunchHostFunc(one, set_flag_and_linger, &flag));
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
        assert_int_equal(cuStreamQuery(one), CUDA_ERROR_NOT_READY);
    OK(launch_add(add, p, 1, 1, two));
    OK(cuCtxSynchronize());
}

/* The program calls nothing while it waits. */
CHILD_TEST(a_host_function_runs_while_the_program_waits_for_it_in_its_own_way, "SIMGPU_IDLE", "1")
{
    enum { PATIENCE = 20000 };
    static int flag;
    int naps = 0;
    device_start();
    OK(launch_add(add, new_mapping(GRANULE, NULL), 1, 1, NULL));
    OK(cuLaunchHostFunc(NULL, set_flag, &flag));
    while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE) && naps++ < PATIENCE)
        usleep(1000);
    assert_true(naps < PATIENCE);
}

CHILD_TEST(a_host_function_tells_the_host)
{
    int flag = 0;
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(cuLaunchHostFunc(one, raise_flag, &flag));
    while (!flag)
        (void)cuStreamQuery(two);
    while (cuStreamQuery(one) == CUDA_ERROR_NOT_READY && !flag) {
    }
    OK(launch_add(add, memory, COUNT, 1, two));
    expect_clean();
}

CHILD_TEST(readers_may_run_beside_each_other)
{
    set_up();
    void *other = new_pinned(BYTES, 0);
    OK(cuMemcpyDtoHAsync(pinned, memory, BYTES, one));
    OK(cuMemcpyDtoHAsync(other, memory, BYTES, two));
    expect_clean();
}

CHILD_TEST(neighbours_do_not_disturb_each_other)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES / 2, one));
    OK(launch_add(add, memory + BYTES / 2, COUNT / 2, 1, two));
    expect_clean();
}

CHILD_TEST(an_unmap_after_a_wait_is_right)
{
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemsetD8Async(p, 1, GRANULE, one));
    OK(cuStreamSynchronize(one));
    OK(cuMemUnmap(p, GRANULE));
    expect_clean();
}

CHILD_TEST(waiting_for_the_context_tells_of_a_stream_that_was_destroyed_when_its_work_was_done)
{
    set_up();
    CUdeviceptr p = new_mapping(GRANULE, NULL);
    OK(cuMemsetD8Async(p, 1, 16, one));
    for (int i = 0; i < 1000; i++) /* long done, but nobody asked */
        OK(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, two, NULL, NULL));
    OK(cuStreamSynchronize(two));
    OK(cuStreamDestroy(one));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(p, GRANULE));
    expect_clean();
}

static void unordered_body(void)
{
    set_up();
    OK(cuMemcpyHtoDAsync(memory, pinned, BYTES, one));
    OK(launch_add(add, memory, COUNT, 1, two));
    OK(cuCtxSynchronize());
}

static void reports_are_counted_and_named(void **state)
{
    (void)state;
    assert_true(in_child(unordered_body, "SIMGPU_ORDER", "report", NULL));
    assert_int_equal(child_stat("ordering_errors"), 1);
    assert_non_null(strstr(child_stderr(), "ordering error: add (operation"));
    assert_non_null(strstr(child_stderr(), "cuMemcpyHtoDAsync"));
}

static void the_check_can_be_switched_off(void **state)
{
    (void)state;
    assert_true(in_child(unordered_body, "SIMGPU_ORDER", "off", NULL));
    assert_int_equal(child_stat("ordering_errors"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_that_does_not_wait_for_its_input_is_found),
        cmocka_unit_test(so_is_one_whose_ranges_are_guessed),
        cmocka_unit_test(a_kernel_that_declares_to_touch_nothing_touches_nothing),
        cmocka_unit_test(a_copy_out_that_does_not_wait_for_the_kernel_is_found),
        cmocka_unit_test(two_declared_kernels_on_the_same_bytes_are_found),
        cmocka_unit_test(a_set_beside_a_copy_is_found),
        cmocka_unit_test(two_copies_through_the_same_host_buffer_are_found),
        cmocka_unit_test(an_unmap_under_a_copy_that_nobody_waited_for_is_found),
        cmocka_unit_test(an_unmap_after_mere_passing_of_time_is_found_too),
        cmocka_unit_test(a_remap_behind_an_event_wait_is_found),
        cmocka_unit_test(the_same_memory_under_two_addresses_is_the_same_memory),
        cmocka_unit_test(an_unmap_of_one_of_two_addresses_under_a_copy_there_is_found),
        cmocka_unit_test(a_non_blocking_stream_is_not_ordered_by_the_legacy_stream),
        cmocka_unit_test(who_waits_for_a_non_blocking_stream_has_not_waited_for_the_legacy_stream),
        cmocka_unit_test(one_of_two_addresses_can_be_unmapped_while_the_other_is_used),
        cmocka_unit_test(an_event_orders_two_streams),
        cmocka_unit_test(events_order_through_a_third_stream),
        cmocka_unit_test(waiting_on_the_host_orders),
        cmocka_unit_test(a_successful_query_orders),
        cmocka_unit_test(a_host_that_does_nothing_but_ask_need_not_ask_all_the_time),
        cmocka_unit_test(the_legacy_stream_orders_blocking_streams),
        cmocka_unit_test(who_waits_for_a_blocking_stream_has_waited_for_the_legacy_stream),
        cmocka_unit_test(what_a_host_function_comes_after_is_known_before_it_returns),
        cmocka_unit_test(a_host_function_runs_while_the_program_waits_for_it_in_its_own_way),
        cmocka_unit_test(a_host_function_tells_the_host),
        cmocka_unit_test(readers_may_run_beside_each_other),
        cmocka_unit_test(neighbours_do_not_disturb_each_other),
        cmocka_unit_test(an_unmap_after_a_wait_is_right),
        cmocka_unit_test(waiting_for_the_context_tells_of_a_stream_that_was_destroyed_when_its_work_was_done),
        cmocka_unit_test(reports_are_counted_and_named),
        cmocka_unit_test(the_check_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
