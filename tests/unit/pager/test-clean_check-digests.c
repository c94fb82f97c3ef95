/* test-clean_check-digests.c - where digests are computed that prove a block unchanged, and what becomes of the block where
 * they fail. */
#include "believed.h"
#include "deferred_unmap.h"
#include "uses_wait.h"

/* ---- where digests go ---- */

/* The second digest too: memory that needs no copy waits for none. */
static void a_digest_waits_for_no_copy(void **state)
{
    begin_believing(2 * BUDGET);
    CUdeviceptr a = tensor_with_copy(1), b = allocate(BYTES);
    scale_by_one(a, 1);
    fill(b, 2);
    leave(b);
    leave(a);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_true(is_eager || !copy_is_done(b));
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    expect_counts(1, 0, 0);
}

/* Whoever writes a tensor on another stream comes after the digest that reads it, though nothing else tells it to. */
static void another_stream_writes_after_the_digest(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    leave(a);
    const uint32_t reader = block_at(a)->proof.reader;
    const uint64_t number = block_at(a)->proof.read_number;
    assert_int_equal(spw_stream_by_id_locked(reader)->handle, s);
    assert_int_equal(fill_on(t, a, BYTES, 2), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_true(is_done(reader, number));
}

/* What two streams may be using is read by neither: one has no order that says so. */
static void of_two_streams_none_gets_a_digest(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0);
    leave(a);
    assert_int_equal(block_at(a)->proof.reader, device->mover->out->id);
    gone(a);
    restore(a);
    scale_by_one(a, 1);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0);
    leave(a);
    assert_int_equal(block_at(a)->proof.reader, device->mover->out->id);
    gone(a);
    expect_counts(1, 0, 0);
    expect(a, 1);
    fake_run_all();
    expect_no_tickets();
}

/* A copy out stands for all that used the tensor before. Somebody who reads a part of it meanwhile has been told to come
 * after who wrote that part, and after nobody else. */
static void the_reader_of_a_part_does_not_come_after_who_wrote_the_rest(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES), half = a + BYTES / 2;
    const CUstream u = fake_stream();
    fill(a, 1);
    let_run();
    assert_int_equal(fill_on(t, half, BYTES / 2, 2), 0);
    leave(a);
    assert_int_equal(expect_on(u, a, BYTES / 2, 1), 0);
    assert_int_equal(attention(a) & SPW_EVICTING, 0);
    uint32_t ticket;
    spw_lock();
    assert_int_equal(spw_clean_check_digest_locked(device, block_at(a), &ticket), 0);
    assert_int_equal(spw_digests_send_locked(device, device->mover->out->handle), 0);
    struct spw_uses reader = {0};
    spw_uses_add_locked(&reader, spw_stream_by_id_locked(block_at(a)->proof.reader), block_at(a)->proof.read_number);
    assert_int_equal(spw_uses_wait_unlocking(&reader), 0);
    spw_digest_forget_locked(ticket);
    spw_unlock();
    assert_int_equal(fake_left(t), 0);
}

/* It has the memory of what another stream reads still, which has not waited for the copy. */
static void what_is_on_its_way_back_is_read_behind_its_copy(void **state)
{
    begin_believing(3 * BYTES + RING);
    CUdeviceptr a = tensor_with_copy(1), b = tensor_with_copy(2);
    gone(a);
    CUdeviceptr rest = allocate(BYTES);
    fill(rest, 3);
    let_run();
    spw_lock();
    spw_unmap_allow_deferral_locked(device, true);
    spw_unlock();
    expect(b, 2);
    leave(b);
    restore(a);
    pump();
    assert_true(is_eager || fake_left(s));
    assert_int_equal(attention(a) & SPW_RESTORING, SPW_RESTORING);
    uint32_t ticket;
    spw_lock();
    assert_int_equal(spw_clean_check_digest_locked(device, block_at(a), &ticket), 0);
    spw_digest_forget_locked(ticket);
    assert_int_equal(block_at(a)->proof.reader, device->mover->out->id);
    spw_unlock();
    assert_int_equal(spw_driver.cuStreamSynchronize(device->mover->out->handle), CUDA_SUCCESS);
    assert_int_equal(fake_left(device->mover->in->handle), 0);
    expect(a, 1);
    fake_run_all();
}

/* Of a digest among the copies out, and a copy behind it, a writer has to wait for the latter. */
static void another_stream_writes_after_the_copy_behind_the_digest(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 1);
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0);
    uint32_t ticket;
    spw_lock();
    assert_int_equal(spw_clean_check_digest_locked(device, block_at(a), &ticket), 0);
    spw_digest_forget_locked(ticket);
    spw_unlock();
    assert_int_equal(block_at(a)->proof.reader, device->mover->out->id);
    assert_int_equal(under_locks(spw_transfer_write_back_unchecked_locked, a), 0);
    assert_int_equal(fill_on(t, a, BYTES, 2), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_int_equal(fake_left(device->mover->out->handle), 0);
}

/* By plan it follows at once; without one the stream may have gone on far since. */
static void a_stream_that_is_done_with_it_gets_a_digest_on_a_course_only(void **state)
{
    for (uint32_t expected = 0; expected < 2; expected++) {
        begin_believing(BUDGET);
        CUdeviceptr a = tensor_with_copy(1);
        scale_by_one(a, 1);
        spw_lock();
        const struct spw_stream *record = spw_stream_of_locked(s);
        assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
        spw_unlock();
        assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
        spw_note_stream_done(spw_stream_by_id_locked(record->id), record->begun);
        block_at(a)->expected = expected;
        leave(a);
        assert_int_equal(block_at(a)->proof.reader, expected ? record->id : device->mover->out->id);
        block_at(a)->expected = 0;
        gone(a);
        expect_counts(1, 0, 0);
    }
}

/* A kernel of another thread on the stream is numbered and may not be submitted yet: no event can tell when what comes now
 * is done. The tensor, which that does not touch, leaves all the same. */
static void a_stream_in_a_call_gets_no_digest(void **state)
{
    begin_believing(2 * BUDGET);
    CUdeviceptr a = tensor_with_copy(1), b = allocate(BYTES);
    scale_by_one(a, 1);
    spw_lock();
    assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
    spw_unlock();
    struct spw_op op = {.handle = s, .hits = &b, .count = 1, .room = 1, .name = "a kernel"};
    assert_int_equal(spw_op_begin(&op), 0);
    const struct spw_stream *record = op.stream;
    const uint64_t begun = record->begun;
    leave(a);
    assert_int_equal(attention(a) & SPW_EVICTING, SPW_EVICTING);
    assert_int_equal(record->begun, begun);
    fake_fill(s, b, BYTES, 2);
    spw_op_end(&op);
    gone(a);
    expect_counts(1, 0, 0);
}

static CUresult captures_s(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = stream == s ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

/* What would be submitted to it would not run now, or never. */
static void a_stream_that_is_captured_or_gone_gets_no_digest(void **state)
{
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        begin_believing(BUDGET);
        CUdeviceptr a = tensor_with_copy(1);
        scale_by_one(a, 1);
        spw_lock();
        assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
        if (is_gone)
            spw_stream_gone_locked(s);
        spw_unlock();
        spw_driver.cuStreamIsCapturing = captures_s;
        atomic_store(&spw_captures_active, !is_gone);
        leave(a);
        atomic_store(&spw_captures_active, 0);
        assert_int_equal(attention(a) & SPW_EVICTING, SPW_EVICTING);
        assert_int_equal(block_at(a)->proof.reader, device->mover->out->id);
        let_run();
        pump();
        assert_int_equal(attention(a), SPW_EVICTED);
        expect_counts(1, 0, 0);
    }
}

/* The program's stream has gone on so far that no event of that time is left on it: the copy's end says enough. */
static void an_answer_is_known_with_the_copy(void **state)
{
    begin_believing(2 * BUDGET);
    CUdeviceptr a = allocate(BYTES), b = allocate(BYTES);
    fill(a, 1);
    leave(a);
    for (unsigned i = 0; i < 2 * SPW_STREAM_MARKS; i++) {
        for (unsigned k = 0; k < 4; k++)
            fill(b, 2);
        spw_lock();
        assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
        spw_unlock();
    }
    assert_int_equal(spw_driver.cuStreamSynchronize(device->mover->out->handle), CUDA_SUCCESS);
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
    restore(a);
    scale_by_one(a, 1);
    gone(a);
    expect_counts(1, 0, 0);
}

/* The first kernel that is given a new tensor is believed not to write it. */
static void what_was_just_allocated_is_written_by_what_it_is_given_to(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    scale_on(s, a, 2);
    gone(a);
    expect(a, 2);
    fake_run_all();
    expect_counts(0, 0, 0);
}

static void whoever_gets_the_memory_next_starts_anew(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    leave(a);
    assert_int_equal(spw_free(a, NULL), 0);
    expect_no_tickets();
    let_run();
    CUdeviceptr b = allocate(BYTES);
    assert_ptr_equal(block_at(b), block_at(a));
    leave(b);
    let_run();
    pump();
    assert_int_equal(attention(b), SPW_EMPTY);
    expect_counts(0, 0, 0);
}

static CUdeviceptr freed_meanwhile;

static void free_meanwhile(void)
{
    assert_int_equal(spw_free(freed_meanwhile, NULL), 0);
}

/* It is freed while somebody waits for the end of its uses. */
static void what_is_freed_on_its_way_leaves_no_digest_behind(void **state)
{
    begin_believing(2 * BYTES + RING);
    CUdeviceptr a = freed_meanwhile = tensor_with_copy(1), b = allocate(2 * BYTES);
    scale_by_one(a, 1);
    fake_meanwhile(free_meanwhile);
    assert_int_equal(fill_on(s, b, 2 * BYTES, 5), 0);
    assert_null(spw_object_at_locked(a));
    fake_run_all();
    expect_counts(0, 0, 0);
    expect_no_tickets();
}

/* ---- what fails ---- */

/* Each call of the first digest that fails, and of the second: a copy more, no byte less. */
static void a_digest_that_fails_costs_a_copy(void **state)
{
    static const struct {
        const char *name;
        unsigned n;
    } calls[] = {{"cuMemsetD32Async", 1}, {"cuLaunchKernel", 1}, {"cuLaunchKernel", 2}};
    for (int second = 0; second < 2; second++)
        for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
            for (int changed = 0; changed < 2; changed++) {
                begin_believing(BUDGET);
                CUdeviceptr a = allocate(BYTES);
                fill(a, 1);
                if (!second)
                    fake_fail(calls[i].name, calls[i].n, CUDA_ERROR_UNKNOWN, false);
                gone(a);
                restore(a);
                if (changed)
                    scale_on(s, a, 2);
                else
                    scale_by_one(a, 1);
                if (second)
                    fake_fail(calls[i].name, calls[i].n, CUDA_ERROR_UNKNOWN, false);
                gone(a);
                fake_fail("", 1, CUDA_SUCCESS, false);
                expect_counts(0, 0, 1);
                assert_false(spw_launch_classes_doubted);
                expect(a, changed ? 2 : 1);
                fake_run_all();
                expect_no_tickets();
            }
}

/* All streams for copies out wait for gates, but the one for what is out of use: the digest goes there, fails, and the copy
 * comes behind it. Before that, nobody has asked whether the tensor is out of use. */
static void check_digest_that_fails_behind_gates(bool is_another_there)
{
    CUdeviceptr crowd[SPW_OUTS - 1];
    begin_believing(BUDGET + (is_another_there ? 2 : 1) * BYTES);
    fake_goes_on(true);
    const CUdeviceptr another = is_another_there ? tensor_with_copy(2) : 0, a = tensor_with_copy(1);
    if (is_another_there)
        scale_by_one(another, 2);
    scale_by_one(a, 1);
    let_run();
    if (is_another_there) { /* the one that was used before is in use, and `a` is seen to be out of use */
        const CUstream busy = fake_stream();
        fake_gate(busy);
        spw_lock();
        struct spw_stream *record = spw_stream_of_locked(busy);
        spw_uses_add_locked(&block_at(another)->object.uses, record, spw_stream_next_locked(record));
        assert_int_equal(spw_uses_mark_locked(&block_at(a)->object.uses), 0);
        for (unsigned i = 0; i < 200; i++) /* the device comes on while it is asked */
            (void)spw_uses_done_locked(&block_at(a)->object.uses);
        assert_true(spw_uses_done_locked(&block_at(a)->object.uses));
        spw_unlock();
    }
    for (unsigned i = 0; i < SPW_OUTS - 1; i++) {
        const CUstream on = fake_stream();
        crowd[i] = allocate(BYTES);
        fake_gate(on);
        spw_lock();
        (void)spw_stream_next_locked(spw_stream_of_locked(on));
        spw_stream_gate_locked(spw_stream_of_locked(on));
        spw_unlock();
        assert_int_equal(fill_on(on, crowd[i], BYTES, (unsigned char)i), 0);
        leave(crowd[i]);
    }
    const CUdeviceptr next = allocate(BYTES);
    block_at(output)->pinned = true; /* nothing but `a` can go */
    fake_fail("cuLaunchKernel", 1, CUDA_ERROR_UNKNOWN, false);
    assert_int_equal(fill_on(s, next, BYTES, 9), 0);
    fake_fail("", 1, CUDA_SUCCESS, false);
    if (!is_another_there)
        expect_counts(0, 0, 1);
    assert_int_equal(attention(a), SPW_EVICTED);
    fake_open_gates();
    let_run();
    expect(a, 1);
    expect(next, 9);
    if (is_another_there)
        expect(another, 2);
    for (unsigned i = 0; i < SPW_OUTS - 1; i++)
        expect(crowd[i], (unsigned char)i);
    fake_run_all();
    expect_no_tickets();
}

static void a_digest_that_fails_while_all_copies_are_gated_costs_a_copy(void **state)
{
    check_digest_that_fails_behind_gates(false);
}

static void nor_is_it_a_failure_where_another_was_passed_over_before(void **state)
{
    check_digest_that_fails_behind_gates(true);
}

static void a_driver_that_takes_no_kernel_costs_copies(void **state)
{
    begin_believing(BUDGET);
    free(device->digests);
    device->digests = NULL;
    fake_fail("cuModuleLoadData", 1, CUDA_ERROR_INVALID_PTX, true);
    CUdeviceptr a = tensor_with_copy(1);
    for (unsigned i = 2; i < 5; i++) {
        scale_on(s, a, (unsigned char)i);
        gone(a);
        restore(a);
    }
    expect(a, 4);
    fake_run_all();
    expect_counts(0, 0, 3);
}

static void without_a_free_ticket_it_is_copied(void **state)
{
    static uint32_t tickets[SPW_DIGEST_SLOTS];
    begin_believing(BUDGET);
    spw_lock();
    for (unsigned i = 0; i < SPW_DIGEST_SLOTS; i++)
        assert_int_equal(spw_digest_ask_locked(device, context, s, block_at(output)->address, 8, &tickets[i]), 0);
    spw_unlock();
    CUdeviceptr a = tensor_with_copy(1);
    spw_lock();
    for (unsigned i = 0; i < SPW_DIGEST_SLOTS; i++)
        spw_digest_forget_locked(tickets[i]);
    spw_unlock();
    scale_on(s, a, 2);
    gone(a);
    expect_counts(0, 0, 1);
    restore(a);
    scale_by_one(a, 2);
    gone(a);
    expect_counts(1, 0, 1);
    expect_no_tickets();
}

/* The copy that would take its place fails as well: it stays, dirty, and goes another time. */
static void what_cannot_be_copied_after_all_stays(void **state)
{
    for (int leaves = 0; leaves < 2; leaves++) {
        begin_believing(BUDGET);
        CUdeviceptr a = tensor_with_copy(1);
        scale_on(s, a, 2);
        leave(a);
        let_run();
        fake_fail("cuMemcpyDtoHAsync_v2", 1, CUDA_ERROR_UNKNOWN, false);
        if (leaves)
            pump();
        else {
            CUdeviceptr b = allocate(4 * BYTES);
            (void)fill_on(s, b, 4 * BYTES, 5);
        }
        fake_fail("", 1, CUDA_SUCCESS, false);
        expect_counts(0, 1, 0);
        gone(a);
        expect(a, 2);
        fake_run_all();
        expect_no_tickets();
    }
}

static void what_cannot_be_ordered_is_as_it_was(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1);
    scale_by_one(a, 1);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0); /* of two streams there is something to order */
    fake_fail("cuStreamWaitEvent", 1, CUDA_ERROR_UNKNOWN, true);
    fake_fail_too("cuStreamSynchronize cuCtxSynchronize");
    assert_true(under_locks(spw_transfer_evict_locked, a) < 0);
    fake_fail("", 1, CUDA_SUCCESS, false);
    assert_int_equal(attention(a) & SPW_EVICTING, 0);
    expect_counts(0, 0, 0);
    gone(a);
    expect_counts(1, 0, 0);
}

/* ---- the way of launches ---- */

/* A launch that gets a closer look may know better: until then nothing of its is noted as written. */
static void a_launch_that_gets_a_closer_look_soils_nothing_before(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = tensor_with_copy(1), hits[] = {a, a};
    void *values[] = {&hits[0], &hits[1]};
    const struct spw_launch launch = {.function = function};
    expect(a, 1);
    let_run();
    expect(a, 1);
    assert_int_equal(attention(a), 0);
    spw_plan_follower_any = true;
    assert_null(spw_fast_path_launch(&launch, s, &layout, values));
    assert_false(spw_object_dirty(&block_at(a)->object));
    spw_plan_follower_any = false;
    assert_non_null(spw_fast_path_launch(&launch, s, &layout, values));
    assert_true(spw_object_dirty(&block_at(a)->object));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_digest_waits_for_no_copy),
        cmocka_unit_test(another_stream_writes_after_the_digest),
        cmocka_unit_test(of_two_streams_none_gets_a_digest),
        cmocka_unit_test(the_reader_of_a_part_does_not_come_after_who_wrote_the_rest),
        cmocka_unit_test(what_is_on_its_way_back_is_read_behind_its_copy),
        cmocka_unit_test(another_stream_writes_after_the_copy_behind_the_digest),
        cmocka_unit_test(a_stream_that_is_done_with_it_gets_a_digest_on_a_course_only),
        cmocka_unit_test(a_stream_in_a_call_gets_no_digest),
        cmocka_unit_test(a_stream_that_is_captured_or_gone_gets_no_digest),
        cmocka_unit_test(an_answer_is_known_with_the_copy),
        cmocka_unit_test(what_was_just_allocated_is_written_by_what_it_is_given_to),
        cmocka_unit_test(whoever_gets_the_memory_next_starts_anew),
        cmocka_unit_test(what_is_freed_on_its_way_leaves_no_digest_behind),
        cmocka_unit_test(a_digest_that_fails_costs_a_copy),
        cmocka_unit_test(a_digest_that_fails_while_all_copies_are_gated_costs_a_copy),
        cmocka_unit_test(nor_is_it_a_failure_where_another_was_passed_over_before),
        cmocka_unit_test(a_driver_that_takes_no_kernel_costs_copies),
        cmocka_unit_test(without_a_free_ticket_it_is_copied),
        cmocka_unit_test(what_cannot_be_copied_after_all_stays),
        cmocka_unit_test(what_cannot_be_ordered_is_as_it_was),
        cmocka_unit_test(a_launch_that_gets_a_closer_look_soils_nothing_before),
    };
    is_eager = argc > 1;
    fake_eager(is_eager);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
