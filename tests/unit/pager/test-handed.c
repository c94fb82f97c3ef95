/* test-handed.c - memory that is handed to a library stays until the library's kernels are through with it, and no longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "alloc.h"
#include "devices.h"
#include "engine.h"
#include "fake-device.h"
#include "handed.h"
#include "pin.h"
#include "lock.h"
#include "logged.h"
#include "mover.h"
#include "unlocked.h"

enum { GRANULE = 4096, BYTES = 64 << 10 };

static CUcontext context;
static struct spw_device *device;
static CUstream one, two;

static void begin(uint64_t budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(GRANULE, 128 << 20, budget, 16 << 20);
    fake_goes_on(true); /* what a library waits for comes */
    device = spw_device_current(&context);
    assert_non_null(device);
    one = fake_stream();
    two = fake_stream();
}

static CUdeviceptr allocate(void)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, BYTES, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static int touch(CUstream stream, CUdeviceptr a, unsigned char value,
                 CUresult (*kernel)(CUstream, CUdeviceptr, size_t, unsigned char))
{
    CUdeviceptr hits[4] = {a};
    struct spw_op op = {
        .handle = stream, .hits = hits, .count = 1, .room = 4, .name = "a kernel", .read_only = kernel == fake_expect};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    assert_int_equal(kernel(stream, a, BYTES, value), CUDA_SUCCESS);
    spw_op_end(&op);
    return 0;
}

static bool is_resident(CUdeviceptr a)
{
    spw_lock();
    const bool there = !(spw_object_at_locked(a)->attention & SPW_ABSENT);
    spw_unlock();
    return there;
}

/* Between the call and the kernel nothing says that the stream uses it; a mark of the stream's says that all is done. */
static void what_is_handed_over_stays_until_its_kernel_is_through(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    assert_int_equal(touch(one, a, 1, fake_fill), 0);
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, a), 0);
    spw_lock();
    assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(one)), 0);
    spw_unlock();
    fake_run_all();
    for (int i = 0; i < 4; i++) {
        assert_int_equal(touch(two, b, 2, fake_fill), 0);
        assert_int_equal(touch(two, c, 3, fake_fill), 0);
        assert_true(is_resident(a));
    }
    assert_int_equal(fake_fill(one, a, BYTES, 9), CUDA_SUCCESS); /* what the library launches */
    spw_handed_submitted();
    assert_int_equal(touch(two, b, 2, fake_expect), 0);
    assert_true(is_resident(a)); /* its kernel may wait for what this thread does next */
    spw_pin_address(b, "the test says so");
    assert_int_equal(touch(two, c, 3, fake_expect), 0);
    assert_false(is_resident(a));
    assert_int_equal(touch(two, a, 9, fake_expect), 0);
    fake_run_all();
}

static void what_is_handed_over_comes_back_first(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    assert_int_equal(touch(one, a, 1, fake_fill), 0);
    assert_int_equal(touch(one, b, 2, fake_fill), 0);
    assert_int_equal(touch(one, c, 3, fake_fill), 0);
    assert_false(is_resident(a));
    assert_int_equal(spw_handed_begin("a collective", 1, two, a, b), 0);
    assert_int_equal(fake_expect(two, a, BYTES, 1), CUDA_SUCCESS);
    assert_int_equal(fake_fill(two, b, BYTES, 7), CUDA_SUCCESS);
    spw_handed_submitted();
    assert_int_equal(touch(one, c, 3, fake_expect), 0);
    assert_int_equal(touch(two, b, 7, fake_expect), 0);
    assert_int_equal(touch(one, a, 1, fake_expect), 0);
    fake_run_all();
}

static void what_has_no_room_beside_the_rest_is_refused_and_the_rest_goes_free(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, a), 0);
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, b), 0);
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, c), -ENOMEM);
    spw_handed_submitted();
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, c), 0);
    spw_handed_submitted();
    fake_run_all();
}

/* It counts as what cannot move, and the budget that is named is enough. */
static void what_was_handed_over_before_is_named_in_the_refusal(void **state)
{
    enum { MANY = 8 };
    char named[64];
    begin(MANY * BYTES);
    log_into_file(SPW_LOG_WARN);
    CUdeviceptr a[MANY + 1];
    for (unsigned i = 0; i <= MANY; i++) {
        a[i] = allocate();
        assert_int_equal(spw_handed_begin("a collective", 1, one, 0, a[i]), i == MANY ? -ENOMEM : 0);
    }
    spw_handed_submitted();
    snprintf(named, sizeof(named), "smallest budget that would do: %u bytes", (MANY + 1) * BYTES);
    assert_int_equal(lines_with(named), 1);
    log_as_before();
    begin((MANY + 1) * BYTES);
    for (unsigned i = 0; i <= MANY; i++)
        assert_int_equal(spw_handed_begin("a collective", 1, one, 0, allocate()), 0);
    spw_handed_submitted();
    fake_run_all();
}

/* The program may free it as soon as the call has returned. */
static void what_is_freed_meanwhile_goes_when_it_is_submitted(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate();
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, a), 0);
    spw_lock();
    struct spw_stream *s = spw_stream_of_locked(one);
    spw_unlock();
    assert_int_equal(spw_free(a, s), 0);
    assert_int_equal(fake_fill(one, a, BYTES, 9), CUDA_SUCCESS);
    spw_handed_submitted();
    CUdeviceptr b = allocate(), c = allocate();
    assert_int_equal(touch(two, b, 2, fake_fill), 0);
    assert_int_equal(touch(two, c, 3, fake_fill), 0);
    fake_run_all();
    assert_int_equal(touch(two, b, 2, fake_expect), 0);
    fake_run_all();
}

static void what_nobody_submits_here_is_kept(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(), b = allocate(), c = allocate();
    assert_int_equal(spw_handed_begin("a collective", 1, one, 0, a), 0);
    spw_handed_keep("of a test");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(touch(two, b, 2, fake_fill), 0);
        assert_int_equal(touch(two, c, 3, fake_fill), 0);
    }
    assert_true(is_resident(a));
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_handed_over_stays_until_its_kernel_is_through),
        cmocka_unit_test(what_is_handed_over_comes_back_first),
        cmocka_unit_test(what_has_no_room_beside_the_rest_is_refused_and_the_rest_goes_free),
        cmocka_unit_test(what_was_handed_over_before_is_named_in_the_refusal),
        cmocka_unit_test(what_is_freed_meanwhile_goes_when_it_is_submitted),
        cmocka_unit_test(what_nobody_submits_here_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
