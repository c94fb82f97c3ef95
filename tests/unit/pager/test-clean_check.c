/* test-clean_check.c - tensors that only a belief calls unwritten, on the fake device: none leaves without a copy unless it
 * is what its copy holds, and whatever stands in the way of knowing that costs a copy and no byte. */
#include "believed.h"
#include "library_inputs.h"

/* ---- what is true ---- */

static void what_was_left_alike_goes_without_a_copy(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    for (unsigned i = 1; i <= 3; i++) {
        scale_by_one(a, 1);
        gone(a);
        expect_counts(i, 0, 0);
        restore(a);
    }
    expect(a, 1);
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, 1);
    assert_int_equal(spw_moved.dropped_count, 3);
    expect_no_tickets();
}

/* Both digests are there when its last use is over, not before. */
static void memory_goes_when_both_digests_are_there(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    leave(a);
    pump();
    assert_int_equal(attention(a) & SPW_EVICTING, SPW_EVICTING);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    expect_counts(1, 0, 0);
}

static void what_nobody_touched_needs_no_proof(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    gone(a);
    const unsigned hashes = fake_counts()->hashes;
    restore(a);
    gone(a);
    restore(a);
    expect(a, 1); /* by a call that says what it reads */
    gone(a);
    assert_int_equal(fake_counts()->hashes, hashes);
    expect_counts(1, 0, 0);
}

static void without_versions_nothing_is_hashed(void **state)
{
    begin_believing(BUDGET);
    spw_lock();
    spw_versions_keep_locked(false);
    spw_unlock();
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    gone(a);
    assert_int_equal(fake_counts()->hashes, 0);
    assert_int_equal(fake_counts()->copies_out, 2); /* it may write all that it is given */
    expect_counts(0, 0, 0);
}

/* The plan knows of nobody who would be believed. Who comes all the same, and may have written, costs another copy. */
static void what_a_plan_spares_the_digest_is_copied_again_where_it_would_be_believed(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    assert_int_equal(under_locks(spw_transfer_write_back_unchecked_locked, a), 0);
    assert_int_equal(fake_counts()->hashes, 0);
    gone(a);
    assert_int_equal(fake_counts()->copies_out, 1); /* nobody has touched it since */
    restore(a);
    scale_on(s, a, 2); /* after all */
    gone(a);
    assert_int_equal(fake_counts()->copies_out, 2);
    expect_counts(0, 0, 1);
    restore(a);
    expect(a, 2);
    const unsigned hashes = fake_counts()->hashes;
    scale_by_one(a, 2);
    fill(a, 3);
    assert_int_equal(under_locks(spw_transfer_write_back_locked, a), 0); /* the next one is not spared it */
    assert_int_equal(fake_counts()->hashes, hashes + 1);
    scale_by_one(a, 3);
    gone(a);
    expect_counts(1, 0, 1);
    restore(a);
    expect(a, 3);
    expect_no_tickets();
}

/* The program's next writer comes after the digest that still reads, and is not what that finds. */
static void what_is_used_again_stays_and_is_in_order(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    leave(a);
    assert_int_equal(fill_on(t, a, BYTES, 2), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    let_run();
    pump();
    assert_int_equal(attention(a) & SPW_ABSENT, 0);
    expect_counts(0, 0, 0);
    gone(a);
    expect_no_tickets();
    expect(a, 2);
    fake_run_all();
    assert_int_equal(fake_counts()->copies_out, 2);
}

/* ---- what is not ---- */

static void expect_nothing_believed(void)
{
    const uint64_t epoch = spw_version_epoch;
    assert_true(spw_launch_classes_doubted);
    fill(output, 3); /* the next operation */
    assert_false(spw_launch_classes_doubted);
    assert_int_equal(spw_version_epoch, epoch + 1);
    fill(output, 3);
    assert_int_equal(spw_version_epoch, epoch + 1);
    spw_lock();
    assert_null(spw_launch_class_of_locked(function, 0, 2));
    spw_unlock();
}

static void what_was_changed_after_all_is_copied_and_nothing_is_believed(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_on(s, a, 2);
    leave(a);
    let_run();
    pump();
    assert_int_equal(attention(a) & (SPW_EVICTED | SPW_EVICTING), SPW_EVICTING);
    assert_int_equal(block_at(a)->way, SPW_QUEUE_OUT);
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    expect_counts(0, 1, 0);
    assert_int_equal(spw_moved.dropped_count, 0);
    expect_nothing_believed();
    expect(a, 2);
    fake_run_all();
    scale_on(s, a, 4);
    gone(a);
    expect(a, 4);
    fake_run_all();
    expect_counts(0, 1, 0);
    expect_no_tickets();
}

/* The same, where somebody waits for its memory: on its way already, and evicted on the spot. */
static CUdeviceptr told_of; /* the next operation is, and then it is learned that it writes this as well */

static void learn_meanwhile(struct spw_op *op, struct spw_object *const *objects, unsigned count)
{
    CUdeviceptr hits[] = {output, told_of};
    void *values[2];
    const struct spw_call_args submission = submission_of(hits, values);
    if (told_of)
        (void)spw_launch_class_observed_locked(spw_launch_class_of_locked(function, spw_call_args_places(&submission), 2), 3,
                                               3);
    told_of = 0;
}

/* Such an answer comes for an earlier launch. All that is noted of the operation has to agree: that it wrote, or that it is
 * believed not to have written. */
static void what_is_learned_while_an_operation_begins_loses_nothing_of_it(void **state)
{
    struct spw_follower learning = idle_follower;
    learning.op = learn_meanwhile;
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    spw_follower = &learning;
    told_of = a;
    scale_on(s, a, 2);
    assert_int_equal(told_of, 0);
    gone(a);
    restore(a);
    expect_counts(0, 1, 0);
    expect(a, 2);
    fake_run_all();
    spw_follower = &idle_follower;
}

static void room_is_made_with_nothing_lost(void **state)
{
    for (int leaves = 0; leaves < 2; leaves++)
        for (int changed = 0; changed < 2; changed++) {
            begin_believing(2 * BYTES + RING);
            CUdeviceptr a = tensor_with_copy(1), b = allocate(2 * BYTES);
            if (changed)
                scale_on(s, a, 2);
            else
                scale_by_one(a, 1);
            if (leaves)
                leave(a);
            assert_int_equal(fill_on(s, b, 2 * BYTES, 5), 0);
            assert_int_equal(attention(a), SPW_EVICTED);
            expect_counts(!changed, changed, 0);
            if (changed)
                expect_nothing_believed();
            assert_int_equal(expect_on(s, b, 2 * BYTES, 5), 0);
            expect(a, changed ? 2 : 1);
            fake_run_all();
            expect_no_tickets();
        }
}

/* A kernel that is believed to read only runs while a copy out is under way: the copy may be of both. Of one stream and of
 * two, whether the kernel comes first or the copy. */
static void a_copy_that_may_be_torn_is_found_out(void **state)
{
    for (int n = 0; n < 8; n++) {
        const CUstream stream = n & 1 ? t : s;
        begin_believing(BUDGET);
        CUdeviceptr a = allocate(BYTES);
        fill(a, 1);
        if (n & 4)
            assert_int_equal(expect_on(t, a, BYTES, 1), 0); /* then the digest goes before the copy in its own stream */
        let_run();                                          /* which nobody has asked about yet */
        leave(a);
        if (n & 2)
            assert_int_equal(spw_driver.cuStreamSynchronize(device->mover->out->handle), CUDA_SUCCESS);
        scale_on(stream, a, 2);
        assert_int_equal(spw_driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
        gone(a);
        assert_true(spw_launch_classes_refuted_count == 1 || (!(n & 2) && *(unsigned char *)block_at(a)->host_copy == 2));
        expect(a, 2);
        fake_run_all();
    }
}

/* `a` is being copied out when a kernel that is believed to read it comes: whether that has waited for the copy. */
static bool waits_for_copy(CUdeviceptr a, unsigned char value)
{
    leave(a);
    scale_by_one(a, value);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    const bool waited = copy_is_done(a);
    gone(a);
    restore(a);
    return waited;
}

/* A kernel may count in what it is given, and back to what was there: equal digests before and behind do not tell. */
static void who_is_believed_to_read_waits_for_the_copy(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    assert_true(waits_for_copy(a, 1));
    leave(a);
    fill(a, 2); /* and so does who writes */
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_true(copy_is_done(a));
}

/* Its library says that it does no more than that. */
static void who_is_told_to_read_does_not_wait(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    leave(a);
    const struct spw_library_inputs inputs = {.address = {a}}, around = spw_library_inputs_enter(&inputs);
    scale_by_one(a, 1);
    spw_library_inputs_leave(&around);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_true(is_eager || !copy_is_done(a));
}

/* Whatever it is, and whether or not anything is believed of anybody. */
static void what_a_call_only_reads_may_be_read_beside_a_copy(void **state)
{
    for (int believing = 0; believing < 2; believing++) {
        begin_believing(BUDGET);
        spw_lock();
        spw_versions_keep_locked(believing != 0);
        spw_unlock();
        CUdeviceptr a = allocate(BYTES);
        fill(a, 7); /* by no launch: it may be a workspace */
        leave(a);
        expect(a, 7);
        assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
        assert_true(is_eager || !copy_is_done(a));
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_left_alike_goes_without_a_copy),
        cmocka_unit_test(memory_goes_when_both_digests_are_there),
        cmocka_unit_test(what_nobody_touched_needs_no_proof),
        cmocka_unit_test(without_versions_nothing_is_hashed),
        cmocka_unit_test(what_a_plan_spares_the_digest_is_copied_again_where_it_would_be_believed),
        cmocka_unit_test(what_is_used_again_stays_and_is_in_order),
        cmocka_unit_test(what_was_changed_after_all_is_copied_and_nothing_is_believed),
        cmocka_unit_test(what_is_learned_while_an_operation_begins_loses_nothing_of_it),
        cmocka_unit_test(room_is_made_with_nothing_lost),
        cmocka_unit_test(a_copy_that_may_be_torn_is_found_out),
        cmocka_unit_test(who_is_believed_to_read_waits_for_the_copy),
        cmocka_unit_test(who_is_told_to_read_does_not_wait),
        cmocka_unit_test(what_a_call_only_reads_may_be_read_beside_a_copy),
    };
    is_eager = argc > 1;
    fake_eager(is_eager);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
