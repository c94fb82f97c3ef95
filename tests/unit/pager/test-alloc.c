/* test-alloc.c - what the allocator hands out while other threads allocate, free and make room at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "alloc.h"
#include "capture.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "mempool_stats.h"
#include "logged.h"
#include "reclaim.h"
#include "refused.h"
#include "slab.h"
#include "unlocked.h"

#define GRANULE 4096u
#define BYTES   ((size_t)64 << 10)

static CUcontext context;
static struct spw_device *device;
static CUstream s;
static CUdeviceptr other; /* what the other thread works on */

static void begin(uint64_t budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(GRANULE, 128 << 20, budget, 16 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static void use(CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, bytes, value);
    spw_op_end(&op);
}

static void use_other(void)
{
    use(other, BYTES, 2);
}

/* A cached block whose former users are waited for is nobody's victim meanwhile. */
static void memory_that_is_being_handed_out_is_not_taken_away(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    use(b, BYTES, 1);
    use(a, BYTES, 1);
    other = allocate(BYTES); /* has no memory yet */
    assert_int_equal(spw_free(a, NULL), 0);
    fake_meanwhile(use_other);
    CUdeviceptr c = allocate(BYTES);
    use(c, BYTES, 3);
    fake_run_all();
    assert_true(fake_counts()->made_bytes_peak <= 2 * BYTES);
}

/* What the other stream does may wait for what the program does next: nobody waits for it while there is room. */
static void a_stream_waits_for_another_only_where_there_is_no_room(void **state)
{
    for (int has_room = 0; has_room < 2; has_room++) {
        begin(has_room ? 2 * BYTES : BYTES);
        const CUstream next = fake_stream();
        CUdeviceptr a = allocate(BYTES), b = 0;
        use(a, BYTES, 1);
        assert_int_equal(spw_free(a, NULL), 0);
        spw_lock();
        assert_int_equal(spw_allocate_unlocking(device, BYTES, spw_stream_of_locked(next), context,
                                                spw_mempool_stats_of_locked(NULL), &b),
                         0);
        spw_unlock();
        assert_int_equal(b != a, has_room);
        fake_run_all();
        assert_int_equal(spw_free(b, NULL), 0);
    }
}

static CUresult captures(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

/* A cached block that cannot be waited for while something is captured is left where it is: a new one has its memory later.
 */
static void an_allocation_does_not_fail_for_what_a_capture_keeps_from_being_waited_for(void **state)
{
    begin(BYTES);
    CUdeviceptr a = allocate(BYTES);
    use(a, BYTES, 1);
    assert_int_equal(spw_free(a, NULL), 0);
    spw_driver.cuStreamIsCapturing = captures;
    atomic_store(&spw_captures_active, 1);
    CUdeviceptr b = allocate(BYTES);
    atomic_store(&spw_captures_active, 0);
    assert_true(b != a);
    fake_run_all();
    begin(BYTES);
}

static void a_small_allocation_does_not_fail_for_that_either(void **state)
{
    enum { SMALL = 256 };
    begin(4 * BYTES);
    CUdeviceptr a = allocate(SMALL);
    for (size_t n = spw_slab_bytes(device, SMALL) / SMALL; n > 1; n--)
        (void)allocate(SMALL);
    use(a, SMALL, 1);
    assert_int_equal(spw_free(a, NULL), 0);
    spw_driver.cuStreamIsCapturing = captures;
    atomic_store(&spw_captures_active, 1);
    CUdeviceptr b = allocate(SMALL);
    atomic_store(&spw_captures_active, 0);
    assert_true(b != a);
    fake_run_all();
    begin(BYTES);
}

static void why_an_allocation_is_refused_is_said(void **state)
{
    begin(BYTES);
    log_into_file(SPW_LOG_WARN);
    spw_lock();
    spw_refused_say_why_not_allocated_locked(device, 4096, 0);
    spw_refused_say_why_not_allocated_locked(device, 4096, -ENOMEM); /* told with its sizes */
    assert_int_equal(lines_with("is refused"), 0);
    spw_refused_say_why_not_allocated_locked(device, 4096, -ETIMEDOUT);
    spw_unlock();
    assert_int_equal(
        lines_with("an allocation of 4096 bytes on device 0 is refused with error 909: memory for it cannot be"), 1);
    log_as_before();
}

static bool was_freed_again;

static void free_other_again(void)
{
    was_freed_again = true;
    assert_int_equal(spw_free(other, NULL), -EINVAL);
}

/* Freeing an address twice is refused also while its memory is on the way to the next owner. */
static void memory_that_is_being_handed_out_cannot_be_freed(void **state)
{
    begin(BYTES); /* no room for another, so what is freed is waited for */
    other = allocate(BYTES);
    use(other, BYTES, 1);
    assert_int_equal(spw_free(other, NULL), 0);
    fake_meanwhile(free_other_again);
    was_freed_again = false;
    CUdeviceptr c = allocate(BYTES);
    assert_true(was_freed_again);
    use(c, BYTES, 3);
    assert_int_equal(device->live_bytes, BYTES);
    assert_int_equal(device->live_count, 1);
    assert_int_equal(spw_free(c, NULL), 0);
    fake_run_all();
}

/* What is pinned may be used by what no operation tells of: its memory is not used again before all of it has run. */
static void pinned_memory_is_reused_after_everything_before_its_free(void **state)
{
    begin(BYTES); /* no room for another */
    CUdeviceptr a = allocate(BYTES);
    spw_pin_address(a, "the test says so");
    struct spw_op op = {.handle = s, .name = "a graph"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, 1); /* by a graph that knows the address */
    spw_op_end(&op);
    assert_int_equal(spw_free(a, NULL), 0);
    CUdeviceptr b = allocate(BYTES);
    assert_int_equal(a, b);
    s = fake_stream();
    use(b, BYTES, 2);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, b, BYTES, 2);
    fake_run_all();
}

/* The same for a small allocation, in the only free slot of its slab. */
static void a_slot_that_a_graph_knows_is_reused_after_everything_before_its_free(void **state)
{
    enum { SMALL = 256 };
    begin(4 * BYTES);
    CUdeviceptr a = allocate(SMALL);
    for (size_t n = spw_slab_bytes(device, SMALL) / SMALL; n > 1; n--)
        (void)allocate(SMALL);
    spw_pin_address(a, "the test says so");
    struct spw_op op = {.handle = s, .name = "a graph"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, SMALL, 1); /* by a graph that knows the address */
    spw_op_end(&op);
    assert_int_equal(spw_free(a, NULL), 0);
    CUdeviceptr b = allocate(SMALL);
    assert_int_equal(a, b);
    s = fake_stream();
    use(b, SMALL, 2);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, b, SMALL, 2);
    fake_run_all();
}

static void trim(void)
{
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
    spw_lock();
    spw_cached_blocks_trim_locked(device, 0);
    spw_unlock();
}

/* A cached block that is being given up for its memory is not given up a second time by a trim of the pool. */
static void a_trim_leaves_alone_what_is_being_given_up(void **state)
{
    begin(2 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    use(a, BYTES, 1);
    use(b, BYTES, 1);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_free(b, NULL), 0);
    CUdeviceptr c = allocate(BYTES + GRANULE);
    fake_meanwhile(trim);
    use(c, BYTES + GRANULE, 3);
    fake_run_all();
    spw_lock();
    assert_int_equal(device->free_bytes % BYTES, 0);
    assert_true(device->free_bytes <= BYTES);
    spw_unlock();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_being_handed_out_is_not_taken_away),
        cmocka_unit_test(a_stream_waits_for_another_only_where_there_is_no_room),
        cmocka_unit_test(an_allocation_does_not_fail_for_what_a_capture_keeps_from_being_waited_for),
        cmocka_unit_test(a_small_allocation_does_not_fail_for_that_either),
        cmocka_unit_test(why_an_allocation_is_refused_is_said),
        cmocka_unit_test(memory_that_is_being_handed_out_cannot_be_freed),
        cmocka_unit_test(pinned_memory_is_reused_after_everything_before_its_free),
        cmocka_unit_test(a_slot_that_a_graph_knows_is_reused_after_everything_before_its_free),
        cmocka_unit_test(a_trim_leaves_alone_what_is_being_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
