/* test-read_check.c - tensors that a launch was given which is only believed to leave them alike: what is made of them is
 * dropped once they are shown to be as they were, and copied where they are not. */
#include "replayed.h"
#include <stddef.h>

#include "log.h"
#include "clean_check.h"
#include "drop_check.h"
#include "read_check.h"
#include "verify.h"

enum { VALUE = 9, SALT = 3, LARGE = 3 << 20, WORD_AT = LARGE / 3 + 4100 };

static const CUfunction looker = (CUfunction)(uintptr_t)0x310;
static CUdeviceptr input;

static int begin_looking(void **state)
{
    (void)state;
    begin_replays(LARGE + 64 * BYTES, 16 << 20);
    spw_verify_reset();
    spw_clean_check_reset();
    spw_log_setup(SPW_LOG_QUIET, NULL);
    input = allocate(BYTES);
    fill(input, VALUE);
    return 0;
}

static unsigned char right_value(void)
{
    const unsigned char value = VALUE;
    return fake_mixed(&value, 1, SALT);
}

/* Something that is made of the input, which matters from now on. */
static CUdeviceptr make_of(CUdeviceptr from, size_t bytes)
{
    CUdeviceptr a[] = {from, allocate(bytes)};
    assert_int_equal(mix_on(s, a, 1, 1, SALT), 0);
    spw_lock();
    spw_read_check_rely_locked(block_at(a[1])->content.maker);
    spw_unlock();
    return a[1];
}

/* A launch that was never seen to write what it is given now, and leaves `value` there. It may be kept itself. */
static void look_and_leave(CUdeviceptr a, unsigned char value, struct spw_recorded_op *kept)
{
    struct spw_launch_class set = {.function = looker, .changed = 2, .writes = 2, .count = 2};
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(s);
    struct spw_op op = {.hits = &a,
                        .count = 1,
                        .function = looker,
                        .stream = record,
                        .class = &set,
                        .believed = &set,
                        .writes = set.writes,
                        .recorded_op = kept};
    spw_read_check_touch_locked(&op, spw_version_clock);
    if (value)
        fake_fill(s, a, BYTES, value);
    spw_uses_add_locked(&spw_object_at_locked(a)->uses, record, spw_stream_next_locked(record));
    spw_unlock();
}

static void look_at(CUdeviceptr a, bool changes_it)
{
    look_and_leave(a, changes_it ? CHANGED : 0, NULL);
}

static void let_go(CUdeviceptr a)
{
    drop(a);
    for (int i = 0; i < 4; i++) {
        let_run();
        pump();
    }
    assert_true(attention(a) & SPW_ABSENT);
}

static bool is_dropped(CUdeviceptr a)
{
    return attention(a) & SPW_DROPPED;
}

static void what_is_as_it_was_is_shown_and_nothing_is_copied(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    assert_int_equal(spw_read_check_counts.based_count, 1);
    let_go(a);
    assert_true(is_dropped(a));
    assert_int_equal(spw_read_check_counts.shown_count, 1);
    look_at(input, false); /* the first digest serves again */
    assert_int_equal(spw_read_check_counts.based_count, 1);
    expect(a, right_value());
}

static void what_is_made_of_something_that_was_changed_is_copied(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, true);
    let_go(a);
    assert_false(is_dropped(a));
    assert_int_equal(spw_read_check_counts.refuted_count, 1);
    assert_int_equal(spw_launch_classes_refuted_count, 1);
    assert_true(spw_launch_classes_doubted);
    assert_null(spw_launch_class_of_locked(looker, 0, 1)); /* of that function nothing is believed any more */
    expect(a, right_value());
    expect(input, CHANGED);
}

static void what_was_changed_itself_is_copied_as_it_is(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(a, true);
    let_go(a);
    assert_false(is_dropped(a));
    expect(a, CHANGED);
}

static void one_changed_word_of_a_large_tensor_is_seen(void **state)
{
    CUdeviceptr large = allocate(LARGE), a[2];
    fill_on(s, large, LARGE, VALUE);
    a[0] = make_of(large, BYTES);
    look_at(large, false);
    let_go(a[0]);
    assert_true(is_dropped(a[0]));
    expect(a[0], right_value());
    a[1] = make_of(large, BYTES);
    look_at(large, false);
    spw_lock();
    fake_fill(s, large + WORD_AT, sizeof(uint32_t), CHANGED);
    spw_unlock();
    let_go(a[1]);
    assert_false(is_dropped(a[1]));
    expect(a[1], right_value());
}

/* Nothing has relied on it then. */
static void what_matters_to_nobody_is_not_hashed(void **state)
{
    CUdeviceptr a = allocate(BYTES);
    fill(a, VALUE);
    look_at(a, true);
    assert_int_equal(spw_read_check_counts.based_count, 0);
    CUdeviceptr made = make_of(a, BYTES);
    let_go(made);
    assert_true(is_dropped(made));
}

/* The launch is given it a second time, in a place where it is known to write. */
static void what_the_launch_writes_anyway_is_not_hashed(void **state)
{
    (void)make_of(input, BYTES);
    struct spw_launch_class set = {.function = looker, .changed = 2, .writes = 2, .count = 2};
    CUdeviceptr hits[] = {input, input};
    spw_lock();
    struct spw_op op = {.hits = hits,
                        .count = 2,
                        .function = looker,
                        .stream = spw_stream_of_locked(s),
                        .believed = &set,
                        .writes = set.writes};
    const uint64_t clock = spw_version_clock;
    spw_version_raise_locked(versioned_at(input));
    versioned_at(input)->unchanged = (struct spw_read_check){.epoch = spw_version_epoch, .is_relied_on = true};
    spw_read_check_touch_locked(&op, clock);
    assert_int_equal(spw_read_check_counts.based_count, 0);
    spw_unlock();
}

/* The second digest is older than what used the other tensor last. */
static void what_leaves_still_waits_for_its_own_uses(void **state)
{
    CUdeviceptr first = make_of(input, BYTES), second = make_of(input, BYTES);
    look_at(input, false);
    drop(first);
    look_at(second, false);
    spw_lock();
    struct spw_stream *record = spw_stream_of_locked(s);
    const uint64_t last = record->begun;
    assert_int_equal(spw_drop_check_request_locked(device, block_at(second)), 0);
    const struct spw_uses *uses = &block_at(second)->object.uses;
    for (unsigned i = 0; i < uses->count; i++)
        if (uses->stream[i] == record->id)
            assert_true(uses->number[i] >= last);
    spw_unlock();
    let_run();
    pump();
    expect(first, right_value());
    expect(second, right_value());
}

/* While it is leaving, what it is made of is touched once more: that is asked about again. */
static void what_is_touched_meanwhile_is_asked_about_again(void **state)
{
    CUdeviceptr a = make_of(input, BYTES), b = make_of(input, BYTES);
    look_at(input, false);
    drop(a);
    look_at(input, false);
    for (int i = 0; i < 4; i++) {
        let_run();
        pump();
    }
    assert_true(is_dropped(a));
    look_at(input, false);
    drop(b);
    look_at(input, true);
    for (int i = 0; i < 4; i++) {
        let_run();
        pump();
    }
    assert_false(is_dropped(b));
    expect(b, right_value());
}

/* What may change a tensor that something dropped is made of comes after that was made; but for retained blocks of which
 * nothing is to be made: these stay as they are, and go where it is known to change it. */
static void idle_ghosts_are_left_alone(void **state)
{
    CUdeviceptr wanted = make_of(input, BYTES), ghost = make_of(input, BYTES);
    let_go(wanted);
    give_back(ghost, s, true);
    let_go(ghost);
    assert_int_equal(rescue_from(versioned_at(input), false), 0);
    assert_false(is_dropped(wanted));
    assert_true(is_dropped(ghost));
    assert_int_equal(rescue_from(versioned_at(input), true), 0);
    assert_false(is_dropped(ghost));
    assert_true(attention(ghost) & SPW_EMPTY);
    expect(wanted, right_value());
}

/* What was looked at is written again by something that is kept: the digests are that one's from then on. */
static void what_is_written_again_passes_its_digests_on(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(a, false);
    spw_lock();
    struct spw_op op = {.stream = spw_stream_of_locked(s)};
    struct spw_recorded_op_touch touch = {.what = &block_at(a)->content, .block = block_at(a)};
    assert_true(spw_read_check_pass_on_locked(&op, &touch));
    assert_int_equal(touch.since.state, SPW_READ_CHECK_PENDING);
    const unsigned held = spw_digests_held_locked(device);
    spw_version_raise_locked(&block_at(a)->content);
    assert_int_equal(spw_digests_held_locked(device), held);
    spw_read_check_forget_locked(&touch.since);
    assert_int_equal(spw_digests_held_locked(device), held - 2);
    spw_unlock();
}

/* It is as it was again when that is made sure of, and was not when it was read. */
static void what_is_changed_while_something_is_made_of_it_is_found(void **state)
{
    CUdeviceptr before = make_of(input, BYTES);
    look_at(input, true);
    CUdeviceptr a = make_of(input, BYTES);
    look_and_leave(input, VALUE, NULL);
    let_go(a);
    assert_false(is_dropped(a));
    let_go(before);
    assert_false(is_dropped(before));
    assert_int_equal(spw_read_check_counts.refuted_count, 1);
    const unsigned char changed = CHANGED;
    expect(a, fake_mixed(&changed, 1, SALT));
    expect(before, right_value());
}

/* What made it would change it again. */
static void what_is_changed_by_its_reader_and_back_is_found(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    struct spw_recorded_op *maker = block_at(a)->content.maker;
    maker->order = 7;
    look_and_leave(input, 0, maker);
    look_and_leave(input, CHANGED, maker); /* which is given it twice */
    assert_int_equal(spw_read_check_counts.checked_count, 0);
    look_and_leave(input, VALUE, NULL);
    assert_int_equal(spw_read_check_counts.checked_count, 1);
    let_go(a);
    assert_false(is_dropped(a));
    assert_int_equal(spw_read_check_counts.refuted_count, 1);
}

/* One digest between two launches that may change it is enough, and none where nothing is made of what they leave. */
static void what_is_only_looked_at_is_hashed_where_it_matters(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    look_at(input, false);
    assert_int_equal(spw_read_check_counts.checked_count, 0);
    CUdeviceptr b = make_of(input, BYTES), c = make_of(input, BYTES);
    assert_int_equal(spw_read_check_counts.checked_count, 1);
    look_at(input, false);
    look_at(input, false);
    assert_int_equal(spw_read_check_counts.checked_count, 1);
    const CUdeviceptr all[] = {a, b, c};
    for (int i = 0; i < 3; i++) {
        let_go(all[i]);
        assert_true(is_dropped(all[i]));
    }
    assert_int_equal(spw_read_check_counts.checked_count, 2);
    assert_int_equal(spw_read_check_counts.shown_count, 1);
    spw_lock();
    assert_int_equal(spw_digests_held_locked(device), 1); /* the first */
    spw_unlock();
}

/* What was written then need not have a new version. */
static void what_was_hashed_in_another_epoch_says_nothing(void **state)
{
    (void)make_of(input, BYTES);
    look_at(input, false);
    assert_int_equal(spw_versions_break(), 0);
    spw_lock();
    fake_fill(s, input, BYTES, VALUE + 1);
    spw_unlock();
    look_at(input, false); /* nobody relies on it now */
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    assert_int_equal(spw_read_check_counts.based_count, 2);
    let_go(a);
    assert_true(is_dropped(a));
    assert_int_equal(spw_read_check_counts.refuted_count, 0);
}

/* Its stream may be gone by the time that it is wanted. */
static void the_first_digest_is_told_without_being_asked_about(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    fake_run_all();
    spw_lock();
    const uint32_t ticket = versioned_at(input)->unchanged.base;
    struct spw_hash hash;
    assert_int_equal(spw_digest_answer_locked(device, ticket, &hash), 1);
    spw_unlock();
    let_go(a);
    assert_true(is_dropped(a));
}

/* The program has another stream, which has read the input. */
static void make_another_stream(void)
{
    assert_int_equal(spw_driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    assert_int_equal(expect_on(t, input, BYTES, VALUE), 0);
}

/* In a stream of its own, which nothing but the engine orders behind the second digest, the last that was submitted. */
static void write_elsewhere(CUdeviceptr a, size_t bytes, CUstream digests)
{
    assert_int_equal(versioned_at(a)->unchanged.state, SPW_READ_CHECK_PENDING);
    assert_int_equal(fill_on(t, a, bytes, CHANGED), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_int_equal(fake_left(digests), 0);
}

/* Of the first as well: the launch in whose stream it is may have to do with another part. */
static void who_writes_comes_behind_the_first_digest(void **state)
{
    (void)make_of(input, BYTES);
    make_another_stream();
    look_at(input, false);
    assert_int_equal(versioned_at(input)->unchanged.state, SPW_READ_CHECK_OPEN);
    assert_int_equal(fill_on(t, input, BYTES, CHANGED), 0);
    assert_int_equal(spw_driver.cuStreamSynchronize(t), CUDA_SUCCESS);
    assert_int_equal(fake_left(s), 0);
}

static void who_writes_comes_behind_a_digest_in_the_stream_that_used_it(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    drop(a);
    write_elsewhere(input, BYTES, s);
}

static void who_writes_comes_behind_a_digest_among_the_copies_out(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    make_another_stream();
    look_at(input, false);
    drop(a);
    write_elsewhere(input, BYTES, device->mover->out->handle);
}

static void who_writes_comes_behind_a_digest_of_a_small_allocation(void **state)
{
    CUdeviceptr small = allocate(SLOT_BYTES);
    make_another_stream();
    leave(input); /* something moves */
    assert_int_equal(fill_on(s, small, SLOT_BYTES, VALUE), 0);
    CUdeviceptr a = make_of(small, BYTES);
    look_at(small, false);
    drop(a);
    write_elsewhere(small, SLOT_BYTES, s);
}

static void nothing_is_left(void **state)
{
    CUdeviceptr a = make_of(input, BYTES);
    look_at(input, false);
    spw_lock();
    assert_int_equal(spw_digests_held_locked(device), 1);
    spw_version_raise_locked(versioned_at(input));
    assert_int_equal(spw_digests_held_locked(device), 0);
    spw_unlock();
    give_back(a, s, false);
}

#define TEST(f) cmocka_unit_test_setup(f, begin_looking)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_as_it_was_is_shown_and_nothing_is_copied),
        TEST(what_is_made_of_something_that_was_changed_is_copied),
        TEST(what_was_changed_itself_is_copied_as_it_is),
        TEST(one_changed_word_of_a_large_tensor_is_seen),
        TEST(what_matters_to_nobody_is_not_hashed),
        TEST(what_the_launch_writes_anyway_is_not_hashed),
        TEST(what_leaves_still_waits_for_its_own_uses),
        TEST(what_is_touched_meanwhile_is_asked_about_again),
        TEST(idle_ghosts_are_left_alone),
        TEST(what_is_written_again_passes_its_digests_on),
        TEST(what_is_changed_while_something_is_made_of_it_is_found),
        TEST(what_is_changed_by_its_reader_and_back_is_found),
        TEST(what_is_only_looked_at_is_hashed_where_it_matters),
        TEST(what_was_hashed_in_another_epoch_says_nothing),
        TEST(the_first_digest_is_told_without_being_asked_about),
        TEST(who_writes_comes_behind_the_first_digest),
        TEST(who_writes_comes_behind_a_digest_in_the_stream_that_used_it),
        TEST(who_writes_comes_behind_a_digest_among_the_copies_out),
        TEST(who_writes_comes_behind_a_digest_of_a_small_allocation),
        TEST(nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
