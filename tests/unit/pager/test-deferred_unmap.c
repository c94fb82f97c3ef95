/* test-deferred_unmap.c - memory that changes hands on the device before it is out of use, on the fake device, which runs
 * what is newest first wherever nothing holds it. */
#include "carried.h"
#include "unmanaged.h"
#include "hostpool.h"
#include "slab.h"
#include "deferred_unmap.h"

static void begin_changing_hands(uint64_t budget)
{
    begin(budget, 16 << 20);
    spw_lock();
    spw_unmap_counts = (struct spw_unmap_counts){0};
    spw_unmap_is_due = false;
    spw_unmap_allow_deferral_locked(device, true);
    spw_unlock();
}

static int no_action(struct spw_device *d, struct spw_block *b)
{
    return 0;
}

static int end_all(struct spw_device *d, struct spw_block *b)
{
    return spw_unmap_all_unlocking(d);
}

static int drop_without_copy(struct spw_device *d, struct spw_block *b)
{
    return spw_mover_detach_locked(d, b);
}

static int trim(struct spw_device *d, struct spw_block *b)
{
    spw_phys_pool_trim_locked(&d->handles, 0);
    return 0;
}

static void finish(void)
{
    fake_run_all();
    assert_int_equal(pthread_mutex_trylock(&device->slow), 0);
    spw_lock();
    assert_int_equal(spw_unmap_all_unlocking(device), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    assert_int_equal(device->stale.granules, 0);
    assert_false(spw_alias_map_any(&device->handles.aliases));
    check_blocks();
}

/* Nothing has run when the second tensor has the memory of the first, which is still to be copied out of it. */
static void memory_goes_to_the_next_owner_before_the_last_use(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    assert_int_equal(fill_on(t, b, BYTES, 2), 0);
    assert_int_equal(attention(a), SPW_EVICTED);
    assert_int_equal(attention(b), SPW_FENCED);
    assert_int_equal(fake_counts()->copies_out, 1);
    assert_int_equal(spw_unmap_counts.early_count, 1);
    assert_int_equal(expect_on(t, b, BYTES, 2), 0);
    expect(a, 1);
    assert_int_equal(expect_on(t, b, BYTES, 2), 0);
    finish();
    assert_int_equal(fake_counts()->mapped_bytes_peak, BYTES);
}

/* The copy in comes after the fence, and everybody after the copy. */
static void what_is_brought_back_comes_after_the_former_owner(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    let_run();
    leave(b);
    restore(a);
    assert_int_equal(attention(b), SPW_EVICTED);
    assert_int_equal(attention(a), SPW_RESTORING);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0);
    assert_int_equal(expect_on(t, b, BYTES, 2), 0);
    finish();
}

/* Its fence is gone when the former owner is known to be done, and operations go the quick way again. */
static void a_fence_ends_with_the_former_owner(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    fill(b, 2);
    assert_int_equal(attention(b), SPW_FENCED);
    let_run();
    expect(b, 2);
    assert_int_equal(attention(b), 0);
    finish();
}

/* The second owner gives it up before anybody has used it: the third one comes after the first all the same. */
static void whoever_never_used_it_hands_its_fence_on(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    leave(a);
    assert_int_equal(under_locks(spw_engine_make_resident_unlocking, b), 0);
    assert_int_equal(attention(b), SPW_FENCED);
    assert_int_equal(under_locks(drop_without_copy, b), 0);
    assert_int_equal(fill_on(t, c, BYTES, 3), 0);
    assert_int_equal(attention(c), SPW_FENCED);
    assert_int_equal(expect_on(t, c, BYTES, 3), 0);
    expect(a, 1);
    finish();
}

/* Freed before it was used, and allocated anew for another stream, at the same address. */
static void a_fence_holds_for_the_next_owner_of_the_address(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    assert_int_equal(under_locks(spw_engine_make_resident_unlocking, b), 0);
    spw_lock();
    struct spw_stream *on_t = spw_stream_of_locked(t);
    spw_unlock();
    assert_int_equal(spw_free(b, on_t), 0);
    CUdeviceptr again;
    assert_int_equal(spw_allocate(device, BYTES, on_t, context, spw_mempool_stats_of_locked(NULL), &again), 0);
    assert_int_equal(again, b);
    assert_int_equal(fill_on(t, b, BYTES, 2), 0);
    assert_int_equal(expect_on(t, b, BYTES, 2), 0);
    expect(a, 1);
    finish();
}

/* Neither the addresses nor the host memory of a tensor that is freed are given to others while its copy is under way. */
static void what_is_freed_on_its_way_out_keeps_its_places(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    fill(b, 2);
    const uint64_t held = spw_hostpool_bytes_in_use(spw_host_memory_pool_locked());
    assert_int_equal(held, BYTES);
    assert_int_equal(spw_free(a, NULL), 0);
    assert_int_equal(spw_hostpool_bytes_in_use(spw_host_memory_pool_locked()), held);
    CUdeviceptr c = allocate(BYTES);
    assert_true(c != a);
    let_run();
    spw_unmap_host_waits();
    assert_int_equal(spw_hostpool_bytes_in_use(spw_host_memory_pool_locked()), 0);
    assert_int_equal(allocate(BYTES), a);
    finish();
}

/* The driver keeps memory that is mapped anywhere: it counts until it is not. */
static void memory_that_is_stale_somewhere_is_released_later(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    let_run();
    assert_int_equal(under_locks(spw_transfer_write_back_locked, a), 0);
    let_run();
    assert_int_equal(under_locks(drop_without_copy, a), 0);
    assert_int_equal(device->handles.pooled_bytes, BYTES);
    assert_int_equal(under_locks(trim, a), 0);
    assert_int_equal(fake_counts()->releases, 0);
    assert_int_equal(device->handles.pooled_bytes, 0);
    assert_int_equal(device->handles.made_bytes, BYTES);
    assert_int_equal(under_locks(end_all, a), 0);
    assert_int_equal(fake_counts()->releases, 1);
    assert_int_equal(device->handles.made_bytes, 0);
    expect(a, 1);
    finish();
}

/* What is to be cut has to be released, and is mapped until then: only who is at that is waited for. */
static void a_piece_is_cut_when_it_is_stale_nowhere(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES / 2);
    fill(a, 1);
    leave(a);
    assert_int_equal(fill_on(t, b, BYTES / 2, 2), 0);
    assert_int_equal(device->stale.granules, 0);
    assert_int_equal(fake_counts()->releases, 1);
    assert_int_equal(expect_on(t, b, BYTES / 2, 2), 0);
    finish();
}

static int hand_over(struct spw_device *d, struct spw_block *b)
{
    return spw_transfer_hand_over_locked(d) ? 0 : -ENOENT;
}

/* Both are stale, and the one that is for longer is still to be read through its old address. */
static void of_pieces_that_are_stale_one_is_cut_that_takes_no_waiting(void **state)
{
    begin_changing_hands(2 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES / 2);
    fill(a, 1);
    fill(b, 2);
    assert_int_equal(under_locks(spw_transfer_write_back_locked, a), 0);
    leave(b);
    let_run();
    expect(a, 1);
    leave(a);
    assert_int_equal(under_locks(hand_over, a), 0);
    assert_non_null(block_at(a)->stale);
    pump();
    assert_non_null(block_at(b)->stale);
    assert_int_equal(fill_on(t, c, BYTES / 2, 3), 0);
    assert_non_null(block_at(a)->stale);
    assert_null(block_at(b)->stale);
    assert_int_equal(fake_counts()->releases, 1);
    expect(b, 2);
    expect(a, 1);
    finish();
}

/* There is none to be had, whatever is unmapped: somebody has to give his away first. */
static void who_waits_for_memory_leaves_stale_addresses_alone(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    let_run();
    leave(b);
    let_run();
    fill(c, 3);
    let_run();
    assert_non_null(block_at(b)->stale);
    restore(a);
    assert_int_equal(attention(a), SPW_EVICTED);
    assert_non_null(block_at(b)->stale);
    expect(a, 1);
    finish();
}

static CUdeviceptr filled(size_t bytes, unsigned char value)
{
    CUdeviceptr a = allocate(bytes);
    assert_int_equal(fill_on(s, a, bytes, value), 0);
    return a;
}

static void give_back(CUdeviceptr a)
{
    spw_lock();
    struct spw_stream *on_s = spw_stream_of_locked(s);
    spw_unlock();
    assert_int_equal(spw_free(a, on_s), 0);
}

/* A piece that is larger than what others need, stale, and still to be copied out of. */
static CUdeviceptr hand_over_filled(unsigned char value)
{
    CUdeviceptr a = filled(BYTES, value);
    leave(a);
    assert_int_equal(under_locks(hand_over, a), 0);
    assert_int_equal(device->handles.pooled_bytes, BYTES);
    return a;
}

/* Nothing has run: the freed blocks are in order for who comes behind them, and the copy is still under way. */
static void freed_memory_goes_before_what_is_being_copied_out(void **state)
{
    begin_changing_hands(3 * BYTES);
    CUdeviceptr a = filled(BYTES, 2), b = filled(BYTES / 2, 3), between = filled(BYTES / 4, 4), c = filled(BYTES / 4, 5),
                gone = hand_over_filled(1), d = allocate(BYTES / 2 + BYTES / 4);
    leave(a);
    give_back(b);
    give_back(c);
    assert_int_equal(fill_on(s, d, BYTES / 2 + BYTES / 4, 6), 0);
    assert_true(attention(a) & SPW_EVICTING);
    assert_int_equal(fake_counts()->releases, 0);
    assert_int_equal(expect_on(s, d, BYTES / 2 + BYTES / 4, 6), 0);
    assert_int_equal(expect_on(s, between, BYTES / 4, 4), 0);
    expect(a, 2);
    expect(gone, 1);
    finish();
}

/* Its piece is too large as well, but may be released for another. */
static void memory_that_is_out_of_use_goes_before_what_is_being_copied_out(void **state)
{
    begin_changing_hands(3 * BYTES);
    CUdeviceptr b = filled(BYTES - BYTES / 4, 3);
    struct spw_block *freed = block_at(b);
    give_back(b);
    spw_lock();
    assert_int_equal(spw_uses_mark_locked(&freed->object.uses), 0);
    spw_unlock();
    let_run();
    spw_lock();
    assert_true(spw_uses_done_locked(&freed->object.uses));
    spw_unlock();
    CUdeviceptr a = filled(BYTES, 2), gone = hand_over_filled(1), c = allocate(BYTES / 2);
    leave(a);
    assert_int_equal(fill_on(s, c, BYTES / 2, 4), 0);
    assert_true(attention(a) & SPW_EVICTING);
    assert_int_equal(fake_counts()->releases, 1);
    assert_int_equal(expect_on(s, c, BYTES / 2, 4), 0);
    expect(a, 2);
    expect(gone, 1);
    finish();
}

/* Small allocations know nothing of who had the memory of their slab. */
static void a_slab_waits_for_the_former_owner(void **state)
{
    begin_changing_hands(BYTES);
    const size_t bytes = spw_slab_bytes(device, 512);
    begin_changing_hands(bytes);
    CUdeviceptr a = allocate(bytes);
    assert_int_equal(fill_on(s, a, bytes, 1), 0);
    leave(a);
    CUdeviceptr small = allocate(512);
    assert_true(spw_unmap_counts.early_count > 0);
    assert_int_equal(fill_on(t, small, 512, 2), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    fake_run_all();
    assert_int_equal(expect_on(t, small, 512, 2), 0);
    finish();
}

/* It has been tried once, and is not tried again. */
static void a_driver_that_maps_nothing_twice_is_waited_for(void **state)
{
    begin_changing_hands(BYTES);
    fake_map_once();
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    fill(b, 2);
    assert_true(device->stale.refused);
    assert_false(device->stale.allowed);
    expect(a, 1);
    expect(b, 2);
    assert_int_equal(spw_unmap_counts.count, 1);
    spw_lock();
    spw_unmap_allow_deferral_locked(device, true);
    spw_unlock();
    assert_false(device->stale.allowed);
    finish();
}

/* An address that the driver does not unmap gets no memory; it is asked again each time. */
static void a_stale_address_that_is_not_unmapped_is_not_used(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    fill(b, 2);
    fake_fail("cuMemUnmap", 1, CUDA_ERROR_UNKNOWN, true);
    assert_true(expect_on(s, a, BYTES, 1) < 0);
    fake_fail("", 0, 0, false);
    expect(a, 1);
    expect(b, 2);
    finish();
}

/* Where it was not enough that what is in the way was unmapped, everything is. */
static void way_is_made_again_by_unmapping_all(void **state)
{
    begin_changing_hands(4 * BYTES);
    CUdeviceptr first[4], next[4];
    for (int i = 0; i < 4; i++)
        fill(first[i] = allocate(BYTES), (unsigned char)(1 + i));
    for (int i = 0; i < 4; i++)
        leave(first[i]);
    for (int i = 0; i < 4; i++)
        fill(next[i] = allocate(BYTES), (unsigned char)(5 + i));
    for (int i = 0; i < 4; i++)
        assert_non_null(block_at(first[i])->stale);
    assert_int_equal(pthread_mutex_trylock(&device->slow), 0);
    spw_lock();
    assert_int_equal(spw_unmap_clear_unlocking(device, block_at(next[0]), false), 0);
    assert_non_null(device->stale.first);
    assert_int_equal(spw_unmap_clear_unlocking(device, block_at(next[0]), true), 0);
    assert_null(device->stale.first);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    for (int i = 0; i < 4; i++)
        expect(first[i], (unsigned char)(1 + i));
    finish();
}

/* Before an operation is submitted that may be up to anything, all old addresses are unmapped. */
static void in_doubt_nothing_stays_stale(void **state)
{
    begin_changing_hands(2 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(c, 3);
    leave(a);
    fill(b, 2);
    assert_int_equal(device->stale.granules, BYTES >> device->granule_shift);
    spw_lock();
    spw_unmap_allow_deferral_locked(device, false);
    spw_unlock();
    assert_true(spw_unmap_is_due);
    fake_fail("cuMemUnmap", 1, CUDA_ERROR_UNKNOWN, true);
    expect(c, 3);
    assert_true(spw_unmap_is_due);
    fake_fail("", 0, 0, false);
    expect(c, 3);
    assert_false(spw_unmap_is_due);
    assert_int_equal(device->stale.granules, 0);
    finish();
}

/* What passes to the driver has to be free on the device, and not in the pool only. */
static void memory_for_others_is_waited_for(void **state)
{
    begin_changing_hands(2 * BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    leave(a);
    assert_int_equal(spw_unmanaged_take(device, BYTES, "a test"), 0);
    assert_int_equal(device->stale.granules, 0);
    assert_int_equal(fake_counts()->made_bytes, BYTES);
    spw_unmanaged_give(device, BYTES);
    expect(a, 1);
    expect(b, 2);
    finish();
}

static int trim_all(struct spw_device *d, struct spw_block *b)
{
    assert_int_equal(spw_uses_mark_locked(&b->object.uses), 0);
    let_run();
    spw_cached_blocks_trim_locked(d, 0);
    return 0;
}

/* Nobody is at it any more: it is not mapped anywhere, and there is room for it. */
static void what_the_program_gives_back_to_the_device_is_room(void **state)
{
    begin_changing_hands(2 * BYTES);
    CUdeviceptr a = filled(BYTES, 1), b = filled(BYTES, 2);
    give_back(a);
    assert_int_equal(under_locks(trim_all, b), 0);
    assert_int_equal(fake_counts()->releases, 1);
    CUdeviceptr c = filled(BYTES, 3);
    assert_int_equal(attention(b), 0);
    assert_int_equal(fake_counts()->copies_out, 0);
    expect(b, 2);
    expect(c, 3);
    finish();
}

/* Somebody is still at what was released: that is waited for before an operation is refused. */
static void memory_that_is_released_later_is_waited_for(void **state)
{
    begin_changing_hands(BYTES);
    CUdeviceptr a = hand_over_filled(1);
    assert_int_equal(under_locks(trim, a), 0);
    assert_int_equal(device->handles.lingering_bytes, BYTES);
    CUdeviceptr b = filled(BYTES, 2);
    expect(a, 1);
    expect(b, 2);
    finish();
}

/* Its last use comes behind a gate by an event: whoever got its memory at once would be behind the gate as well. */
static void what_a_gate_may_hold_back_does_not_change_hands(void **state)
{
    CUevent event;
    begin_changing_hands(2 * BYTES);
    fake_goes_on(true);
    const CUdeviceptr idle = allocate(BYTES), behind = allocate(BYTES), next = allocate(BYTES);
    const CUstream elsewhere = fake_stream();
    fill(idle, 1);
    let_run();
    fake_gate(elsewhere);
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(elsewhere);
    (void)spw_stream_next_locked(record);
    spw_stream_gate_of_program_locked(record);
    spw_unlock();
    assert_int_equal(spw_driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuEventRecord(event, elsewhere), CUDA_SUCCESS);
    assert_int_equal(spw_driver.cuStreamWaitEvent(t, event, 0), CUDA_SUCCESS);
    assert_int_equal(fill_on(t, behind, BYTES, 2), 0);
    leave(behind);
    fill(next, 3);
    assert_int_equal(spw_unmap_counts.early_count, 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(s),
                     CUDA_SUCCESS); /* which the program may do before it opens the gate */
    fake_open_gates();
    let_run();
    expect(idle, 1);
    expect(behind, 2);
    expect(next, 3);
    finish();
}

/* There is never more of it than the budget has, however long nobody waits. */
static void what_is_stale_is_limited(void **state)
{
    begin_changing_hands(2 * BYTES);
    CUdeviceptr a[6];
    for (int i = 0; i < 6; i++)
        fill(a[i] = allocate(BYTES), (unsigned char)(i + 1));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 6; i++) {
            expect(a[i], (unsigned char)(i + 1));
            let_run();
            assert_int_equal(under_locks(no_action, a[i]), 0);
            spw_lock();
            spw_unmap_limit_locked(device);
            spw_unlock();
            assert_true(device->stale.granules <= 2 * BYTES >> device->granule_shift);
        }
    assert_true(spw_unmap_counts.count > 10);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_goes_to_the_next_owner_before_the_last_use),
        cmocka_unit_test(what_is_brought_back_comes_after_the_former_owner),
        cmocka_unit_test(a_fence_ends_with_the_former_owner),
        cmocka_unit_test(whoever_never_used_it_hands_its_fence_on),
        cmocka_unit_test(a_fence_holds_for_the_next_owner_of_the_address),
        cmocka_unit_test(what_is_freed_on_its_way_out_keeps_its_places),
        cmocka_unit_test(memory_that_is_stale_somewhere_is_released_later),
        cmocka_unit_test(a_piece_is_cut_when_it_is_stale_nowhere),
        cmocka_unit_test(of_pieces_that_are_stale_one_is_cut_that_takes_no_waiting),
        cmocka_unit_test(who_waits_for_memory_leaves_stale_addresses_alone),
        cmocka_unit_test(freed_memory_goes_before_what_is_being_copied_out),
        cmocka_unit_test(memory_that_is_out_of_use_goes_before_what_is_being_copied_out),
        cmocka_unit_test(a_slab_waits_for_the_former_owner),
        cmocka_unit_test(a_driver_that_maps_nothing_twice_is_waited_for),
        cmocka_unit_test(a_stale_address_that_is_not_unmapped_is_not_used),
        cmocka_unit_test(way_is_made_again_by_unmapping_all),
        cmocka_unit_test(in_doubt_nothing_stays_stale),
        cmocka_unit_test(memory_for_others_is_waited_for),
        cmocka_unit_test(what_the_program_gives_back_to_the_device_is_room),
        cmocka_unit_test(memory_that_is_released_later_is_waited_for),
        cmocka_unit_test(what_a_gate_may_hold_back_does_not_change_hands),
        cmocka_unit_test(what_is_stale_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
