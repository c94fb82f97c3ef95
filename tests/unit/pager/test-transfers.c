/* test-transfers.c - tensors that leave and come back ahead of need on the fake device: bytes stay what they were, nothing
 * is unmapped early, nobody waits without need. */
#include "carried.h"

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
    assert_int_equal(spw_transfer_counts.left_count, 1);
    assert_int_equal(spw_transfer_counts.restored_count, 1);
    assert_int_equal(fake_counts()->copies_out, 1);
}

static int put_out_behind_in(struct spw_device *d, struct spw_block *b)
{
    return spw_mover_out_after_in_locked(d);
}

/* Two copies that have nothing to do with each other, unless somebody wants them to. */
static void copies_out_can_be_put_behind_copies_in(void **state)
{
    for (int behind = 0; behind < 2; behind++) {
        begin(4 * BYTES, 16 << 20);
        CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
        fill(a, 1);
        fill(b, 2);
        leave(a);
        let_run();
        pump();
        restore(a);
        if (behind)
            assert_int_equal(under_locks(put_out_behind_in, a), 0);
        leave(b);
        assert_int_equal(spw_driver.cuStreamSynchronize(device->mover->out->handle), CUDA_SUCCESS);
        assert_int_equal(fake_left(device->mover->out->handle), 0);
        assert_int_equal(fake_left(device->mover->in->handle) == 0, behind);
        expect(a, 1);
        expect(b, 2);
        fake_run_all();
    }
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
    assert_int_equal(spw_transfer_counts.cancelled_count, 1);
    assert_true(spw_transfer_is_idle(device));
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
    uint64_t stalls = spw_reclaim_stalls.count;
    expect(a, 1);
    expect(b, 2);
    fake_run_all();
    assert_int_equal(spw_reclaim_stalls.count, stalls);
    assert_int_equal(spw_transfer_counts.late_count, 0);
    assert_int_equal(spw_transfer_counts.restored_in_time, 1); /* b was on its way */
    expect(c, 3);
    expect(d, 4);
    fake_run_all();
}

/* What came back ahead of its use is clean and was used long ago, and yet goes last of all when room is made on demand. */
static void a_tensor_that_came_back_is_not_evicted_before_its_use(void **state)
{
    begin(3 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES), d = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    leave(a);
    let_run();
    pump();
    fill(c, 3);
    restore(a);
    fill(d, 4);
    assert_false(attention(a) & SPW_ABSENT);
    assert_int_equal(attention(b), SPW_EVICTED);
    expect(a, 1);
    expect(b, 2); /* and after its use it is one of all: clean, it is the first to go */
    assert_int_equal(attention(a), SPW_EVICTED);
    expect(c, 3);
    expect(d, 4);
    fake_run_all();
    check_blocks();
}

/* An operation that needs what waits for memory brings it in itself. */
static void a_tensor_needed_before_it_has_memory_comes_on_demand(void **state)
{
    begin(BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    restore(a);
    assert_false(spw_transfer_is_idle(device));
    expect(a, 1);
    assert_true(spw_transfer_is_idle(device));
    assert_int_equal(spw_transfer_counts.late_count, 1);
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
    assert_int_equal(spw_transfer_counts.waits, 1);
    CUdeviceptr e = allocate(2 * BYTES);
    assert_int_equal(fill_on(s, e, 2 * BYTES, 5), 0); /* c was leaving, one more goes on demand */
    expect(b, 2);
    expect(c, 3);
    expect(a, 1);
    expect(d, 4);
    fake_run_all();
    check_blocks();
}

/* Copies out take long. Who needs none, or needs one that was submitted earlier, goes before them. */
static void nobody_waits_for_the_copies_of_others(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr copied = allocate(BYTES), later = allocate(BYTES), clean = allocate(BYTES);
    fill(clean, 3);
    leave(clean);
    let_run();
    pump();
    assert_int_equal(expect_on(t, clean, BYTES, 3), 0);
    let_run();
    fill(copied, 1);
    fill(later, 2);
    assert_int_equal(under_locks(spw_transfer_write_back_locked, copied), 0);
    leave(later);
    leave(copied); /* clean by now, but that its copy is under way */
    assert_ptr_equal(device->queues[SPW_QUEUE_OUT].first, block_at(copied));
    assert_ptr_equal(device->queues[SPW_QUEUE_OUT].last, block_at(later));
    assert_int_equal(expect_on(t, clean, BYTES, 3), 0);
    leave(clean);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    pump();
    assert_int_equal(attention(clean), SPW_EVICTED);
    assert_true(attention(copied) & SPW_EVICTING);
    let_run();
    pump();
    assert_int_equal(attention(copied), SPW_EVICTED);
    assert_int_equal(attention(later), SPW_EVICTED);
    expect(copied, 1);
    expect(later, 2);
    expect(clean, 3);
    fake_run_all();
    check_blocks();
}

/* What the program freed while it was copied out is no sooner there than the copy, which others do not wait for. */
static void memory_that_is_still_copied_out_is_waited_for_last(void **state)
{
    begin(3 * BYTES, 16 << 20);
    CUdeviceptr freed = allocate(BYTES), used = allocate(BYTES), clean = allocate(BYTES), next = allocate(BYTES);
    fill(clean, 3);
    leave(clean);
    let_run();
    pump();
    fill(freed, 1);
    assert_int_equal(under_locks(spw_transfer_write_back_locked, freed), 0);
    struct spw_block *copied = block_at(freed);
    assert_int_equal(spw_free(freed, NULL), 0);
    assert_int_equal(fill_on(t, used, BYTES, 2), 0);
    assert_int_equal(expect_on(t, clean, BYTES, 3), 0);
    leave(clean);
    assert_int_equal(fill_on(t, next, BYTES, 4), 0);
    assert_int_equal(attention(clean), SPW_EVICTED);
    assert_true(spw_object_is_cached(&copied->object)); /* and nobody has waited for it */
    fill(clean, 5);                                     /* which now has to */
    assert_int_equal(attention(used), 0);
    assert_int_equal(expect_on(t, used, BYTES, 2), 0);
    assert_int_equal(expect_on(t, next, BYTES, 4), 0);
    expect(clean, 5);
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
    struct spw_block *freed = block_at(b);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_non_null(freed->host_copy); /* the copy writes to it yet */
    assert_true(spw_transfer_is_idle(device));
    CUdeviceptr again = allocate(BYTES);
    fill(again, 7);
    fill(c, 3);
    expect(again, 7);
    CUdeviceptr gone = attention(a) & SPW_EVICTED ? a : c;
    restore(gone);
    assert_false(spw_transfer_is_idle(device));
    assert_int_equal(spw_free(gone, NULL), 0);
    assert_true(spw_transfer_is_idle(device));
    pump();
    expect(again, 7);
    fake_run_all();
    check_blocks();
}

/* Only what nobody holds, pins or submits work on leaves; what is not on the device is not moved by asking. */
static void what_cannot_leave_stays_as_it_is(void **state)
{
    begin(4 * BYTES, 16 << 20);
    CUdeviceptr pinned = allocate(BYTES), busy = allocate(BYTES), freed = allocate(BYTES), a = allocate(BYTES);
    fill(pinned, 1);
    fill(freed, 3);
    spw_pin_address(pinned, "the test says so");
    leave(pinned);
    assert_true(spw_transfer_is_idle(device));
    struct spw_op op = {.handle = s, .hits = &busy, .count = 1, .room = 1, .name = "a call of another thread"};
    assert_int_equal(spw_op_begin(&op), 0);
    struct spw_block *f = block_at(freed);
    assert_int_equal(spw_free(freed, NULL), 0);
    assert_int_equal(under_locks(spw_transfer_evict_locked, busy), -EBUSY);
    assert_true(spw_transfer_is_idle(device));
    pthread_mutex_lock(&device->slow);
    spw_lock();
    assert_int_equal(spw_transfer_evict_locked(device, f), 0);
    assert_int_equal(spw_transfer_prefetch_locked(device, f), 0);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
    assert_true(spw_transfer_is_idle(device));
    spw_op_end(&op);
    fill(a, 4);
    leave(a);
    leave(a);
    assert_int_equal(fake_counts()->copies_out, 1);
    restore(a); /* is leaving: stays */
    assert_true(spw_transfer_is_idle(device));
    restore(a);
    leave(a);
    let_run();
    pump();
    leave(a);
    assert_int_equal(attention(a), SPW_EVICTED);
    spw_pin_address(a, "the test says so");
    fake_expect(t, a, BYTES, 4); /* nobody asks: it is there */
    fake_run_all();
    check_blocks();
}

/* What is pinned on its way out stays, and what waits to come back is there, when the pinning is through. */
static void pinning_ends_every_way(void **state)
{
    begin(2 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    fill(c, 3); /* a is gone */
    restore(a);
    leave(b);
    spw_pin_address(b, "the test says so");
    fake_fill(t, b, BYTES, 4); /* no operation tells of it, and nothing still reads the old bytes */
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_int_equal(*(unsigned char *)block_at(b)->host_copy, 2);
    spw_pin_address(a, "the test says so");
    fake_expect(t, a, BYTES, 1);
    fake_expect(t, b, BYTES, 4);
    assert_true(spw_transfer_is_idle(device));
    let_run();
    assert_int_equal(spw_transfer_counts.late_count, 1);
    assert_int_equal(attention(c), SPW_EVICTED);
    fake_run_all();
    check_blocks();
}

/* Where the host has no room, the tensor stays; what needs no host memory leaves all the same. */
static void a_tensor_that_the_host_has_no_room_for_stays(void **state)
{
    begin(4 * BYTES, BYTES);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    leave(a);
    assert_int_equal(under_locks(spw_transfer_evict_locked, b), -ENOMEM);
    leave(c); /* was never written */
    check_blocks();
    let_run();
    pump();
    assert_int_equal(attention(b), 0);
    assert_int_equal(attention(c), SPW_EMPTY);
    expect(a, 1);
    expect(b, 2);
    fake_run_all();
}

/* Freed while somebody waits for its memory, a leaving tensor is cached, and the waiting goes on with the next. */
static CUdeviceptr to_be_freed;

static void free_it(void)
{
    assert_int_equal(spw_free(to_be_freed, NULL), 0);
}

static void a_tensor_freed_while_its_leaving_is_waited_for_is_cached(void **state)
{
    begin(2 * BYTES, 16 << 20);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES), c = allocate(BYTES);
    fill(a, 1);
    fill(b, 2);
    leave(a);
    leave(b);
    to_be_freed = a;
    fake_meanwhile(free_it);
    fill(c, 3);
    fake_meanwhile(NULL);
    expect(b, 2);
    expect(c, 3);
    fake_run_all();
    check_blocks();
}

/* A training loop by plan: from the second step on the driver is asked for nothing that lasts. */
static void a_steady_state_makes_nothing_new(void **state)
{
    enum { N = 12, STEPS = 50, SETTLED = 3 };
    CUdeviceptr a[N];
    begin(N / 2 * BYTES, 16 << 20);
    for (unsigned i = 0; i < N; i++)
        a[i] = allocate(BYTES);
    struct fake_counts settled = {0};
    for (unsigned step = 0; step < STEPS; step++) {
        if (step == SETTLED)
            settled = *fake_counts();
        for (unsigned i = 0; i < N; i++) {
            fill(a[i], (unsigned char)(step + i));
            leave(a[i]);
            restore(a[(i + 3) % N]);
            if (i % 2)
                let_run();
            pump();
        }
        let_run();
        for (unsigned i = 0; i < N; i++)
            expect(a[i], (unsigned char)(step + i));
        fake_run_all();
    }
    const struct fake_counts *now = fake_counts();
    assert_int_equal(now->creates, settled.creates);
    assert_int_equal(now->releases, settled.releases);
    assert_int_equal(now->events, settled.events);
    assert_int_equal(now->streams, settled.streams);
    assert_int_equal(now->registered, settled.registered);
    assert_true(now->copies_out > settled.copies_out);
    assert_true(spw_transfer_counts.left_count > STEPS * N / 4 && spw_transfer_counts.restored_count > STEPS * N / 4);
}

/* `test-transfers eager` runs them on the eager device. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tensor_leaves_and_comes_back),
        cmocka_unit_test(copies_out_can_be_put_behind_copies_in),
        cmocka_unit_test(what_needs_no_copy_leaves_without_one),
        cmocka_unit_test(a_tensor_that_is_read_on_its_way_out_stays_clean),
        cmocka_unit_test(a_tensor_that_is_written_on_its_way_out_stays_and_goes_anew),
        cmocka_unit_test(a_tensor_waits_in_order_for_memory_that_leaves),
        cmocka_unit_test(a_tensor_that_came_back_is_not_evicted_before_its_use),
        cmocka_unit_test(a_tensor_needed_before_it_has_memory_comes_on_demand),
        cmocka_unit_test(memory_is_taken_from_what_leaves_before_anything_is_evicted),
        cmocka_unit_test(nobody_waits_for_the_copies_of_others),
        cmocka_unit_test(memory_that_is_still_copied_out_is_waited_for_last),
        cmocka_unit_test(what_is_freed_on_its_way_leaves_no_trace),
        cmocka_unit_test(what_cannot_leave_stays_as_it_is),
        cmocka_unit_test(pinning_ends_every_way),
        cmocka_unit_test(a_tensor_that_the_host_has_no_room_for_stays),
        cmocka_unit_test(a_tensor_freed_while_its_leaving_is_waited_for_is_cached),
        cmocka_unit_test(a_steady_state_makes_nothing_new),
    };
    fake_eager(argc > 1 && strcmp(argv[1], "eager") == 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
