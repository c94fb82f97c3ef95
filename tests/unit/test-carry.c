/* test-carry.c - tensors that leave and come back ahead of need on the fake device: bytes stay what they were, nothing is
 * unmapped early, nobody waits without need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "carry.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mover.h"
#include "pin.h"
#include "pools.h"
#include "room.h"

#define BYTES ((size_t)64 << 10)

static CUcontext context;
static struct spw_device *device;
static CUstream s, t;

static void begin(uint64_t budget, uint64_t host_budget)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_carry_reset();
    spw_room_pressed = false;
    fake_start(4096, 128 << 20, budget, host_budget);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
    t = fake_stream();
}

static CUdeviceptr allocate(size_t bytes)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, bytes, NULL, context, spw_pool_book_of_locked(NULL), &a), 0);
    return a;
}

static struct spw_block *block_at(CUdeviceptr a)
{
    return spw_block_of(spw_object_at_locked(a));
}

static int fill_on(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_fill(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static int expect_on(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .read_only = 1, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    fake_expect(stream, a, bytes, value);
    spw_op_end(&op);
    return 0;
}

static void fill(CUdeviceptr a, unsigned char value)
{
    assert_int_equal(fill_on(s, a, BYTES, value), 0);
}

static void expect(CUdeviceptr a, unsigned char value)
{
    assert_int_equal(expect_on(s, a, BYTES, value), 0);
}

static int under_locks(int (*act)(struct spw_device *d, struct spw_block *b), CUdeviceptr a)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    int r = act(device, block_at(a));
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    return r;
}

static void leave(CUdeviceptr a)
{
    assert_int_equal(under_locks(spw_carry_leave_locked, a), 0);
}

static void restore(CUdeviceptr a)
{
    assert_int_equal(under_locks(spw_carry_restore_locked, a), 0);
}

static void check_blocks(void)
{
    spw_lock();
    for (uint32_t i = 0; i < device->block_count; i++)
        assert_true(spw_block_check_locked(device->blocks[i]));
    spw_unlock();
}

static void pump(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_carry_pump_locked(device);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    check_blocks();
}

static uint32_t attention(CUdeviceptr a)
{
    return spw_object_at_locked(a)->attention;
}

/* What was submitted runs, as far as the tensor's users and its copies go. */
static void let_run(void)
{
    assert_int_equal(spw_driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

/* A tensor that was written goes when its use and its copy are complete, not before; it comes back with its bytes. */
static void a_tensor_leaves_and_comes_back(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    leave(a);
    assert_int_equal(attention(a), SPW_EVICTING);
    pump();
    assert_int_equal(attention(a), SPW_EVICTING);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    assert_int_equal(fake_counts()->mapped_bytes, 0);
    restore(a);
    assert_int_equal(attention(a), SPW_RESTORING);
    expect(a, 1);
    fake_run_all();
    expect(a, 1);
    assert_int_equal(attention(a), 0);
    assert_int_equal(spw_carried.left_count, 1);
    assert_int_equal(spw_carried.restored_count, 1);
    assert_int_equal(fake_counts()->copies_out, 1);
}

/* One that was only read since it came back goes again without a copy, as does one that was never written. */
static void what_needs_no_copy_leaves_without_one(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), never = allocate(BYTES);
    fill(a, 1);
    for (int i = 0; i < 3; i++) {
        leave(a);
        leave(never);
        pump();
        assert_true(attention(a) & SPW_EVICTING);
        let_run();
        pump();
        assert_int_equal(attention(a), SPW_EVICTED);
        assert_int_equal(attention(never), SPW_EMPTY);
        restore(a);
        restore(never);
        assert_int_equal(attention(never), SPW_EMPTY);
        expect(a, 1);
    }
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, 1);
}

/* Used again before it is gone, it stays; read, it is clean. */
static void a_tensor_that_is_read_on_its_way_out_stays_clean(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    leave(a);
    expect(a, 1);
    assert_int_equal(spw_carried.cancelled_count, 1);
    assert_true(spw_carry_is_idle(device));
    pump();
    let_run();
    expect(a, 1);
    assert_int_equal(attention(a), 0);
    leave(a);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    expect(a, 1);
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, 1);
}

/* Whoever writes it comes after the copy that still reads it, on whatever stream, and what is in the host copy is void. */
static void a_tensor_that_is_written_on_its_way_out_stays_and_goes_anew(void **state)
{
    for (int reads_first = 0; reads_first < 2; reads_first++) {
        begin(4 * BYTES, 16 << 20);
        CUdeviceptr a = allocate(BYTES);
        fill(a, 1);
        let_run();
        leave(a);
        if (reads_first) {
            assert_int_equal(expect_on(s, a, BYTES, 1), 0);
            assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
        }
        assert_int_equal(fill_on(t, a, BYTES, 2), 0);
        assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
        assert_int_equal(*(unsigned char *)block_at(a)->host_copy, 1); /* it was read before */
        leave(a);
        let_run();
        pump();
        assert_int_equal(attention(a), SPW_EVICTED);
        assert_int_equal(expect_on(t, a, BYTES, 2), 0);
        fake_run_all();
        assert_int_equal(fake_counts()->copies_out, 2);
    }
}

/* Two tensors where one has room: the second waits for the memory of the first, in the queue, and nobody waits for it. */
static void a_tensor_waits_in_order_for_memory_that_leaves(void **state)
{
    begin(2 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES), d = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    fill(d, 4); /* a and b went on demand */
    let_run();
    restore(a);
    restore(b);
    assert_int_equal(attention(a), SPW_EVICTED);
    leave(c);
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_RESTORING);
    assert_int_equal(attention(b), SPW_EVICTED);
    leave(d);
    let_run();
    pump();
    assert_int_equal(attention(b), SPW_RESTORING);
    uint64_t stalls = spw_room_stalls.count;
    expect(a, 1);
    expect(b, 2);
    fake_run_all();
    assert_int_equal(spw_room_stalls.count, stalls);
    assert_int_equal(spw_carried.late_count, 0);
    assert_int_equal(spw_carried.restored_in_time, 1); /* b was on its way */
    expect(c, 3);
    expect(d, 4);
    fake_run_all();
}

/* An operation that needs what waits for memory brings it in itself. */
static void a_tensor_needed_before_it_has_memory_comes_on_demand(void **state)
{
    begin(BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    restore(a);
    assert_false(spw_carry_is_idle(device));
    expect(a, 1);
    assert_true(spw_carry_is_idle(device));
    assert_int_equal(spw_carried.late_count, 1);
    expect(b, 2);
    fake_run_all();
    check_blocks();
}

/* Who needs memory now takes what is leaving already, and waits for no longer than it has to. */
static void memory_is_taken_from_what_leaves_before_anything_is_evicted(void **state)
{
    begin(3 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    fill(c, 3);
    leave(b);
    leave(c);
    CUdeviceptr d = allocate(BYTES);
    fill(d, 4);
    assert_int_equal(attention(b), SPW_EVICTED);
    assert_int_equal(attention(c), SPW_EVICTING);
    assert_int_equal(attention(a), 0);
    assert_int_equal(spw_carried.waits, 1);
    CUdeviceptr e = allocate(2 * BYTES);
    assert_int_equal(fill_on(s, e, 2 * BYTES, 5), 0); /* c was leaving, one more goes on demand */
    expect(b, 2);
    expect(c, 3);
    expect(a, 1);
    expect(d, 4);
    fake_run_all();
    check_blocks();
}

/* A tensor freed on its way out, or while it waits to come back, is nobody's at once; its memory is reused in order. */
static void what_is_freed_on_its_way_leaves_no_trace(void **state)
{
    begin(2 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    leave(b);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_true(spw_carry_is_idle(device));
    CUdeviceptr again = allocate(BYTES);
    fill(again, 7);
    fill(c, 3);
    expect(again, 7);
    CUdeviceptr gone = attention(a) & SPW_EVICTED ? a : c;
    restore(gone);
    assert_false(spw_carry_is_idle(device));
    assert_int_equal(spw_free(gone, NULL), 0);
    assert_true(spw_carry_is_idle(device));
    pump();
    expect(again, 7);
    fake_run_all();
    check_blocks();
}

/* `test-carry eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_leaves_and_comes_back),
        cmocka_unit_test(what_needs_no_copy_leaves_without_one),
        cmocka_unit_test(a_tensor_that_is_read_on_its_way_out_stays_clean),
        cmocka_unit_test(a_tensor_that_is_written_on_its_way_out_stays_and_goes_anew),
        cmocka_unit_test(a_tensor_waits_in_order_for_memory_that_leaves),
        cmocka_unit_test(a_tensor_needed_before_it_has_memory_comes_on_demand),
        cmocka_unit_test(memory_is_taken_from_what_leaves_before_anything_is_evicted),
        cmocka_unit_test(what_is_freed_on_its_way_leaves_no_trace),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
