/* test-room.c - making room when the easy way is closed: a device with less memory than it should have, host memory that
 * only small tensors fit into, and victims that another thread is busy with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pools.h"
#include "room.h"

#define BYTES ((size_t)64 << 10)

static CUcontext context;
static struct spw_device *device;
static CUstream s;

static void begin(uint64_t memory, uint64_t budget, uint64_t host_budget)
{
    spw_planned_reset();
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_room_pressed = false;
    fake_start(4096, memory, budget, host_budget);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, NULL, context, spw_pool_book_of_locked(NULL), &a), 0);
    return a;
}

static int fill(CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_fill(s, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static void expect(CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .read_only = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_expect(s, a, bytes, value);
    spw_op_end(&op);
}

/* Others take memory on the device after the budget was set: tensors go for one another within what is left. */
static void a_device_with_less_memory_than_the_budget_evicts_earlier(void **state)
{
    enum { N = 8 };
    begin(16 << 20, N * BYTES, 16 << 20);
    fake_fail("cuMemCreate", N / 2 + 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    CUdeviceptr a[N];
    for (unsigned i = 0; i < N; i++) {
        a[i] = allocate(BYTES);
        assert_int_equal(fill(a[i], BYTES, (unsigned char)i), 0);
    }
    for (unsigned i = 0; i < N; i++)
        expect(a[i], BYTES, (unsigned char)i);
    fake_run_all();
}

/* The device refuses for a while: later the budget is what it was. */
static void memory_that_comes_back_is_used_again(void **state)
{
    begin(16 << 20, 4 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES);
    assert_int_equal(fill(a, BYTES, 1), 0);
    fake_fail("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY, true);
    CUdeviceptr b = allocate(BYTES);
    assert_int_equal(fill(b, BYTES, 2), 0); /* in the place of a */
    fake_fail("", 0, 0, false);
    CUdeviceptr c = allocate(3 * BYTES);
    assert_int_equal(fill(c, 3 * BYTES, 3), 0);
    expect(a, BYTES, 1);
    expect(b, BYTES, 2);
    fake_run_all();
}

/* Where host memory is too short for the best victim, a smaller one goes. */
static void a_smaller_tensor_goes_where_the_host_has_no_room_for_a_larger(void **state)
{
    begin(16 << 20, 5 * BYTES, 3 * BYTES);
    CUdeviceptr large = allocate(4 * BYTES), small = allocate(BYTES);
    assert_int_equal(fill(large, 4 * BYTES, 1), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(fill(small, BYTES, 2), 0);
    CUdeviceptr other = 0;
    device->largest_bytes = BYTES; /* let it in */
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_pool_book_of_locked(NULL), &other), 0);
    assert_int_equal(fill(other, BYTES, 3), 0);
    expect(small, BYTES, 2);
    expect(large, 4 * BYTES, 1);
    fake_run_all();
}

static void *leave_the_call_late(void *op)
{
    usleep(1000 * 1000);
    spw_op_end(op);
    return NULL;
}

/* Another thread stays long inside the driver with the only victim: it is waited for. */
static void a_victim_that_is_busy_is_waited_for(void **state)
{
    pthread_t thread;
    begin(16 << 20, BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a long copy"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, 1);
    assert_int_equal(pthread_create(&thread, NULL, leave_the_call_late, &op), 0);
    s = fake_stream();
    assert_int_equal(fill(b, BYTES, 2), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(a, BYTES, 1);
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_with_less_memory_than_the_budget_evicts_earlier),
        cmocka_unit_test(memory_that_comes_back_is_used_again),
        cmocka_unit_test(a_smaller_tensor_goes_where_the_host_has_no_room_for_a_larger),
        cmocka_unit_test(a_victim_that_is_busy_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
