/* test-versions.c - what operations may write gets new versions, what is kept of them says at which versions, and nothing
 * that is needed is written before what depends on it was made again. */
#include "versioned-launches.h"

/* ---- launches of up to three addresses ---- */

/* As the engine does for an operation that is wanted, once everything is in its place. What the hits in `fresh` lie in was
 * just allocated. */
static struct spw_recorded_op *keep_op(struct spw_op *op, uint64_t fresh)
{
    spw_lock();
    for (unsigned i = 0; i < op->count; i++)
        if (fresh >> i & 1)
            spw_version_reset_locked(spw_versioned_at_locked(op->hits[i], NULL));
    op->stream = spw_stream_of_locked(stream);
    op->reached = op->count;
    spw_versions_look_locked(op);
    op->wish = 8;
    spw_versions_op_locked(op);
    spw_unlock();
    return op->recorded_op;
}

/* ---- versions ---- */

static void a_launch_may_write_all_that_it_is_given(void **state)
{
    const uint64_t a_was = version(a), b_was = version(b), c_was = version(c), small_was = version(small);
    assert_int_equal(launch(2, a + 100, small + 8, 0), 0);
    assert_true(version(a) > a_was);
    assert_true(version(small) > small_was);
    assert_int_equal(version(b), b_was);
    assert_int_equal(version(c), c_was);
    assert_int_not_equal(version(a), version(small));
}

static void what_is_known_to_be_only_read_keeps_its_version_and_stays_clean(void **state)
{
    learn_that_the_last_of_three_is_written();
    const uint64_t a_was = version(a), b_was = version(b), c_was = version(c);
    assert_int_equal(launch(3, a, b, c), 0);
    assert_int_equal(version(a), a_was);
    assert_int_equal(version(b), b_was);
    assert_true(version(c) > c_was);
    assert_false(spw_object_dirty(spw_object_at_locked(a)));
    assert_true(spw_object_dirty(spw_object_at_locked(c)));
}

static bool is_left_alone(CUdeviceptr address, struct launch *l)
{
    const uint64_t was = version(address);
    spw_object_at_locked(address)->attention &= ~(uint32_t)0;
    assert_int_equal(spw_op_begin(&l->op), 0);
    spw_op_answered(&l->op, true);
    return version(address) == was;
}

/* Whatever class the launches are of: what is known of a place is known of the function. */
static void what_was_never_written_through_a_doubted_place_keeps_its_version(void **state)
{
    const uint16_t doubted[] = {2};
    struct launch l;
    describe(&l, 3, a, b, c);
    l.op.doubtful = 1;
    l.submission.launch.doubted = doubted;
    l.submission.launch.doubted_count = 1;
    struct spw_launch_class *place = spw_launch_class_of_place_locked(FUNCTION, 2);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(place, 0, 1);
    assert_false(is_left_alone(c, &l)); /* nothing is known of the launch */

    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, spw_call_args_places(&l.submission), 2);
    assert_int_equal(set->count, 2);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(set, 2, UINT64_MAX);
    assert_true(is_left_alone(a, &l));
    assert_false(is_left_alone(b, &l));
    assert_true(is_left_alone(c, &l));
    assert_ptr_equal(((struct spw_block *)spw_object_at_locked(c))->proof.believed, true);

    spw_launch_class_note_numbers_locked(set, (const uint32_t[]){1}, 1); /* this launch is given others */
    assert_false(is_left_alone(c, &l));
}

static void a_place_that_was_written_through_is_written_again(void **state)
{
    const uint16_t doubted[] = {2};
    struct launch l;
    describe(&l, 3, a, b, c);
    l.op.doubtful = 1;
    l.submission.launch.doubted = doubted;
    l.submission.launch.doubted_count = 1;
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, spw_call_args_places(&l.submission), 2);
    struct spw_launch_class *place = spw_launch_class_of_place_locked(FUNCTION, 2);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(set, 2, UINT64_MAX);
    assert_false(is_left_alone(c, &l)); /* nothing is known of the place */
    (void)spw_launch_class_observed_locked(place, 1, 1);
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(place, 0, 1);
    assert_false(is_left_alone(c, &l));
}

static void a_copy_writes_one_end(void **state)
{
    const uint64_t a_was = version(a), b_was = version(b);
    CUdeviceptr ends[] = {a, b};
    struct spw_op op = {.handle = stream, .hits = ends, .count = 2, .room = 2, .read_only = 1, .name = "a copy"};
    assert_int_equal(spw_op_begin(&op), 0);
    spw_op_answered(&op, true);
    assert_true(version(a) > a_was);
    assert_int_equal(version(b), b_was);
}

static void what_tables_lead_to_is_written(void **state)
{
    const uint64_t b_was = version(b), c_was = version(c);
    uint64_t table[] = {b};
    struct launch l;
    spw_pointer_tables_learn(a, table, sizeof(table), &spw_pinning);
    assert_int_equal(launch(1, a, 0, 0), 0);
    assert_true(version(b) > b_was);
    assert_int_equal(version(c), c_was);
    describe(&l, 1, a, 0, 0);
    l.op.reached = 2;
    l.op.wish = 1;
    l.hits[1] = b;
    spw_lock();
    l.op.stream = spw_stream_of_locked(stream);
    spw_versions_op_locked(&l.op);
    spw_unlock();
    assert_null(l.op.recorded_op);
    assert_int_equal(l.op.verdict, SPW_REPLAY_POINTER_TABLE);
}

/* Also where the launch is given the same to read: the address in the table is another matter. */
static void what_a_launch_reads_is_written_where_a_table_leads_there(void **state)
{
    learn_that_the_last_of_three_is_written();
    const uint64_t a_was = version(a);
    uint64_t table[] = {a};
    assert_int_equal(launch(3, a, b, c), 0);
    assert_int_equal(version(a), a_was);
    spw_pointer_tables_learn(b, table, sizeof(table), &spw_pinning);
    assert_int_equal(launch(3, a, b, c), 0);
    assert_true(version(a) > a_was);
}

/* Without memory for a list of them it is not known what the launch touches. */
static void what_tables_lead_to_and_cannot_be_listed_raises_the_epoch(void **state)
{
    const uint64_t epoch = spw_version_epoch;
    uint64_t table[] = {b, c};
    struct launch l;
    assert_int_equal(launch(1, a, 0, 0), 0);
    spw_pointer_tables_learn(a, table, sizeof(table), &spw_pinning);
    describe(&l, 1, a, 0, 0);
    l.op.room = 2;
    l.op.wish = 1;
    device->dropping = 1;
    memory_fails_once_after(0);
    assert_int_equal(spw_op_begin(&l.op), 0);
    spw_op_answered(&l.op, true);
    assert_true(memory_is_back());
    assert_int_equal(rescues_of_all, 1);
    assert_true(spw_version_epoch > epoch);
    assert_null(l.op.recorded_op);
}

static void a_launch_that_cannot_be_parsed_raises_the_epoch(void **state)
{
    const uint64_t epoch = spw_version_epoch;
    struct launch l;
    describe(&l, 1, a, 0, 0);
    l.op.count = 0;
    l.op.everything = true;
    device->dropping = 1;
    assert_int_equal(spw_op_begin(&l.op), 0);
    spw_op_answered(&l.op, true);
    assert_int_equal(rescues_of_all, 1);
    assert_true(spw_version_epoch > epoch);
}

static void who_gets_memory_of_another_finds_no_versions_of_that(void **state)
{
    struct launch l;
    spw_plan_follower_any = true; /* as it is where versions are kept */
    describe(&l, 2, a, b, 0);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 2);
    struct spw_recorded_op_touch touch = recorded_op->touches[1];
    const uint64_t b_was = version(b), small_was = version(small);
    assert_true(spw_recorded_op_touch_is_there(&touch));
    spw_versions_op_end(&l.op, true);
    assert_int_equal(spw_recorded_op_counts.alive, 1);
    assert_int_equal(spw_free(b, NULL), 0);
    assert_int_equal(spw_free(small, NULL), 0);
    fake_run_all();
    const CUdeviceptr again = allocate(64 * KIB), small_again = allocate(256);
    assert_int_equal(again, b);
    assert_int_equal(small_again, small);
    assert_int_not_equal(version(again), b_was);
    assert_int_not_equal(version(small_again), small_was);
    assert_false(spw_recorded_op_touch_is_there(&touch));
    assert_int_equal(spw_recorded_op_counts.alive, 0);
}

/* ---- what is kept ---- */

static void a_kept_launch_knows_the_versions_before_and_after(void **state)
{
    struct launch l;
    learn_that_the_last_of_three_is_written();
    assert_int_equal(launch(2, a, small, 0), 0);
    const uint64_t small_was = version(small), a_was = version(a);
    describe(&l, 3, a + 64, small, c);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 4);
    assert_non_null(recorded_op);
    assert_int_equal(keeps, 1);
    assert_int_equal(recorded_op->operation, 7);
    assert_int_equal(recorded_op->touch_count, 3);
    const struct spw_recorded_op_touch *t = recorded_op->touches;
    assert_int_equal(t[0].address, a);
    assert_int_equal(t[0].bytes, 64 * KIB);
    assert_int_equal(t[0].access, SPW_RECORDED_OP_READS);
    assert_int_equal(t[0].before, a_was);
    assert_int_equal(t[0].after, a_was);
    assert_int_equal(t[1].address, small);
    assert_int_equal(t[1].before, small_was);
    assert_null(t[1].block);
    assert_int_equal(t[2].access, SPW_RECORDED_OP_WRITES);
    assert_true(t[2].whole);
    assert_int_equal(t[2].before + 1, t[2].after);
    assert_int_equal(t[2].after, version(c));
    assert_ptr_equal(spw_versioned_at_locked(c, NULL)->maker, recorded_op);
    assert_null(spw_versioned_at_locked(a, NULL)->maker);
    assert_true(spw_recorded_op_is_good(recorded_op));
    spw_versions_op_end(&l.op, true);
    assert_null(l.op.recorded_op);
    assert_int_equal(spw_recorded_op_counts.alive, 1); /* what it made holds it */
    assert_int_equal(launch(1, c, 0, 0), 0);
    assert_int_equal(spw_recorded_op_counts.alive, 0);
}

/* Which of the first and the last address of a launch that is kept are lent. */
static unsigned lent(CUdeviceptr first, CUdeviceptr last)
{
    struct launch l;
    unsigned which = 0;
    describe(&l, 3, first, b, last);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 0);
    assert_non_null(recorded_op);
    for (unsigned i = 0; i < recorded_op->touch_count; i++)
        which |= recorded_op->touches[i].lent ? 1u << i : 0;
    spw_versions_op_end(&l.op, true);
    return which;
}

/* Small allocations are, unless every launch that was given them is of a type that only reads there. */
static void what_is_small_and_only_believed_to_be_read_travels_with_the_launch(void **state)
{
    struct spw_launch_class *set = learn_that_the_last_of_three_is_written();
    const CUdeviceptr other = allocate(256), large = allocate(SPW_LENT_MAX_BYTES + 256);
    assert_int_equal(spw_object_at_locked(large)->kind, SPW_KIND_BLOCK);
    assert_int_equal(lent(a, other), 4);
    assert_int_equal(lent(small, other), 5);
    assert_int_equal(lent(large, c), 0);
    declare_the_first_constant(set);
    assert_int_equal(lent(small, c), 1); /* of another launch it was a belief */
    const CUdeviceptr unused = allocate(256);
    assert_int_equal(launch(1, unused, 0, 0), 0); /* writes it */
    assert_int_equal(lent(unused, c), 0);
}

static void addresses_in_one_block_are_one_touch(void **state)
{
    struct launch l;
    assert_int_equal(launch(2, a, b, 0), 0); /* they have a content */
    describe(&l, 3, a, b, a + 128);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 0);
    assert_int_equal(recorded_op->touch_count, 2);
    assert_int_equal(recorded_op->touches[0].hits, 5);
    assert_int_equal(recorded_op->touches[0].access, SPW_RECORDED_OP_READS | SPW_RECORDED_OP_WRITES);
    assert_int_equal(recorded_op->touches[0].after, version(a));
    assert_true(recorded_op->touches[0].before < recorded_op->touches[0].after);
    spw_versions_op_end(&l.op, true);
    assert_int_equal(spw_recorded_op_counts.alive, 0);
}

static void copies_and_sets_know_by_themselves_what_they_overwrite(void **state)
{
    CUdeviceptr ends[] = {a, b};
    const struct spw_call_args whole = {.kind = SPW_SUBMIT_COPY, .copy = {a, b, 64 * KIB}},
                               part = {.kind = SPW_SUBMIT_COPY, .copy = {a, b, 64 * KIB - 1}},
                               set = {.kind = SPW_SUBMIT_SET, .set = {a, 0, 16 * KIB, 1, 5, 4}},
                               rows = {.kind = SPW_SUBMIT_SET, .set = {a, 128, 128, 512, 5, 1}};
    const struct {
        const struct spw_call_args *submission;
        bool whole;
        unsigned reads;
    } cases[] = {{&whole, true, 1}, {&part, false, 1}, {&set, true, 0}, {&rows, false, 0}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct spw_op op = {.handle = stream,
                            .hits = ends,
                            .count = 1 + cases[i].reads,
                            .room = 2,
                            .read_only = cases[i].reads,
                            .name = "a copy or set",
                            .submission = cases[i].submission};
        struct spw_recorded_op *recorded_op = keep_op(&op, 0);
        assert_int_equal(recorded_op->touches[0].whole, cases[i].whole);
        assert_int_equal(recorded_op->touches[0].access, SPW_RECORDED_OP_WRITES);
        if (cases[i].reads)
            assert_int_equal(recorded_op->touches[1].access, SPW_RECORDED_OP_READS);
        assert_ptr_equal(spw_versioned_at_locked(a, NULL)->maker, recorded_op);
        assert_int_equal(recorded_op->touches[0].previous != NULL, !cases[i].whole); /* the rest is what was there before */
        spw_versions_op_end(&op, true);
    }
}

static CUdeviceptr allocate_fresh(void)
{
    const CUdeviceptr new = allocate(64 * KIB);
    spw_lock();
    spw_version_reset_locked(spw_versioned_at_locked(new, NULL)); /* as where a plan is followed */
    spw_unlock();
    return new;
}

static void what_nobody_has_written_needs_nothing_of_what_was_there(void **state)
{
    struct launch l;
    const CUdeviceptr new = allocate_fresh();
    learn_that_the_last_of_three_is_written();
    describe(&l, 3, new, b, c);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 0);
    assert_true(recorded_op->touches[0].whole); /* whatever other launches of the kind left alike */
    assert_int_equal(recorded_op->touches[0].access, SPW_RECORDED_OP_WRITES);
    assert_ptr_equal(spw_versioned_at_locked(new, NULL)->maker, recorded_op);
    spw_versions_op_end(&l.op, true);
    assert_int_equal(spw_free(new, NULL), 0);
}

/* Through a place where nothing was ever written: this time something may be, and then its bytes are the program's. */
static void what_is_believed_not_to_be_written_through_a_doubted_place_is_not_fresh(void **state)
{
    const uint16_t doubted[] = {2};
    const CUdeviceptr new = allocate_fresh();
    const uint64_t was = version(new);
    struct launch l;
    describe(&l, 3, a, b, new);
    l.op.doubtful = 1;
    l.submission.launch.doubted = doubted;
    l.submission.launch.doubted_count = 1;
    struct spw_launch_class *place = spw_launch_class_of_place_locked(FUNCTION, 2);
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, spw_call_args_places(&l.submission), 2);
    for (int i = 0; i < SPW_CLASS_SURE; i++) {
        (void)spw_launch_class_observed_locked(place, 0, 1);
        (void)spw_launch_class_observed_locked(set, 2, UINT64_MAX);
    }
    assert_int_equal(spw_op_begin(&l.op), 0);
    spw_op_answered(&l.op, true);
    assert_int_equal(version(new), was);
    assert_false(spw_version_is_fresh(spw_versioned_at_locked(new, NULL)));
    assert_int_equal(spw_free(new, NULL), 0);
}

static void what_was_written_unseen_is_not_fresh(void **state)
{
    const CUdeviceptr new = allocate_fresh();
    assert_true(spw_version_is_fresh(spw_versioned_at_locked(new, NULL)));
    assert_int_equal(spw_versions_break(), 0);
    assert_false(spw_version_is_fresh(spw_versioned_at_locked(new, NULL)));
    assert_int_equal(spw_free(new, NULL), 0);
}

static void what_is_updated_is_known_by_all_that_wrote_to_it(void **state)
{
    struct launch l;
    struct spw_recorded_op *first, *second;
    const CUdeviceptr new = allocate_fresh();
    describe(&l, 1, new, 0, 0);
    first = keep_op(&l.op, 0);
    spw_versions_op_end(&l.op, true);
    describe(&l, 1, new, 0, 0);
    second = keep_op(&l.op, 0);
    assert_false(second->touches[0].whole);
    assert_ptr_equal(second->touches[0].previous, first);
    assert_int_equal(second->depth, 2);
    spw_versions_op_end(&l.op, true);
    assert_int_equal(spw_recorded_op_counts.alive, 2);
    assert_int_equal(launch(1, new, 0, 0), 0); /* nobody keeps that */
    assert_int_equal(spw_recorded_op_counts.alive, 0);
    describe(&l, 1, new, 0, 0);
    assert_null(keep_op(&l.op, 0)->touches[0].previous);
    assert_null(spw_versioned_at_locked(new, NULL)->maker);
    spw_versions_op_end(&l.op, true);
    assert_int_equal(spw_free(new, NULL), 0);
}

static void no_more_than_so_many_updates_are_followed(void **state)
{
    const CUdeviceptr new = allocate_fresh();
    struct launch l;
    for (unsigned i = 0; i <= SPW_RECORDED_OP_DEPTH; i++) {
        describe(&l, 1, new, 0, 0);
        (void)keep_op(&l.op, 0);
        spw_versions_op_end(&l.op, true);
        assert_int_equal(spw_versioned_at_locked(new, NULL)->maker != NULL, i < SPW_RECORDED_OP_DEPTH);
    }
    assert_int_equal(spw_recorded_op_counts.alive, 0);
    assert_int_equal(spw_free(new, NULL), 0);
}

static void what_the_driver_refuses_is_void(void **state)
{
    struct launch l;
    describe(&l, 2, a, b, 0);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 2);
    spw_versions_op_end(&l.op, false);
    assert_ptr_equal(spw_versioned_at_locked(b, NULL)->maker, recorded_op);
    assert_false(spw_recorded_op_is_good(recorded_op));
}

static void what_cannot_be_saved_is_void(void **state)
{
    struct launch l;
    describe(&l, 2, a, b, 0);
    kept_answer = -ENOMEM;
    assert_true(keep_op(&l.op, 2)->is_void);
    spw_versions_op_end(&l.op, true);
}

/* A function of the host's holds a write back that was submitted to another stream. The program may have this one run
 * before. */
static void what_may_run_before_what_is_held_back_is_void(void **state)
{
    struct launch l;
    const CUstream other = fake_stream();
    fake_gate(other);
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(other);
    (void)spw_stream_next_locked(record);
    spw_stream_gate_of_program_locked(record);
    spw_unlock();
    describe(&l, 1, a, 0, 0);
    l.op.handle = other;
    assert_int_equal(spw_op_begin(&l.op), 0);
    spw_op_answered(&l.op, true);
    for (int is_open = 0; is_open < 2; is_open++) {
        describe(&l, 2, a, b, 0);
        assert_int_equal(keep_op(&l.op, 2)->is_void, !is_open);
        spw_versions_op_end(&l.op, true);
        fake_open_gates();
        fake_run_all();
    }
}

static void nothing_is_kept_of_what_is_pinned_or_collective(void **state)
{
    struct launch l;
    describe(&l, 2, a, b, 0);
    spw_pin_address(b, "a test says so");
    assert_null(spw_versioned_at_locked(b, NULL));
    assert_null(keep_op(&l.op, 0));
    assert_int_equal(l.op.verdict, SPW_REPLAY_OUTSIDE_MEMORY);
    describe(&l, 1, a, 0, 0);
    spw_launch_class_of_locked(FUNCTION, spw_call_args_places(&l.submission), 1)->is_collective = true;
    assert_null(keep_op(&l.op, 0));
    assert_int_equal(l.op.verdict, SPW_REPLAY_COLLECTIVE);
    describe(&l, 1, c, 0, 0);
    l.op.submission = NULL;
    assert_null(keep_op(&l.op, 0));
    assert_int_equal(l.op.verdict, SPW_REPLAY_OTHER_CALL);
}

/* The device reaches what malloc gives: a kernel that is given such an address may change that each time. */
static void what_is_given_pageable_host_memory_is_not_kept(void **state)
{
    struct launch l;
    describe(&l, 2, a, (CUdeviceptr)(uintptr_t)&l, 0);
    l.op.count = 1;
    assert_null(keep_op(&l.op, 0));
    assert_int_equal(l.op.verdict, SPW_REPLAY_OUTSIDE_MEMORY);
    l.hits[1] = UINT64_C(0x123456789000); /* nothing is there */
    assert_non_null(keep_op(&l.op, 0));
    spw_versions_op_end(&l.op, true);
}

/* A stream that waits for a value may go on after what is submitted later: versions do not follow what happens any more. */
static void nothing_is_kept_once_streams_wait_for_values(void **state)
{
    struct launch l;
    const uint64_t epoch = spw_version_epoch;
    describe(&l, 1, a, 0, 0);
    assert_int_equal(spw_versions_order_is_unseen(), 0);
    assert_int_equal(spw_versions_order_is_unseen(), 0);
    assert_int_equal(spw_version_epoch, epoch + 1); /* nothing is dropped that the second time could matter to */
    assert_null(keep_op(&l.op, 0));
    assert_int_equal(l.op.verdict, SPW_REPLAY_UNSEEN_ORDER);
    spw_recorded_op_order_unseen = false;
}

static void what_is_kept_takes_no_more_memory_than_it_may(void **state)
{
    enum { MOST = 4096 };
    static struct spw_op ops[MOST];
    static unsigned char buffer[32000];
    size_t bytes = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    struct launch l;
    unsigned n = 0;
    describe(&l, 1, a, 0, 0);
    l.submission.launch.params = NULL;
    l.submission.launch.extra = extra;
    for (;; n++) {
        assert_true(n < MOST);
        ops[n] = l.op;
        if (!keep_op(&ops[n], 0))
            break;
    }
    assert_int_equal(ops[n].verdict, SPW_REPLAY_TOO_LARGE);
    assert_in_range(spw_recorded_op_counts.bytes, SPW_RECORDED_OPS_MAX_BYTES - 40000, SPW_RECORDED_OPS_MAX_BYTES);
    while (n)
        spw_versions_op_end(&ops[--n], true);
    assert_int_equal(spw_recorded_op_counts.bytes, 0);
    describe(&l, 1, a, 0, 0);
    assert_non_null(keep_op(&l.op, 0));
    spw_versions_op_end(&l.op, true);
}

static void without_memory_nothing_is_kept(void **state)
{
    struct launch l;
    describe(&l, 2, a, b, 0);
    const uint64_t b_was = version(b);
    for (long calls = 0;; calls++) {
        memory_fails_once_after(calls);
        struct spw_recorded_op *recorded_op = keep_op(&l.op, 2);
        if (!memory_is_back())
            break;
        assert_true(calls < 4);
        assert_true(version(b) > b_was);
        if (recorded_op)
            spw_versions_op_end(&l.op, true);
        else
            assert_int_equal(l.op.verdict, SPW_REPLAY_TOO_LARGE);
    }
    spw_versions_op_end(&l.op, true);
}

static void all_is_let_go_of_when_versions_are_no_longer_kept(void **state)
{
    struct launch l;
    describe(&l, 3, a, b, small);
    struct spw_recorded_op *recorded_op = keep_op(&l.op, 7);
    spw_recorded_op_hold(recorded_op);
    spw_versions_op_end(&l.op, true);
    const uint64_t epoch = spw_version_epoch;
    keep_versions(false);
    assert_int_equal(spw_recorded_op_counts.alive, 1);
    assert_true(spw_version_epoch > epoch);
    keep_versions(true);
    assert_false(spw_recorded_op_is_good(recorded_op));
    spw_recorded_op_let_go(recorded_op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_may_write_all_that_it_is_given),
        TEST(what_is_known_to_be_only_read_keeps_its_version_and_stays_clean),
        TEST(what_was_never_written_through_a_doubted_place_keeps_its_version),
        TEST(a_place_that_was_written_through_is_written_again),
        TEST(a_copy_writes_one_end),
        TEST(what_tables_lead_to_is_written),
        TEST(what_a_launch_reads_is_written_where_a_table_leads_there),
        TEST(what_tables_lead_to_and_cannot_be_listed_raises_the_epoch),
        TEST(a_launch_that_cannot_be_parsed_raises_the_epoch),
        TEST(who_gets_memory_of_another_finds_no_versions_of_that),
        TEST(a_kept_launch_knows_the_versions_before_and_after),
        TEST(what_is_small_and_only_believed_to_be_read_travels_with_the_launch),
        TEST(addresses_in_one_block_are_one_touch),
        TEST(copies_and_sets_know_by_themselves_what_they_overwrite),
        TEST(what_nobody_has_written_needs_nothing_of_what_was_there),
        TEST(what_was_written_unseen_is_not_fresh),
        TEST(what_is_believed_not_to_be_written_through_a_doubted_place_is_not_fresh),
        TEST(what_is_updated_is_known_by_all_that_wrote_to_it),
        TEST(no_more_than_so_many_updates_are_followed),
        TEST(what_the_driver_refuses_is_void),
        TEST(what_cannot_be_saved_is_void),
        TEST(what_may_run_before_what_is_held_back_is_void),
        TEST(nothing_is_kept_of_what_is_pinned_or_collective),
        TEST(what_is_given_pageable_host_memory_is_not_kept),
        TEST(nothing_is_kept_once_streams_wait_for_values),
        TEST(what_is_kept_takes_no_more_memory_than_it_may),
        TEST(without_memory_nothing_is_kept),
        TEST(all_is_let_go_of_when_versions_are_no_longer_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
