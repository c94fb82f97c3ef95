/* test-replay.c - tensors that go without a trace and are made again on the fake device: always the same bytes, in order
 * with all else, whatever was freed or written meanwhile. */
#include "reran.h"

#include "hostpool.h"

/* A tensor that is dropped goes without a copy once its last use is complete, and its next use makes it again. */
static void a_dropped_tensor_is_made_again_by_its_next_use(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    drop(b);
    assert_int_equal(attention(b), SPW_EVICTING);
    pump();
    assert_int_equal(attention(b), SPW_EVICTING);
    check_needs();
    let_go_all();
    assert_int_equal(attention(b), SPW_DROPPED);
    assert_int_equal(block_at(a)->content.needed, 1);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    let_go_all();
    assert_int_equal(attention(b), 0);
    assert_int_equal(block_at(a)->content.needed, 0);
    assert_int_equal(fake_counts()->copies_out, 0);
    assert_int_equal(fake_counts()->mixes, 3);
    assert_int_equal(spw_replayed.count[SPW_REPLAY_DEMAND], 1);
    assert_int_equal(spw_transfer_counts.dropped_count, 1);
}

/* Used again before it is gone, it stays as it was, and nothing is needed for it any more. */
static void a_tensor_that_is_used_on_its_way_stays(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    drop(b);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    let_go_all();
    assert_int_equal(attention(b), 0);
    assert_int_equal(block_at(a)->content.needed, 0);
    assert_int_equal(fake_counts()->mixes, 2);
    leave(b); /* it is as dirty as it was */
    let_go_all();
    assert_int_equal(attention(b), SPW_EVICTED);
    assert_int_equal(fake_counts()->copies_out, 1);
}

/* A row of tensors, each made of the one before, all dropped but the first: the last one's use makes them in order. */
static void a_row_of_tensors_is_made_in_order(void **state)
{
    enum { ROW = 40 };
    begin_replays((ROW + 2) * BYTES, 16 << 20);
    CUdeviceptr a[ROW];
    unsigned char value = fake_mixed(NULL, 0, 3);
    for (int i = 0; i < ROW; i++) {
        a[i] = allocate(BYTES);
        if (i == 0)
            mix(a, 0, 1, 3);
        else
            mix(&a[i - 1], 1, 1, (unsigned char)i);
        value = i ? mixed(value, (unsigned char)i) : value;
    }
    for (int i = 1; i < ROW; i++)
        drop(a[i]);
    let_go_all();
    assert_int_equal(spw_transfer_counts.dropped_count, ROW - 1);
    expect(a[ROW - 1], value);
    let_go_all();
    assert_int_equal(fake_counts()->mixes, ROW + ROW - 1);
    for (int i = 0; i < ROW; i++)
        assert_int_equal(attention(a[i]), 0);
}

/* One that is about to go without a trace stays if something is made of it, even if that takes other steps, and memory,
 * first.
 */
static void an_input_that_is_leaving_stays(void **state)
{
    begin_replays(5 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), g = allocate(BYTES), h = allocate(BYTES), x = allocate(BYTES), b = allocate(BYTES);
    const unsigned char first = fake_mixed(NULL, 0, 5), values[] = {mixed(mixed(first, 1), 4), mixed(first, 2)};
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, g}, 1, 1, 1);
    mix((CUdeviceptr[]){g, h}, 1, 1, 4);
    mix((CUdeviceptr[]){a, x}, 1, 1, 2);
    mix((CUdeviceptr[]){h, x, b}, 2, 1, 3);
    drop(b);
    drop(h);
    drop(g);
    let_go_all();
    fill(allocate(BYTES), 1);
    fill(allocate(BYTES), 2); /* there is room for one more */
    expect(x, values[1]);
    drop(x);
    expect(b, fake_mixed(values, 2, 3));
    assert_int_equal(spw_replayed.failed_count, 0);
    let_go_all();
}

/* A tensor is made again while what it is made of is copied out: whether that has waited for the copy. */
static bool waits_for_copy_of_input(bool is_believed)
{
    begin_replays(8 * BYTES, 16 << 20);
    CUdeviceptr a[] = {allocate(BYTES), allocate(BYTES)};
    mix(a, 0, 1, 5);
    believes = is_believed;
    mix(a, 1, 1, 1);
    drop(a[1]);
    let_run();
    pump();
    assert_true(attention(a[1]) & SPW_DROPPED);
    assert_int_equal(under_locks(spw_transfer_write_back_locked, a[0]), 0);
    expect(a[1], mixed(fake_mixed(NULL, 0, 5), 1));
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    spw_lock();
    const bool waited = spw_copies_done_locked(device, block_at(a[0]));
    spw_unlock();
    let_go_all();
    return waited;
}

static void inputs_may_be_copied_out_meanwhile_unless_a_belief_says_that_they_are(void **state)
{
    assert_true(is_eager || !waits_for_copy_of_input(false));
    assert_true(waits_for_copy_of_input(true));
}

/* A launch that reads a tensor, as far as anybody has seen, changes it when it runs again: while it is copied out, or when
 * it has a good copy. */
static void an_input_that_is_changed_after_all_is_found_out(void **state)
{
    for (int is_copied_meanwhile = 0; is_copied_meanwhile < 2; is_copied_meanwhile++) {
        begin_replays(8 * BYTES, 16 << 20);
        const uint64_t refuted = spw_launch_classes_refuted_count;
        CUdeviceptr a[] = {allocate(BYTES), allocate(BYTES)};
        mix(a, 0, 1, 5);
        mix(a, 1, 1, 1);
        block_at(a[1])->content.maker->function = (CUfunction)(uintptr_t)0xf0;
        drop(a[1]);
        let_run();
        pump();
        assert_int_equal(under_locks(spw_transfer_write_back_locked, a[0]), 0);
        if (!is_copied_meanwhile)
            let_run();
        changes = a[0];
        expect(a[1], mixed(CHANGED, 1)); /* it changes that first, in this test */
        changes = 0;
        leave(a[0]);
        for (int i = 0; i < 3; i++) {
            let_run();
            pump();
        }
        assert_int_equal(attention(a[0]), SPW_EVICTED);
        assert_int_equal(spw_launch_classes_refuted_count, refuted + 1);
        expect(a[0], CHANGED);
        fake_run_all();
    }
}

/* Inputs that have left with a copy come in for it. */
static void inputs_on_the_host_come_in_first(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    drop(b);
    leave(a);
    let_go_all();
    assert_int_equal(attention(a), SPW_EVICTED);
    assert_int_equal(attention(b), SPW_DROPPED);
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    let_go_all();
    assert_int_equal(fake_counts()->copies_in, 1);
}

/* What cannot be made again leaves with a copy: its input was written since, or is gone, or it was updated in place, or its
 * operation has also written something that was written since, or everything kept is void. */
static void what_cannot_be_made_again_leaves_with_a_copy(void **state)
{
    for (int why = 0; why < 5; why++) {
        begin_replays(BUDGET, 16 << 20);
        CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
        unsigned char value = mixed(fake_mixed(NULL, 0, 5), 9);
        mix(&a, 0, 1, 5);
        mix((CUdeviceptr[]){a, b, c}, 1, 2, 9);
        if (why == 0)
            mix(&a, 0, 1, 6);
        else if (why == 1)
            give_back(a, s, false);
        else if (why == 2)
            mix((CUdeviceptr[]){b, b}, 1, 1, 2), value = mixed(value, 2);
        else if (why == 3)
            mix(&c, 0, 1, 6);
        else
            spw_version_epoch++;
        drop(b);
        let_go_all();
        assert_int_equal(attention(b), SPW_EVICTED);
        expect(b, value);
        let_go_all();
        assert_int_equal(spw_transfer_counts.dropped_count, 0);
        assert_int_equal(fake_counts()->copies_out, 1);
    }
}

/* Two outputs of one operation, both dropped, come back together; if only one is, the other is written with what it holds.
 */
static void outputs_of_one_operation_come_back_together(void **state)
{
    for (int both = 0; both < 2; both++) {
        begin_replays(BUDGET, 16 << 20);
        CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
        const unsigned char value = mixed(fake_mixed(NULL, 0, 5), 9);
        mix(&a, 0, 1, 5);
        mix((CUdeviceptr[]){a, b, c}, 1, 2, 9);
        drop(b);
        if (both)
            drop(c);
        else
            leave(c);
        let_go_all();
        expect(b, value);
        expect(c, (unsigned char)(value + 1));
        let_go_all();
        assert_int_equal(fake_counts()->mixes, 3);
        assert_int_equal(fake_counts()->copies_in, 0);
        assert_int_equal(attention(c), 0);
    }
}

/* What would overwrite what is needed has what depends on it made first. */
static void what_is_needed_is_rescued_before_it_is_written(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    const unsigned char made = mixed(fake_mixed(NULL, 0, 5), 9);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    mix((CUdeviceptr[]){b, c}, 1, 1, 2);
    drop(b);
    drop(c);
    let_go_all();
    mix(&a, 0, 1, 6);
    assert_int_equal(attention(b), 0);
    assert_int_equal(attention(c), SPW_DROPPED);
    expect(a, fake_mixed(NULL, 0, 6));
    expect(c, mixed(made, 2));
    expect(b, made);
    let_go_all();
    assert_int_equal(spw_replayed.count[SPW_REPLAY_RESCUE], 1);
    drop(c);
    let_go_all();
    assert_int_equal(rescue(NULL), 0);
    spw_version_epoch++;
    let_go_all();
    expect(c, mixed(made, 2));
    fake_run_all();
}

/* A freed tensor that is needed stays where it is, as nobody's, until nothing is made of it any more. */
static void what_is_freed_and_needed_is_kept(void **state)
{
    for (int away = 0; away < 3; away++) {
        begin_replays(BUDGET, 16 << 20);
        CUdeviceptr a = allocate(BYTES), g = allocate(BYTES), b = allocate(BYTES);
        const unsigned char value = mixed(mixed(fake_mixed(NULL, 0, 5), 9), 2);
        mix(&a, 0, 1, 5);
        mix((CUdeviceptr[]){a, g}, 1, 1, 9);
        mix((CUdeviceptr[]){g, b}, 1, 1, 2);
        drop(b);
        if (away == 1)
            leave(g);
        else if (away == 2)
            drop(g);
        let_go_all();
        const uint64_t live = device->live_count;
        struct spw_block *ghost = block_at(g);
        give_back(g, s, false);
        let_go_all();
        assert_int_equal(device->live_count, live - 1);
        assert_int_equal(attention(g) & (SPW_RETAINED | SPW_FREE), SPW_RETAINED | SPW_FREE);
        assert_int_equal(spw_free(g, NULL), -EINVAL);
        CUdeviceptr other = allocate(BYTES);
        assert_int_not_equal(other, g);
        expect(b, value);
        let_go_all();
        assert_true(!spw_object_at_locked(g) || !(attention(g) & SPW_RETAINED) || block_at(g) != ghost);
        assert_int_equal(block_at(a)->content.needed, 0);
    }
}

/* A retained block that is made for another one goes again right behind that, and is made anew the next time. */
static void a_ghost_goes_again_once_it_has_served(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), g = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    const unsigned char made = mixed(fake_mixed(NULL, 0, 5), 9);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, g}, 1, 1, 9);
    mix((CUdeviceptr[]){g, b}, 1, 1, 2);
    mix((CUdeviceptr[]){g, c}, 1, 1, 3);
    drop(b);
    drop(c);
    drop(g);
    give_back(g, s, false);
    let_go_all();
    assert_true(attention(g) & SPW_DROPPED);
    expect(b, mixed(made, 2));
    let_go_all();
    assert_true(attention(g) & SPW_DROPPED);
    assert_int_equal(block_at(g)->content.needed, 1);
    expect(c, mixed(made, 3));
    let_go_all();
    assert_int_equal(fake_counts()->mixes, 4 + 4);
    assert_int_equal(fake_counts()->copies_out, 0);
}

/* One that the plan goes on using is kept although nothing is dropped yet, and no longer than that. */
static void a_ghost_by_plan_is_kept_until_the_plan_is_over(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, b}, 1, 1, 9);
    give_back(a, s, true);
    let_go_all();
    assert_int_equal(attention(a), SPW_RETAINED | SPW_FREE);
    drop(b);
    let_go_all();
    expect(b, mixed(fake_mixed(NULL, 0, 5), 9));
    let_go_all();
    assert_int_equal(attention(a), SPW_RETAINED | SPW_FREE);
    block_at(a)->expected = 0;
    spw_retained_look_locked(device, block_at(a));
    let_go_all();
    assert_int_equal(attention(a), SPW_FREE);
    assert_int_equal(allocate(BYTES), a);
}

/* A ghost that can be made goes also where the host has no room for a tensor of its size. */
static void ghosts_make_room_where_the_host_has_none(void **state)
{
    void *taken;
    begin_replays(3 * BYTES, 4 * BYTES);
    CUdeviceptr a = allocate(BYTES), g = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, g}, 1, 1, 9);
    mix((CUdeviceptr[]){g, b}, 1, 1, 2);
    drop(b);
    give_back(g, s, false);
    let_go_all();
    CUdeviceptr x = allocate(BYTES), y = allocate(BYTES);
    fill(x, 1);
    spw_lock();
    assert_int_equal(spw_host_memory_take_locked(4 * BYTES, &taken), 0);
    spw_unlock();
    fill(y, 2); /* a was not used for longer, and has nowhere to go */
    assert_true(attention(g) & SPW_DROPPED);
    spw_lock();
    spw_hostpool_give(spw_host_memory_pool_locked(), taken, 4 * BYTES);
    spw_unlock();
    expect(b, mixed(mixed(fake_mixed(NULL, 0, 5), 9), 2));
    fake_run_all();
}

/* Where memory is short, retained blocks that can be made go without a copy. */
static void ghosts_make_room_without_a_copy(void **state)
{
    begin_replays(3 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), g = allocate(BYTES), b = allocate(BYTES);
    mix(&a, 0, 1, 5);
    mix((CUdeviceptr[]){a, g}, 1, 1, 9);
    mix((CUdeviceptr[]){g, b}, 1, 1, 2);
    drop(b);
    give_back(g, s, false);
    let_go_all();
    CUdeviceptr x = allocate(BYTES), y = allocate(BYTES);
    expect(a, fake_mixed(NULL, 0, 5));
    fill(x, 1);
    fill(y, 2);
    assert_true(attention(g) & SPW_DROPPED);
    assert_int_equal(fake_counts()->copies_out, 0);
    expect(b, mixed(mixed(fake_mixed(NULL, 0, 5), 9), 2));
    expect(x, 1);
    expect(y, 2);
    let_go_all();
}

/* A long row of them, some made of one far behind, with room for four tensors: while it is made nothing that is made on the
 * way is dropped again before it has served. */
static void a_row_of_ghosts_is_made_in_little_memory(void **state)
{
    enum { ROW = 13, BACK = 4 };
    begin_replays((ROW + 1) * BYTES, 16 << 20);
    CUdeviceptr a[ROW], x = allocate(BYTES);
    unsigned char values[ROW];
    for (int i = 0; i < ROW; i++) {
        const int back = i >= BACK ? i - BACK : 0;
        const unsigned char read[] = {i ? values[i - 1] : 0, values[back]};
        a[i] = allocate(BYTES);
        values[i] = fake_mixed(read, i ? 2 : 0, (unsigned char)i);
        if (i == 0)
            mix(&a[0], 0, 1, 0);
        else if (i == 1)
            mix((CUdeviceptr[]){a[0], a[0], a[1]}, 2, 1, 1);
        else
            mix((CUdeviceptr[]){a[i - 1], a[back], a[i]}, 2, 1, (unsigned char)i);
    }
    for (int times = 0; times < 3; times++) {
        for (int i = 0; i < ROW; i++)
            drop(a[i]);
        for (int i = 0; i < ROW - 1 && times == 0; i++)
            give_back(a[i], s, true);
        let_go_all();
        device->handles.budget_bytes = 4 * BYTES + own_beside((ROW + 1) * BYTES);
        spw_phys_pool_fit_locked(&device->handles);
        fill(x, 1);
        expect(a[ROW - 1], values[ROW - 1]);
        assert_int_equal(spw_replayed.failed_count, 0);
        let_go_all();
    }
    assert_true(spw_replayed.count[SPW_REPLAY_DEMAND] >= ROW);
}

/* A retained block that has come back from the host keeps its copy there, even where host memory is short. */
static void a_ghost_keeps_its_host_copy(void **state)
{
    begin_replays(BUDGET, 2 * BYTES);
    CUdeviceptr g = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES), x = allocate(BYTES), y = allocate(BYTES);
    fill(g, 4); /* by who knows what */
    mix((CUdeviceptr[]){g, b}, 1, 1, 9);
    mix((CUdeviceptr[]){g, c}, 1, 1, 8);
    drop(b);
    drop(c);
    leave(g);
    give_back(g, s, false);
    let_go_all();
    expect(b, mixed(4, 9));
    fill(x, 1);
    fill(y, 2);
    let_go_all();
    assert_int_equal(under_locks(spw_transfer_evict_locked, x), 0);
    assert_int_equal(under_locks(spw_transfer_evict_locked, y), -ENOMEM);
    let_go_all();
    leave(g);
    let_go_all();
    assert_true(attention(g) & SPW_EVICTED);
    expect(c, mixed(4, 8));
    let_go_all();
}

/* What a small allocation that is read and written held before is there for the replay, and what it holds by now after it.
 */
static void small_allocations_are_lent_what_they_held(void **state)
{
    begin_replays(BUDGET, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), n = allocate(SLOT_BYTES);
    mix(&n, 0, 1, 7);
    const unsigned char first = fake_mixed(NULL, 0, 7);
    mix(&a, 0, 1, 5);
    const unsigned char values[] = {fake_mixed(NULL, 0, 5), first};
    mix((CUdeviceptr[]){a, n, b, n}, 2, 2, 9);
    mix((CUdeviceptr[]){n, n}, 1, 1, 4);
    const unsigned char now = mixed((unsigned char)(fake_mixed(values, 2, 9) + 1), 4);
    drop(b);
    let_go_all();
    expect(b, fake_mixed(values, 2, 9));
    assert_int_equal(fake_expect(s, n, SLOT_BYTES, now), CUDA_SUCCESS);
    let_go_all();
    assert_int_equal(fake_counts()->mixes, 5);
    assert_int_equal(fake_counts()->copies_within, 2 + 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_tensor_is_made_again_by_its_next_use),
        cmocka_unit_test(a_tensor_that_is_used_on_its_way_stays),
        cmocka_unit_test(a_row_of_tensors_is_made_in_order),
        cmocka_unit_test(an_input_that_is_leaving_stays),
        cmocka_unit_test(inputs_may_be_copied_out_meanwhile_unless_a_belief_says_that_they_are),
        cmocka_unit_test(an_input_that_is_changed_after_all_is_found_out),
        cmocka_unit_test(inputs_on_the_host_come_in_first),
        cmocka_unit_test(what_cannot_be_made_again_leaves_with_a_copy),
        cmocka_unit_test(outputs_of_one_operation_come_back_together),
        cmocka_unit_test(what_is_needed_is_rescued_before_it_is_written),
        cmocka_unit_test(what_is_freed_and_needed_is_kept),
        cmocka_unit_test(a_ghost_goes_again_once_it_has_served),
        cmocka_unit_test(a_ghost_by_plan_is_kept_until_the_plan_is_over),
        cmocka_unit_test(ghosts_make_room_where_the_host_has_none),
        cmocka_unit_test(ghosts_make_room_without_a_copy),
        cmocka_unit_test(a_row_of_ghosts_is_made_in_little_memory),
        cmocka_unit_test(a_ghost_keeps_its_host_copy),
        cmocka_unit_test(small_allocations_are_lent_what_they_held),
    };
    is_eager = argc > 1;
    fake_eager(is_eager);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
