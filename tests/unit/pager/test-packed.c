/* test-packed.c - allocations that share granules: each has its own address, bytes and owner, and they move together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "allocation.h"
#include "capture.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "lock.h"
#include "mempool_stats.h"
#include "mover.h"
#include "pack.h"
#include "pin.h"
#include "reclaim.h"
#include "unlocked.h"

#define GRANULE   ((size_t)256 << 10)
#define BYTES     ((size_t)60 << 10) /* four of them and a little more in a pack */
#define IN_A_PACK 4

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
    fake_start(GRANULE, 128 << 20, budget, 16 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
}

static struct spw_stream *stream_of(CUstream stream)
{
    spw_lock();
    struct spw_stream *of = spw_stream_of_locked(stream);
    spw_unlock();
    return of;
}

static CUdeviceptr allocate_on(size_t bytes, CUstream stream)
{
    CUdeviceptr a = 0;
    assert_int_equal(
        spw_allocate(device, bytes, stream ? stream_of(stream) : NULL, context, spw_mempool_stats_of_locked(NULL), &a), 0);
    return a;
}

static CUdeviceptr allocate(size_t bytes)
{
    return allocate_on(bytes, NULL);
}

static void fill(CUstream stream, CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = stream, .hits = &a, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(stream, a, bytes, value);
    spw_op_end(&op);
}

static void expect(CUdeviceptr a, size_t bytes, unsigned char value)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .name = "a kernel that reads"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_expect(s, a, bytes, value);
    spw_op_end(&op);
}

static struct spw_allocation allocation_at(CUdeviceptr a)
{
    struct spw_allocation found = {0};
    spw_lock();
    if (!spw_allocation_at_locked(a, &found))
        found.address = 0;
    spw_unlock();
    return found;
}

static struct spw_block *block_at(CUdeviceptr a)
{
    spw_lock();
    struct spw_object *o = spw_object_at_locked(a);
    spw_unlock();
    return o ? spw_block_of(o) : NULL;
}

static void each_has_an_address_and_a_size_of_its_own(void **state)
{
    begin(4 * GRANULE);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES + 100);
    assert_ptr_equal(block_at(a), block_at(b));
    assert_non_null(block_at(a)->pack);
    assert_int_equal(b % SPW_PACK_ALIGNMENT, 0);
    assert_true(b >= a + BYTES);
    assert_int_equal(allocation_at(a).address, a);
    assert_int_equal(allocation_at(a).size_bytes, BYTES);
    assert_int_equal(allocation_at(b + BYTES + 99).address, b);
    assert_int_equal(allocation_at(b).size_bytes, BYTES + 100);
    assert_true(allocation_at(a).serial != allocation_at(b).serial);
    assert_int_equal(allocation_at(b + BYTES + 100).address, 0);
    assert_int_equal(device->live_bytes, 2 * BYTES + 100);
    assert_int_equal(device->live_count, 2);
}

static void an_attribute_is_of_one_of_them(void **state)
{
    begin(4 * GRANULE);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    spw_lock();
    spw_allocation_set_sync_memops_locked(b, true);
    spw_unlock();
    assert_true(allocation_at(b).sync_memops);
    assert_false(allocation_at(a).sync_memops);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_int_equal(allocate(BYTES), b);
    assert_false(allocation_at(b).sync_memops);
}

static void what_begins_nowhere_is_not_freed(void **state)
{
    begin(4 * GRANULE);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    assert_int_equal(spw_free(a + SPW_PACK_ALIGNMENT, NULL), -EINVAL);
    assert_int_equal(spw_free(b + BYTES + 4 * SPW_PACK_ALIGNMENT, NULL), -EINVAL);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_free(a, NULL), -EINVAL);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_int_equal(spw_free(b, NULL), -EINVAL);
    assert_int_equal(device->live_bytes, 0);
    assert_int_equal(device->live_count, 0);
    assert_null(device->packs);
}

/* More than the budget: packs leave and come back, each byte with them. */
static void all_keep_their_bytes_when_packs_move(void **state)
{
    enum { COUNT = 8 * IN_A_PACK };
    CUdeviceptr a[COUNT];
    begin(3 * GRANULE);
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = allocate(BYTES);
        fill(s, a[i], BYTES, (unsigned char)(i + 1));
    }
    for (unsigned i = 0; i < COUNT; i++)
        expect(a[i], BYTES, (unsigned char)(i + 1));
    fake_run_all();
    assert_true(device->out_bytes > 0);
    assert_true(fake_counts()->made_bytes_peak <= 3 * GRANULE);
}

/* The driver runs streams one after the other here, in the order in which they are waited for. */
static void a_gap_is_filled_after_its_former_owner_is_through(void **state)
{
    begin(4 * GRANULE);
    CUstream other = fake_stream();
    CUdeviceptr a = allocate_on(BYTES, s), rest = allocate_on(BYTES, s);
    fill(s, a, BYTES, 1);
    assert_int_equal(spw_free(a, stream_of(s)), 0);
    CUdeviceptr b = allocate_on(BYTES, other);
    assert_int_equal(a, b);
    fill(other, b, BYTES, 2);
    assert_int_equal(spw_driver.cuStreamSynchronize(other), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, b, BYTES, 2);
    fake_run_all();
    assert_int_equal(spw_free(rest, NULL), 0);
}

/* The same where no stream is told: then the host waits. */
static void a_gap_that_is_given_to_no_stream_is_idle(void **state)
{
    begin(4 * GRANULE);
    CUdeviceptr a = allocate(BYTES), rest = allocate(BYTES);
    fill(s, a, BYTES, 1);
    assert_int_equal(spw_free(a, NULL), 0);
    CUdeviceptr b = allocate(BYTES);
    assert_int_equal(a, b);
    CUstream other = fake_stream();
    fill(other, b, BYTES, 2);
    assert_int_equal(spw_driver.cuStreamSynchronize(other), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, b, BYTES, 2);
    fake_run_all();
    assert_int_equal(spw_free(rest, NULL), 0);
}

static CUresult captures(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

/* While something is captured it cannot be waited for, and stays a gap. */
static void a_gap_that_cannot_be_waited_for_is_given_to_nobody(void **state)
{
    begin(4 * GRANULE);
    CUdeviceptr a = allocate(BYTES), rest = allocate(BYTES);
    fill(s, a, BYTES, 1);
    assert_int_equal(spw_free(a, NULL), 0);
    spw_driver.cuStreamIsCapturing = captures;
    atomic_store(&spw_captures_active, 1);
    CUdeviceptr b = allocate(BYTES);
    atomic_store(&spw_captures_active, 0);
    assert_true(b != a && block_at(b) != block_at(a));
    assert_int_equal(allocation_at(a).address, 0);
    fake_run_all();
    assert_int_equal(spw_free(b, NULL), 0);
    assert_int_equal(spw_free(rest, NULL), 0);
    begin(GRANULE);
}

static CUstream taker;
static CUdeviceptr taken;

static void take_the_other_gap(void)
{
    taken = allocate_on(BYTES, taker);
    fill(taker, taken, BYTES, 3);
    assert_int_equal(spw_driver.cuStreamSynchronize(taker), CUDA_SUCCESS);
}

/* While one thread waits for who used the gaps of a pack, another one takes a gap as well: it comes after them, too. */
static void gaps_that_are_taken_at_once_are_each_filled_after_their_former_owners(void **state)
{
    begin(4 * GRANULE);
    CUstream other = fake_stream();
    taker = fake_stream();
    CUdeviceptr a = allocate_on(BYTES, s), c = allocate_on(BYTES, s), rest = allocate_on(BYTES, s);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    fill(s, a, BYTES, 1);
    fill(other, c, BYTES, 2);
    assert_int_equal(spw_free(a, stream_of(s)), 0);
    assert_int_equal(spw_free(c, stream_of(other)), 0);
    spw_lock();
    spw_block_of(spw_object_at_locked(rest))->pack->former.everybody = 1; /* as if of many streams */
    spw_unlock();
    fake_meanwhile(take_the_other_gap);
    CUdeviceptr b = allocate(BYTES);
    assert_true((b == a && taken == c) || (b == c && taken == a));
    fake_run_all();
    fake_expect(s, taken, BYTES, 3);
    fake_run_all();
    assert_int_equal(spw_free(rest, NULL), 0);
}

/* A new pack lies in memory that a block on another stream had: each slot of it comes after that, the last one too. */
static void a_new_pack_comes_after_what_was_there(void **state)
{
    begin(GRANULE);
    CUdeviceptr whole = allocate_on(GRANULE, s);
    fill(s, whole, GRANULE, 1);
    assert_int_equal(spw_free(whole, stream_of(s)), 0);
    CUdeviceptr first = allocate_on(BYTES, s);
    CUstream other = fake_stream();
    CUdeviceptr second = allocate_on(BYTES, other);
    assert_true(first >= whole && second < whole + GRANULE);
    fake_fill(other, second, BYTES, 2); /* not told, as by a graph: the order has to be there */
    assert_int_equal(spw_driver.cuStreamSynchronize(other), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, second, BYTES, 2);
    fake_run_all();
}

/* The other way round: who freed a slot in the order of a stream that the memory's next owner knows nothing of. */
static void what_a_pack_leaves_comes_after_all_that_was_freed(void **state)
{
    begin(GRANULE);
    CUstream other = fake_stream();
    CUdeviceptr a = allocate_on(BYTES, s), b = allocate_on(BYTES, s);
    fill(s, b, BYTES, 1);
    fake_fill(other, a, BYTES, 1);
    assert_int_equal(spw_free(a, stream_of(other)), 0);
    assert_int_equal(spw_free(b, stream_of(s)), 0);
    CUdeviceptr whole = allocate_on(GRANULE, s);
    assert_true(a >= whole && a < whole + GRANULE);
    fill(s, whole, GRANULE, 2);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    fake_run_all();
    fake_expect(s, a, BYTES, 2);
    fake_run_all();
}

static void what_is_made_the_same_way_again_lies_where_it_lay(void **state)
{
    enum { COUNT = 3 * IN_A_PACK };
    CUdeviceptr kept, a[2][COUNT];
    begin(16 * GRANULE);
    kept = allocate_on(BYTES, s);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < COUNT; i++)
            a[round][i] = allocate_on(BYTES + i * 100, s);
        for (unsigned i = 0; i < COUNT; i++)
            assert_int_equal(spw_free(a[round][COUNT - 1 - i], stream_of(s)), 0);
    }
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(a[0][i], a[1][i]);
    assert_int_equal(spw_free(kept, NULL), 0);
}

static void nothing_overlaps_whatever_is_made_and_freed(void **state)
{
    enum { COUNT = 64, TURNS = 4000 };
    struct {
        CUdeviceptr address;
        size_t bytes;
    } live[COUNT] = {0};
    uint64_t drawn = 88172645463325252u;
    begin(32 * GRANULE);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        drawn ^= drawn << 13, drawn ^= drawn >> 7, drawn ^= drawn << 17;
        const unsigned i = drawn % COUNT;
        if (live[i].address) {
            assert_int_equal(spw_free(live[i].address, NULL), 0);
            live[i].address = 0;
            continue;
        }
        live[i].bytes = ((size_t)32 << 10) + (drawn >> 8) % ((size_t)96 << 10);
        live[i].address = allocate(live[i].bytes);
        assert_int_equal(allocation_at(live[i].address).size_bytes, live[i].bytes);
        for (unsigned k = 0; k < COUNT; k++)
            assert_true(k == i || !live[k].address || live[k].address >= live[i].address + live[i].bytes ||
                        live[i].address >= live[k].address + live[k].bytes);
    }
    for (unsigned i = 0; i < COUNT; i++)
        if (live[i].address)
            assert_int_equal(spw_free(live[i].address, NULL), 0);
    assert_int_equal(device->live_bytes, 0);
    assert_null(device->packs);
}

/* One of each pack stays, again and again: memory does not grow with what is gone. */
static void gaps_are_filled_before_there_are_many_of_them(void **state)
{
    enum { TURNS = 200 };
    CUdeviceptr kept[TURNS], rest[2 * IN_A_PACK];
    size_t live = 0;
    begin(64 * GRANULE);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (unsigned i = 0; i < 2 * IN_A_PACK; i++)
            rest[i] = allocate(BYTES);
        kept[turn] = rest[turn % (2 * IN_A_PACK)];
        live += BYTES;
        for (unsigned i = 0; i < 2 * IN_A_PACK; i++)
            if (rest[i] != kept[turn])
                assert_int_equal(spw_free(rest[i], NULL), 0);
        assert_true(device->pack_bytes <= 2 * live + 12 * GRANULE);
    }
    for (unsigned turn = 0; turn < TURNS; turn++)
        assert_int_equal(spw_free(kept[turn], NULL), 0);
    assert_int_equal(device->pack_bytes, 0);
    assert_int_equal(device->packed_bytes, 0);
}

/* The same where lives are such that the newest packs never have the gaps. */
static void old_gaps_are_filled_too(void **state)
{
    enum { COUNT = 40 * IN_A_PACK };
    CUdeviceptr a[COUNT];
    begin(64 * GRANULE);
    for (unsigned i = 0; i < COUNT; i++)
        a[i] = allocate(BYTES);
    const uint64_t before = device->pack_bytes;
    for (unsigned i = 0; i < COUNT; i++)
        if (i % IN_A_PACK)
            assert_int_equal(spw_free(a[i], NULL), 0);
    for (unsigned i = 0; i < COUNT; i++)
        if (i % IN_A_PACK)
            a[i] = allocate(BYTES);
    assert_true(device->pack_bytes <= before + 24 * GRANULE);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(spw_free(a[i], NULL), 0);
    assert_null(device->packs);
}

static void a_context_takes_all_of_its_packs_along(void **state)
{
    begin(8 * GRANULE);
    for (unsigned i = 0; i < 2 * IN_A_PACK + 1; i++)
        fill(s, allocate(BYTES), BYTES, 1);
    fake_run_all();
    spw_lock();
    spw_free_of_context_locked(context);
    spw_unlock();
    assert_int_equal(device->live_count, 0);
    assert_int_equal(device->live_bytes, 0);
    assert_null(device->packs);
}

static void what_is_pinned_pins_its_pack(void **state)
{
    begin(2 * GRANULE);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    spw_pin_address(b, "the test says so");
    fill(s, a, BYTES, 1);
    CUdeviceptr c = allocate(GRANULE), e = allocate(GRANULE);
    fill(s, c, GRANULE, 2);
    fill(s, e, GRANULE, 3);
    assert_false(block_at(b)->object.attention & SPW_ABSENT);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_int_equal(spw_free(a, NULL), 0);
    fake_run_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_an_address_and_a_size_of_its_own),
        cmocka_unit_test(an_attribute_is_of_one_of_them),
        cmocka_unit_test(what_begins_nowhere_is_not_freed),
        cmocka_unit_test(all_keep_their_bytes_when_packs_move),
        cmocka_unit_test(a_gap_is_filled_after_its_former_owner_is_through),
        cmocka_unit_test(a_gap_that_is_given_to_no_stream_is_idle),
        cmocka_unit_test(a_gap_that_cannot_be_waited_for_is_given_to_nobody),
        cmocka_unit_test(gaps_that_are_taken_at_once_are_each_filled_after_their_former_owners),
        cmocka_unit_test(a_new_pack_comes_after_what_was_there),
        cmocka_unit_test(what_a_pack_leaves_comes_after_all_that_was_freed),
        cmocka_unit_test(what_is_made_the_same_way_again_lies_where_it_lay),
        cmocka_unit_test(nothing_overlaps_whatever_is_made_and_freed),
        cmocka_unit_test(gaps_are_filled_before_there_are_many_of_them),
        cmocka_unit_test(old_gaps_are_filled_too),
        cmocka_unit_test(a_context_takes_all_of_its_packs_along),
        cmocka_unit_test(what_is_pinned_pins_its_pack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
