/* test-clean_check.c - tensors that only a belief calls unwritten, on the fake device: none leaves without a copy unless it
 * is what its copy holds, and whatever stands in the way of knowing that costs a copy and no byte. */
#include "carried.h"
#include "capture.h"
#include "layout.h"
#include "idle-follower.h"
#include "clean_check.h"
#include "fast_path.h"
#include "call_args.h"
#include "versions.h"
#include "writesets.h"

#define RING   ((uint64_t)SPW_DIGEST_SLOTS * sizeof(struct spw_hash))
#define BUDGET (4 * BYTES + RING)

/* A kernel that is given two tensors, and has been seen to write the first of them and never the second. */
static const CUfunction function = (CUfunction)(uintptr_t)0xf0;
static const uint16_t words[] = {0, 1};
static const struct spw_param params[] = {{0, 8}, {8, 8}};
static const struct spw_layout layout = {
    .known = true, .param_count = 2, .word_count = 2, .image_bytes = 16, .words = words, .params = params};
static CUdeviceptr output; /* what all launches write */
static bool is_eager;

static CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static struct spw_call_args submission_of(CUdeviceptr *hits, void **values)
{
    values[0] = &hits[0];
    values[1] = &hits[1];
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    submission.launch.function = function;
    submission.launch.layout = &layout;
    submission.launch.params = values;
    return submission;
}

static void learn(CUdeviceptr a)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    const struct spw_call_args submission = submission_of(hits, values);
    spw_lock();
    struct spw_writeset *set = spw_writeset_of_locked(function, spw_call_args_places(&submission), 2);
    for (int i = 0; i < SPW_WRITESET_SURE; i++)
        (void)spw_writeset_observed_locked(set, 1, 3);
    spw_unlock();
}

/* Launches it: it is begun, and what it does to `a` is up to the caller, before the end. */
static struct spw_op begin_scaling(CUstream stream, CUdeviceptr *hits, void **values, struct spw_call_args *submission)
{
    *submission = submission_of(hits, values);
    struct spw_op op = {.handle = stream,
                        .hits = hits,
                        .count = 2,
                        .room = 2,
                        .function = function,
                        .name = "scale",
                        .submission = submission};
    assert_int_equal(spw_op_begin(&op), 0);
    return op;
}

/* By 1: `a` is what it was, `value`. */
static void scale_by_one(CUdeviceptr a, unsigned char value)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    struct spw_call_args submission;
    struct spw_op op = begin_scaling(s, hits, values, &submission);
    fake_expect(s, a, BYTES, value);
    spw_op_end(&op);
}

/* `a` is something else from now on. */
static void scale_on(CUstream stream, CUdeviceptr a, unsigned char value)
{
    CUdeviceptr hits[] = {output, a};
    void *values[2];
    struct spw_call_args submission;
    struct spw_op op = begin_scaling(stream, hits, values, &submission);
    fake_fill(stream, a, BYTES, value);
    spw_op_end(&op);
}

static void begin_believing(uint64_t budget)
{
    begin(budget, 16 << 20);
    spw_driver.cuFuncGetName = no_name;
    spw_writesets_reset();
    spw_lock();
    spw_versions_keep_locked(false);
    spw_versions_keep_locked(true);
    spw_follower = &idle_follower;
    spw_plan_follower_any = true; /* as it is where versions are kept */
    spw_unlock();
    open_digests();
    output = allocate(BYTES);
    fill(output, 0);
    learn(output);
}

static void gone(CUdeviceptr a)
{
    leave(a);
    let_run();
    pump();
    let_run();
    pump();
    assert_int_equal(attention(a), SPW_EVICTED);
}

/* One that was written, went, and is back. */
static CUdeviceptr tensor_with_copy(unsigned char value)
{
    CUdeviceptr a = allocate(BYTES);
    fill(a, value);
    gone(a);
    restore(a);
    return a;
}

static void expect_counts(unsigned proven, unsigned refuted, unsigned unproven)
{
    assert_int_equal(spw_clean_check_counts.proven_count, proven);
    assert_int_equal(spw_writesets_refuted_count, refuted);
    assert_int_equal(spw_clean_check_counts.unproven_count, unproven);
}

static void expect_no_tickets(void)
{
    spw_lock();
    assert_int_equal(spw_digests_held_locked(device), 0);
    spw_unlock();
    check_blocks();
}

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
    assert_true(spw_writesets_doubted);
    fill(output, 3); /* the next operation */
    assert_false(spw_writesets_doubted);
    assert_int_equal(spw_version_epoch, epoch + 1);
    fill(output, 3);
    assert_int_equal(spw_version_epoch, epoch + 1);
    spw_lock();
    assert_null(spw_writeset_of_locked(function, 0, 2));
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
        assert_true(spw_writesets_refuted_count == 1 || (!(n & 2) && *(unsigned char *)block_at(a)->host_copy == 2));
        expect(a, 2);
        fake_run_all();
    }
}

static bool copy_is_done(CUdeviceptr a)
{
    spw_lock();
    const bool is_done = spw_copies_done_locked(device, block_at(a));
    spw_unlock();
    return is_done;
}

/* A kernel that nothing is known of writes it. */
static void make(CUdeviceptr a, unsigned char value)
{
    struct spw_op op = {
        .handle = s, .hits = &a, .count = 1, .room = 1, .function = (CUfunction)(uintptr_t)0xf1, .name = "make"};
    assert_int_equal(spw_op_begin(&op), 0);
    fake_fill(s, a, BYTES, value);
    spw_op_end(&op);
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

static void who_is_believed_to_read_waits_for_no_copy(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    make(a, 1);
    assert_true(is_eager || !waits_for_copy(a, 1));
    leave(a);
    fill(a, 2); /* and who writes does */
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_true(copy_is_done(a));
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

/* Equal digests before and behind do not tell of a kernel that counts in it, and back to 0, as it is done in a workspace. */
static void what_may_be_a_workspace_is_not_used_while_it_is_copied(void **state)
{
    begin_believing(BUDGET);
    CUdeviceptr a = allocate(BYTES);
    fill(a, 0); /* by no launch */
    assert_true(waits_for_copy(a, 0));
    make(a, 3); /* which does not make it new */
    make(a, 3);
    assert_true(waits_for_copy(a, 3));
    CUdeviceptr b = allocate(BYTES);
    for (int i = 0; i < SPW_VERSION_MAKERS; i++)
        make(b, 4);
    assert_true(is_eager || !waits_for_copy(b, 4));
    make(b, 5); /* once more than what is made and read */
    assert_true(waits_for_copy(b, 5));
    spw_lock();
    spw_versions_keep_locked(false);
    spw_unlock();
    CUdeviceptr c = allocate(BYTES); /* before anybody kept count */
    spw_lock();
    spw_versions_keep_locked(true);
    spw_unlock();
    make(c, 6);
    make(c, 6);
    assert_true(waits_for_copy(c, 6));
}

/* ---- where digests go ---- */

static bool is_done(uint32_t stream, uint64_t number)
{
    struct spw_uses uses = {0};
    spw_lock();
    spw_uses_add_locked(&uses, spw_stream_by_id_locked(stream), number);
    const bool done = spw_uses_done_locked(&uses);
    spw_unlock();
    return done;
}

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
    assert_int_equal(block_at(a)->proof.reader, 0);
    gone(a);
    restore(a);
    scale_by_one(a, 1);
    assert_int_equal(expect_on(t, a, BYTES, 1), 0);
    leave(a);
    assert_int_equal(block_at(a)->proof.reader, 0);
    gone(a);
    expect_counts(1, 0, 0);
    expect(a, 1);
    fake_run_all();
    expect_no_tickets();
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
        assert_int_equal(block_at(a)->proof.reader, expected ? record->id : 0);
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
        assert_int_equal(block_at(a)->proof.reader, 0);
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
                assert_false(spw_writesets_doubted);
                expect(a, changed ? 2 : 1);
                fake_run_all();
                expect_no_tickets();
            }
}

static void a_driver_that_takes_no_kernel_costs_copies(void **state)
{
    begin_believing(BUDGET);
    spw_digests_reset();
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
        cmocka_unit_test(what_was_left_alike_goes_without_a_copy),
        cmocka_unit_test(memory_goes_when_both_digests_are_there),
        cmocka_unit_test(what_nobody_touched_needs_no_proof),
        cmocka_unit_test(without_versions_nothing_is_hashed),
        cmocka_unit_test(what_a_plan_spares_the_digest_is_copied_again_where_it_would_be_believed),
        cmocka_unit_test(what_is_used_again_stays_and_is_in_order),
        cmocka_unit_test(what_was_changed_after_all_is_copied_and_nothing_is_believed),
        cmocka_unit_test(room_is_made_with_nothing_lost),
        cmocka_unit_test(a_copy_that_may_be_torn_is_found_out),
        cmocka_unit_test(who_is_believed_to_read_waits_for_no_copy),
        cmocka_unit_test(what_a_call_only_reads_may_be_read_beside_a_copy),
        cmocka_unit_test(what_may_be_a_workspace_is_not_used_while_it_is_copied),
        cmocka_unit_test(a_digest_waits_for_no_copy),
        cmocka_unit_test(another_stream_writes_after_the_digest),
        cmocka_unit_test(of_two_streams_none_gets_a_digest),
        cmocka_unit_test(a_stream_that_is_done_with_it_gets_a_digest_on_a_course_only),
        cmocka_unit_test(a_stream_in_a_call_gets_no_digest),
        cmocka_unit_test(a_stream_that_is_captured_or_gone_gets_no_digest),
        cmocka_unit_test(an_answer_is_known_with_the_copy),
        cmocka_unit_test(what_was_just_allocated_is_written_by_what_it_is_given_to),
        cmocka_unit_test(whoever_gets_the_memory_next_starts_anew),
        cmocka_unit_test(what_is_freed_on_its_way_leaves_no_digest_behind),
        cmocka_unit_test(a_digest_that_fails_costs_a_copy),
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
