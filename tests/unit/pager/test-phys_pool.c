/* test-phys_pool.c - physical memory in pieces: any size out of what there is, cut only where nothing fits, within the
 * budget.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "alloc.h"
#include "devices.h"
#include "driver.h"
#include "engine.h"
#include "fake-device.h"
#include "phys_pool.h"
#include "lock.h"
#include "mover.h"
#include "mempool_stats.h"
#include "reclaim.h"
#include "unlocked.h"

enum { GRANULE = 4096, HOLDERS = 24 };

static struct spw_phys_pool h;
static struct spw_memory held[HOLDERS];

static void begin(uint32_t memory, uint32_t budget)
{
    for (int i = 0; i < HOLDERS; i++)
        spw_phys_pool_give_locked(&h, &held[i], 0);
    spw_phys_pool_reset(&h);
    fake_start(GRANULE, (uint64_t)memory * GRANULE, (uint64_t)budget * GRANULE, 1 << 20);
    h.granule_shift = 12;
    h.budget_bytes = (uint64_t)budget * GRANULE;
}

static uint32_t granules_of(const struct spw_memory *m)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < m->count; i++)
        sum += spw_memory_piece(m, i).granules;
    assert_int_equal(sum, m->granules);
    return sum;
}

/* What was made is what is held or pooled, and no more than the budget. */
static void check(void)
{
    uint64_t used = 0, pooled = 0, pieces = 0;
    for (int i = 0; i < HOLDERS; i++) {
        used += (uint64_t)granules_of(&held[i]) * GRANULE;
        pieces += held[i].count;
    }
    for (uint32_t i = 0; i < h.bin_count; i++) {
        pooled += (uint64_t)h.bins[i].count * h.bins[i].granules * GRANULE;
        pieces += h.bins[i].count;
        assert_true(i == 0 || h.bins[i].granules > h.bins[i - 1].granules);
    }
    assert_int_equal(pooled, h.pooled_bytes);
    assert_int_equal(used + pooled, h.made_bytes);
    assert_int_equal(pieces, h.made_count);
    assert_int_equal(h.made_bytes, fake_counts()->made_bytes);
    assert_int_equal(h.made_bytes_peak, fake_counts()->made_bytes_peak);
    assert_true(h.made_bytes_peak <= h.budget_bytes + h.lacking_bytes);
}

static int take(int holder, uint32_t granules)
{
    int r = spw_phys_pool_take_locked(&h, granules, &held[holder]);
    check();
    return r;
}

static void give(int holder)
{
    spw_phys_pool_give_locked(&h, &held[holder], 0);
    check();
}

static void memory_that_was_never_short_is_in_one_piece(void **state)
{
    begin(100, 100);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(take(i, (uint32_t)i + 5), 0);
        assert_int_equal(held[i].count, 1);
    }
    assert_int_equal(fake_counts()->creates, 8);
}

/* So that none takes long to be released where a smaller one is wanted. */
static void no_piece_is_larger_than_the_largest(void **state)
{
    begin(200, 200);
    assert_int_equal(take(0, 2 * SPW_PIECE_GRANULES + 7), 0);
    assert_int_equal(held[0].count, 3);
    assert_int_equal(spw_memory_piece(&held[0], 0).granules, SPW_PIECE_GRANULES);
    assert_int_equal(spw_memory_piece(&held[0], 1).granules, SPW_PIECE_GRANULES);
    assert_int_equal(spw_memory_piece(&held[0], 2).granules, 7);
}

static void what_came_back_is_put_together_the_largest_first(void **state)
{
    begin(100, 11);
    assert_int_equal(take(0, 3), 0);
    assert_int_equal(take(1, 6), 0);
    assert_int_equal(take(2, 2), 0);
    give(0);
    give(1);
    give(2);
    assert_int_equal(take(3, 8), 0);
    assert_int_equal(held[3].count, 2);
    assert_int_equal(spw_memory_piece(&held[3], 0).granules, 6);
    assert_int_equal(spw_memory_piece(&held[3], 1).granules, 2);
    assert_int_equal(take(4, 3), 0);
    assert_int_equal(held[4].count, 1);
    assert_int_equal(fake_counts()->creates, 3);
    assert_int_equal(spw_phys_pool_room_locked(&h), 0);
}

static void a_piece_that_fits_exactly_is_taken_alone(void **state)
{
    begin(100, 20);
    assert_int_equal(take(0, 9), 0);
    assert_int_equal(take(1, 5), 0);
    assert_int_equal(take(2, 3), 0);
    for (int i = 0; i < 3; i++)
        give(i);
    assert_int_equal(take(3, 5), 0);
    assert_int_equal(held[3].count, 1);
    assert_int_equal(fake_counts()->creates, 3);
}

/* The smallest of them goes, and the rest of it is made when it is wanted. */
static void a_piece_is_made_in_place_of_a_larger_one(void **state)
{
    begin(100, 24);
    assert_int_equal(take(0, 16), 0);
    assert_int_equal(take(1, 8), 0);
    give(0);
    give(1);
    assert_int_equal(take(2, 3), 0);
    assert_int_equal(fake_counts()->releases, 1);
    assert_int_equal(h.made_bytes, 19 * GRANULE);
    assert_int_equal(take(3, 5), 0);
    assert_int_equal(held[3].count, 1);
    assert_int_equal(take(4, 16), 0);
    assert_int_equal(held[4].count, 1);
    assert_int_equal(fake_counts()->releases, 1);
}

static void more_than_the_budget_has_is_refused_and_changes_nothing(void **state)
{
    begin(100, 10);
    assert_int_equal(take(0, 4), 0);
    assert_int_equal(take(1, 4), 0);
    give(0);
    assert_int_equal(take(2, 7), -ENOMEM);
    assert_int_equal(held[2].count, 0);
    assert_int_equal(h.pooled_bytes, 4 * GRANULE);
    assert_int_equal(h.budget_bytes, 10 * GRANULE);
    assert_int_equal(take(2, 6), 0);
    assert_int_equal(held[2].count, 1);
    assert_int_equal(fake_counts()->releases, 1);
}

static void what_is_lacking_is_put_behind_what_is_there(void **state)
{
    begin(100, 10);
    assert_int_equal(take(0, 4), 0);
    assert_int_equal(take(0, 3), 0);
    assert_int_equal(held[0].granules, 7);
    assert_int_equal(take(0, 4), -ENOMEM);
    assert_int_equal(held[0].granules, 7);
    spw_phys_pool_give_locked(&h, &held[0], 1);
    check();
    assert_int_equal(held[0].granules, 4);
    assert_int_equal(spw_phys_pool_room_locked(&h), 6 * GRANULE);
}

/* Whatever call fails, once or for good: what is held and pooled is what was made, and later all is as if nothing had been.
 */
static void a_failure_leaves_what_was_taken_in_the_pool(void **state)
{
    const char *names[] = {"cuMemCreate", "cuMemRelease"};
    const CUresult results[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN};
    for (unsigned variant = 0; variant < 8; variant++)
        for (unsigned n = 1; n <= 8; n++) {
            begin(64, 64);
            assert_int_equal(take(0, 5), 0);
            assert_int_equal(take(1, 30), 0);
            assert_int_equal(take(2, 29), 0);
            for (int i = 0; i < 3; i++)
                give(i);
            fake_fail(names[variant & 1], n, results[variant >> 1 & 1], variant >> 2);
            int r = spw_phys_pool_take_locked(&h, 12, &held[0]);
            fake_fail("", 0, 0, false);
            assert_int_equal(granules_of(&held[0]), r == 0 ? 12 : 0);
            if (variant & 1)
                continue; /* what could not be released is on the bill for good */
            check();
            (void)spw_phys_pool_ask_again_locked(&h);
            give(0);
            assert_int_equal(take(1, 64), 0);
        }
}

static void a_device_that_has_less_lowers_the_budget_until_it_is_asked_again(void **state)
{
    begin(20, 30);
    assert_int_equal(take(0, 8), 0);
    assert_int_equal(take(1, 8), 0);
    assert_int_equal(take(2, 8), -ENOMEM);
    assert_int_equal(h.budget_bytes, 20 * GRANULE);
    assert_int_equal(h.lacking_bytes, 10 * GRANULE);
    give(0);
    assert_int_equal(take(2, 6), 0);
    assert_true(spw_phys_pool_ask_again_locked(&h));
    assert_false(spw_phys_pool_ask_again_locked(&h));
    assert_int_equal(h.budget_bytes, 30 * GRANULE);
    assert_int_equal(take(3, 6), 0);
}

/* Where the device has no room for what the budget still allows, larger pieces go as well. */
static void larger_pieces_go_where_the_device_has_no_room_for_more(void **state)
{
    begin(16, 30);
    assert_int_equal(take(0, 16), 0);
    give(0);
    assert_int_equal(take(1, 5), 0);
    assert_int_equal(h.budget_bytes, 16 * GRANULE);
    assert_int_equal(take(2, 11), 0);
}

static void a_lower_budget_and_a_trim_release_the_largest_first(void **state)
{
    begin(64, 32);
    assert_int_equal(take(0, 16), 0);
    assert_int_equal(take(1, 8), 0);
    assert_int_equal(take(2, 4), 0);
    for (int i = 0; i < 3; i++)
        give(i);
    h.made_bytes_peak = 0; /* it was within another budget */
    h.budget_bytes = 20 * GRANULE;
    spw_phys_pool_fit_locked(&h);
    assert_int_equal(h.made_bytes, 12 * GRANULE);
    spw_phys_pool_trim_locked(&h, 4 * (uint64_t)GRANULE);
    assert_int_equal(h.pooled_bytes, 4 * GRANULE);
    assert_int_equal(fake_counts()->made_bytes, 4 * GRANULE);
}

/* ---- pieces behind a block ---- */

static struct spw_device *device;
static CUcontext context;
static CUstream s;
static CUdeviceptr large, five, three;

static CUdeviceptr allocate(uint32_t granules)
{
    CUdeviceptr a = 0;
    assert_int_equal(spw_allocate(device, (size_t)granules * GRANULE, NULL, context, spw_mempool_stats_of_locked(NULL), &a),
                     0);
    return a;
}

static int use(CUdeviceptr a, uint32_t granules, unsigned char value, bool write)
{
    struct spw_op op = {.handle = s, .hits = &a, .count = 1, .room = 1, .read_only = !write, .name = "a kernel"};
    int r = spw_op_begin(&op);
    if (r < 0)
        return r;
    if (write)
        fake_fill(s, a, (size_t)granules * GRANULE, value);
    else
        fake_expect(s, a, (size_t)granules * GRANULE, value);
    spw_op_end(&op);
    return 0;
}

static struct spw_block *block_at(CUdeviceptr a)
{
    return spw_block_of(spw_object_at_locked(a));
}

/* Two tensors fill the budget of eight granules; a third one of eight waits for its first use. */
static void begin_with_blocks(void)
{
    spw_ledger_reset();
    spw_mover_reset();
    spw_devices_reset();
    spw_streams_reset();
    spw_reclaim_pressed = false;
    fake_start(GRANULE, 1 << 20, 8 * GRANULE, 1 << 20);
    device = spw_device_current(&context);
    assert_non_null(device);
    s = fake_stream();
    five = allocate(5);
    three = allocate(3);
    large = allocate(8);
    assert_int_equal(use(five, 5, 5, true), 0);
    assert_int_equal(use(three, 3, 3, true), 0);
}

static void check_blocks(void)
{
    uint64_t bytes = device->handles.pooled_bytes;
    for (uint32_t i = 0; i < device->block_count; i++) {
        assert_true(spw_block_check_locked(device->blocks[i]));
        bytes += (uint64_t)granules_of(&device->blocks[i]->memory) * GRANULE;
    }
    assert_int_equal(bytes, device->handles.made_bytes);
    assert_int_equal(device->handles.made_bytes, fake_counts()->made_bytes);
    assert_true(fake_counts()->made_bytes_peak <= 8 * GRANULE);
}

static void a_tensor_lies_in_the_memory_of_two(void **state)
{
    begin_with_blocks();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(use(large, 8, (unsigned char)(20 + i), true), 0);
        assert_int_equal(block_at(large)->memory.count, 2);
        check_blocks();
        assert_int_equal(use(five, 5, 5, false), 0);
        assert_int_equal(use(three, 3, 3, false), 0);
        assert_int_equal(block_at(five)->memory.count, 1);
        check_blocks();
        assert_int_equal(use(large, 8, (unsigned char)(20 + i), false), 0);
    }
    fake_run_all();
    assert_int_equal(fake_counts()->creates, 2);
    assert_int_equal(fake_counts()->releases, 0);
}

/* A call that fails for a while: the bytes are right afterwards, and no memory is lost or used beyond the budget. */
static void whatever_fails_under_a_tensor_in_pieces_is_made_good(void **state)
{
    const char *names[] = {"cuMemMap", "cuMemSetAccess", "cuMemUnmap", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"};
    for (unsigned name = 0; name < 5; name++)
        for (unsigned too = 0; too < 2; too++)
            for (unsigned n = 1; n <= 6; n++)
                for (unsigned for_good = 0; for_good < 2; for_good++) {
                    begin_with_blocks();
                    assert_int_equal(use(large, 8, 9, true), 0);
                    assert_int_equal(use(five, 5, 5, false), 0);
                    fake_fail(names[name], n, CUDA_ERROR_UNKNOWN, for_good);
                    if (too)
                        fake_fail_too("cuMemUnmap");
                    int first = use(large, 8, 9, false), second = use(three, 3, 3, false), third = use(large, 8, 9, false);
                    assert_true(first == 0 || too || for_good || name > 0);
                    fake_fail("", 0, 0, false);
                    check_blocks();
                    assert_true(second <= 0 && third <= 0);
                    assert_int_equal(use(large, 8, 9, false), 0);
                    assert_int_equal(use(three, 3, 3, false), 0);
                    assert_int_equal(use(five, 5, 5, false), 0);
                    check_blocks();
                    fake_run_all();
                }
}

/* Only the pieces that are mapped stay with a block that cannot be unmapped; the next try adds what is missing. */
static void a_block_that_is_stuck_keeps_what_is_mapped(void **state)
{
    begin_with_blocks();
    assert_int_equal(use(large, 8, 9, true), 0);
    assert_int_equal(use(five, 5, 5, false), 0);
    assert_int_equal(use(three, 3, 3, false), 0);
    spw_lock();
    struct spw_block *b = block_at(large);
    assert_int_equal(spw_reclaim_make(device, 8 * GRANULE), 0);
    fake_fail("cuMemMap", 2, CUDA_ERROR_UNKNOWN, false);
    fake_fail_too("cuMemUnmap");
    assert_true(spw_mover_attach_locked(device, b) < 0);
    fake_fail("", 0, 0, false);
    assert_int_equal(b->memory.count, 1);
    assert_int_equal(b->memory.granules, 5);
    assert_int_equal(device->handles.pooled_bytes, 3 * GRANULE);
    assert_true(b->object.attention & SPW_EVICTED);
    assert_int_equal(spw_block_lacking_bytes(device, b), 3 * GRANULE);
    spw_unlock();
    check_blocks();
    assert_int_equal(use(large, 8, 9, false), 0);
    assert_int_equal(block_at(large)->memory.count, 2);
    check_blocks();
    fake_run_all();
    assert_int_equal(fake_counts()->creates, 2);
}

/* What could not be unmapped is unmapped as soon as the driver does it and somebody needs it, of freed tensors too. */
static void memory_that_was_stuck_comes_back(void **state)
{
    for (int freed = 0; freed < 2; freed++) {
        begin_with_blocks();
        assert_int_equal(use(large, 8, 9, true), 0);
        assert_int_equal(use(five, 5, 5, false), 0);
        fake_fail("cuMemSetAccess", 1, CUDA_ERROR_UNKNOWN, true);
        fake_fail_too("cuMemUnmap");
        assert_true(use(three, 3, 3, false) < 0);
        assert_int_equal(block_at(three)->memory.granules, 3);
        if (freed)
            assert_int_equal(spw_free(three, NULL), 0);
        fake_fail("", 0, 0, false);
        assert_int_equal(use(large, 8, 9, false), 0);
        assert_int_equal(device->block_count, freed ? 2 : 3);
        check_blocks();
        if (!freed)
            assert_int_equal(use(three, 3, 3, false), 0);
        fake_run_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_was_never_short_is_in_one_piece),
        cmocka_unit_test(no_piece_is_larger_than_the_largest),
        cmocka_unit_test(what_came_back_is_put_together_the_largest_first),
        cmocka_unit_test(a_piece_that_fits_exactly_is_taken_alone),
        cmocka_unit_test(a_piece_is_made_in_place_of_a_larger_one),
        cmocka_unit_test(more_than_the_budget_has_is_refused_and_changes_nothing),
        cmocka_unit_test(what_is_lacking_is_put_behind_what_is_there),
        cmocka_unit_test(a_failure_leaves_what_was_taken_in_the_pool),
        cmocka_unit_test(a_device_that_has_less_lowers_the_budget_until_it_is_asked_again),
        cmocka_unit_test(larger_pieces_go_where_the_device_has_no_room_for_more),
        cmocka_unit_test(a_lower_budget_and_a_trim_release_the_largest_first),
        cmocka_unit_test(a_tensor_lies_in_the_memory_of_two),
        cmocka_unit_test(whatever_fails_under_a_tensor_in_pieces_is_made_good),
        cmocka_unit_test(a_block_that_is_stuck_keeps_what_is_mapped),
        cmocka_unit_test(memory_that_was_stuck_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
