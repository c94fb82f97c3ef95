/* test-verify-samples.c - what is not compared with a digest is sampled, and what comparisons showed is kept with the
 * course. */
/* promise: never-silently-wrong */
#include "verified.h"

/* ---- samples ---- */

static CUresult after_a_wait(void)
{
    let_run();
    return spw_spot_check_after_wait(CUDA_SUCCESS);
}

static void what_is_not_compared_is_sampled(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one);
    const uint64_t asked = spw_spot_check_counts.asked_count, equal = spw_spot_check_counts.equal_count;
    expect(a, right_value());
    assert_int_equal(spw_spot_check_counts.asked_count, asked + 1);
    assert_true(atomic_load(&spw_spot_checks_pending));
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    assert_int_equal(spw_spot_check_counts.equal_count, equal + 1);
    assert_int_equal(
        spw_spot_check_counts.unknown_count + spw_spot_check_counts.explained_count + spw_spot_check_counts.failed_count, 0);
    assert_false(atomic_load(&spw_spot_checks_pending));
    assert_int_equal(spw_digests_held_locked(device), 0);
}

static void a_difference_is_told_in_place_of_the_end_of_a_wait(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one), b = allocate(BYTES);
    spoils = 1;
    assert_int_equal(mix_on(s, (CUdeviceptr[]){a, b}, 1, 1, SALT), 0);       /* something is made of it */
    assert_int_equal(spw_spot_check_after_wait(CUDA_SUCCESS), CUDA_SUCCESS); /* a wait for something before that */
    assert_int_equal(after_a_wait(), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(after_a_wait(), CUDA_ERROR_ILLEGAL_STATE); /* for good */
    assert_int_equal(spw_spot_check_after_wait(CUDA_ERROR_NOT_READY), CUDA_ERROR_NOT_READY);
    assert_int_equal(spw_spot_check_counts.failed_count, 1);
    assert_int_equal(said("no result reaches the host any more"), 1);
}

static void what_is_not_dropped_after_all_needs_no_second_sample(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one);
    expect(a, right_value());
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    give_back(a, s, false);
    CUdeviceptr b = make(1, one);
    const uint64_t asked = spw_spot_check_counts.asked_count;
    drop(b);
    assert_false(is_watched(b));
    assert_true(block_at(b)->spot);
    assert_int_equal(fill_on(t, b, BYTES, 5), 0); /* behind what hashes it */
    assert_false(block_at(b)->spot || attention(b) & SPW_ABSENT);
    expect(b, 5);
    assert_int_equal(spw_spot_check_counts.asked_count, asked);
    assert_int_equal(spw_digests_held_locked(device), 0);
}

/* Nothing is lost by it, and it is counted. */
static void without_a_sample_what_was_made_is_taken(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one);
    const uint64_t asked = spw_spot_check_counts.asked_count;
    fake_fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, true);
    expect(a, right_value());
    fake_fail("cuLaunchKernel", 0, CUDA_SUCCESS, false);
    assert_int_equal(spw_spot_check_counts.asked_count, asked);
    assert_int_equal(spw_spot_check_counts.unknown_count, 1);
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    assert_int_equal(spw_digests_held_locked(device), 0);
}

/* In whatever iteration. */
static void what_lies_behind_the_end_of_a_tensor_is_left_alone(void **state)
{
    enum { BEYOND = 2000, TENSORS = 256 };
    const size_t bytes = 40 * SPW_SAMPLE_PAGE - BEYOND;
    for (int i = 0; i < TENSORS; i++) {
        CUdeviceptr a = allocate(bytes);
        fake_fill(s, a + bytes, BEYOND, 1);
        spw_lock();
        spw_spot_check_next_iteration_locked();
        spw_spot_check_choose_locked(block_at(a));
        assert_int_equal(spw_spot_check_fill_locked(device, block_at(a), spw_stream_of_locked(s)), 0);
        spw_unlock();
        assert_int_equal(fake_expect(s, a + bytes, BEYOND, 1), CUDA_SUCCESS);
        let_run();
        give_back(a, s, false);
    }
}

static void fill_pages_of(CUdeviceptr a, size_t bytes)
{
    fake_fill(s, a, bytes, 0);
    spw_lock();
    spw_spot_check_choose_locked(block_at(a));
    assert_int_equal(spw_spot_check_fill_locked(device, block_at(a), spw_stream_of_locked(s)), 0);
    spw_unlock();
}

/* What is undefined in one of two, and spread to the other byte by byte, is the same in both; and no byte is left out for
 * good.
 */
static void tensors_of_a_size_have_the_same_pages_in_an_iteration_and_others_in_the_next(void **state)
{
    enum { PAGES = 32, ITERATIONS = 1000 };
    static unsigned char first[PAGES * SPW_SAMPLE_PAGE], second[sizeof first];
    unsigned times[PAGES] = {0};
    CUdeviceptr a = allocate(sizeof first), b = allocate(sizeof first);
    for (int i = 0; i < ITERATIONS; i++) {
        spw_lock();
        spw_spot_check_next_iteration_locked();
        spw_unlock();
        fill_pages_of(a, sizeof first);
        fill_pages_of(b, sizeof second);
        assert_int_equal(spw_driver.cuMemcpyDtoHAsync_v2(first, a, sizeof first, s), CUDA_SUCCESS);
        assert_int_equal(spw_driver.cuMemcpyDtoHAsync_v2(second, b, sizeof second, s), CUDA_SUCCESS);
        let_run();
        assert_memory_equal(first, second, sizeof first);
        for (unsigned page = 0; page < PAGES; page++)
            times[page] += first[page * SPW_SAMPLE_PAGE] == SPW_SAMPLE_PATTERN;
    }
    for (unsigned page = 0; page < PAGES; page++)
        assert_in_range(times[page], ITERATIONS / PAGES / 2, 2 * ITERATIONS / PAGES);
}

/* What makes it writes nothing: what was there before counts, which is filled alike both times. */
static void what_is_left_undefined_is_no_difference(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one);
    expect(a, right_value());
    give_back(a, s, false);
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    const uint64_t equal = spw_spot_check_counts.equal_count;
    CUdeviceptr b = make(1, one);
    spw_lock();
    assert_int_equal(spw_spot_check_fill_locked(device, block_at(b), spw_stream_of_locked(s)),
                     0); /* as before its own launch */
    spw_unlock();
    let_go(b);
    assert_false(is_watched(b));
    writes_nothing = true;
    expect(b, SPW_SAMPLE_PATTERN);
    writes_nothing = false;
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    assert_int_equal(spw_spot_check_counts.equal_count, equal + 1);
    /* From now on all of it is filled before its own launch, and a difference elsewhere is put down to this. */
    const struct spw_recorded_op of_one = {.course = course, .operation = 1};
    assert_true(spw_verify_record_of(device->ordinal, &of_one)->leaves_undefined);
    CUdeviceptr c = drop_unwatched(2, one);
    spoils = 1;
    assert_int_equal(mix_on(s, (CUdeviceptr[]){c, allocate(BYTES)}, 1, 1, SALT), 0);
    spoils = 0;
    assert_int_equal(after_a_wait(), CUDA_SUCCESS);
    assert_int_equal(spw_spot_check_counts.explained_count, 1);
    for (int i = 0; i < 2; i++) { /* until what was launched before that is gone */
        spw_lock();
        spw_spot_check_next_iteration_locked();
        spw_unlock();
    }
    CUdeviceptr e = drop_unwatched(2, one);
    spoils = 1;
    assert_int_equal(mix_on(s, (CUdeviceptr[]){e, allocate(BYTES)}, 1, 1, SALT), 0);
    spoils = 0;
    assert_int_equal(after_a_wait(), CUDA_ERROR_ILLEGAL_STATE);
}

static void what_stays_before_it_is_gone_is_not_compared(void **state)
{
    CUdeviceptr a = drop_by_digest();
    expect(a, right_value());
    give_back(a, s, false);
    const uint64_t equal = spw_verified.equal_count;
    CUdeviceptr b = 0;
    for (unsigned i = 0; i < MOST; i++) {
        b = make(1, one);
        drop(b);
        if (is_watched(b))
            break;
        give_back(b, s, false);
    }
    assert_true(is_watched(b) && !has_copy(b));
    assert_int_equal(fill_on(t, b, BYTES, 5), 0); /* on another stream: behind the digest, which reads it */
    assert_false(is_watched(b) || attention(b) & SPW_ABSENT);
    expect(b, 5);
    assert_int_equal(spw_verified.equal_count, equal);
    check_needs();
}

/* ---- courses ---- */

static uint64_t follow(uint64_t number)
{
    spw_lock();
    const uint64_t followed = spw_verify_record_follow_locked(device->ordinal, number, OPERATIONS);
    spw_unlock();
    assert_int_equal(followed, number);
    return followed;
}

/* An operation that has another form each time, as where sizes depend on data: the first ones are compared with a copy, and
 * each other one by digest, whatever was compared before. What has one form is compared now and then. */
static void each_form_of_an_operation_is_compared_for_itself(void **state)
{
    struct spw_recorded_op m = {.course = follow(1), .operation = 2, .form = 100};
    const struct spw_block b = {.content.maker = &m};
    spw_lock();
    for (unsigned i = 0; i < SPW_VERIFIED_FORMS + 3; i++) {
        m.form = 100 + 10 * i;
        m.compare = 0;
        assert_int_equal(spw_verify_due_locked(device, &b), i < SPW_VERIFIED_FORMS ? SPW_DUE_BY_COPY : SPW_DUE_BY_DIGEST);
        spw_verify_record_note_equal_locked(device->ordinal, &m);
        m.compare = 0;
        assert_int_equal(spw_verify_due_locked(device, &b), i < SPW_VERIFIED_FORMS ? SPW_DUE_NOT : SPW_DUE_BY_DIGEST);
    }
    spw_unlock();
}

/* Another plan for it, or an evaluation in between, changes nothing about what its operations were seen to make. */
static void what_was_compared_on_a_course_is_known_when_it_is_followed_again(void **state)
{
    expect(drop_unwatched(1, one), right_value());
    const uint64_t equal = spw_verified.equal_count;
    course = follow(1);
    CUdeviceptr a = make(1, one);
    let_go(a);
    assert_false(is_watched(a));
    expect(a, right_value());
    course = follow(2);
    CUdeviceptr other = make(1, one);
    let_go(other);
    assert_true(is_watched(other) && has_copy(other)); /* it is another operation */
    expect(other, right_value());
    course = follow(1);
    CUdeviceptr b = make(1, one);
    let_go(b);
    assert_false(is_watched(b));
    expect(b, right_value());
    assert_int_equal(spw_verified.equal_count, equal + 1);
}

static void the_course_that_was_followed_longest_ago_is_forgotten(void **state)
{
    expect(drop_unwatched(1, one), right_value());
    for (uint64_t i = 2; i <= SPW_ITERATION_SHAPES + 1; i++)
        (void)follow(i);
    CUdeviceptr a = make(1, one);
    let_go(a);
    assert_true(is_watched(a) && has_copy(a));
    expect(a, right_value());
}

/* From then on a tensor that its function made leaves with a copy that stays. */
static void a_function_that_was_wrong_is_not_run_again(void **state)
{
    (void)drop_unwatched(1, one);
    (void)turn_wrong(1, one);
    CUdeviceptr a = make(2, one), b = make(4, another);
    spoils = 1;
    drop(a);
    for (int i = 0; i < 3; i++) {
        let_run();
        pump();
    }
    assert_false(attention(a) & SPW_DROPPED);
    expect(a, right_value());
    spoils = 0;
    let_go(b);
    expect(b, right_value());
}

static int run_again_without_waiting(struct spw_device *d, struct spw_block *b)
{
    return spw_replay_operation_unlocking(d, b->content.maker, NULL, false);
}

/* If it stayed, nothing would be compared, and it would be copied the next time as well. */
static void what_is_wanted_before_its_copy_is_done_is_compared_all_the_same(void **state)
{
    CUdeviceptr a = make(1, one);
    drop(a);
    assert_true(is_watched(a));
    assert_int_equal(under_locks(run_again_without_waiting, a), -EAGAIN);
    assert_true(attention(a) & SPW_EVICTING);
    assert_true(is_watched(a));
    assert_int_equal(under_locks(run_again, a), 0);
    assert_int_equal(spw_verified.equal_count, 1);
    assert_false(is_watched(a));
    expect(a, right_value());
    give_back(a, s, false);
    spoils = 1; /* whoever is wrong is found out, too */
    CUdeviceptr b = make(2, one);
    drop(b);
    assert_int_equal(under_locks(run_again, b), 0);
    assert_int_equal(spw_verified.mismatch_count, 1);
    spoils = 0;
    expect(b, right_value());
    check_needs();
}

/* Its memory is what it had before, with the right bytes in it: nobody takes these for written now. */
static void what_is_left_unwritten_is_found_out(void **state)
{
    CUdeviceptr a = make(1, one);
    let_go(a);
    assert_true(is_watched(a));
    writes_nothing = true;
    expect(a, right_value());
    writes_nothing = false;
    assert_int_equal(spw_verified.equal_count, 0);
    assert_int_equal(spw_verified.undefined_count, 1);
    assert_int_equal(spw_verified.mismatch_count, 0);
    expect(a, right_value());
    give_back(a, s, false);
    CUdeviceptr b = make(1, one);
    block_at(b)->content.maker->is_defined = true; /* as it is from now on (kept_ops.c) */
    let_go(b);
    assert_true(is_watched(b));
    writes_nothing = true;
    expect(b, right_value());
    writes_nothing = false;
    assert_int_equal(spw_verified.undefined_count, 1);
    assert_int_equal(spw_verified.mismatch_count, 1);
    check_needs();
}

/* Nobody knows then whether what differs is undefined: it is wrong. */
static void a_difference_that_cannot_be_looked_into_is_a_mismatch(void **state)
{
    for (unsigned n = 3; n <= 6; n++) {
        (void)begin_watch(NULL);
        CUdeviceptr a = make(1, one);
        let_go(a);
        assert_true(is_watched(a));
        writes_nothing = true;
        fake_fail("cuLaunchKernel", n, CUDA_ERROR_OUT_OF_MEMORY, true);
        expect(a, right_value());
        fake_fail("", 0, CUDA_SUCCESS, false);
        writes_nothing = false;
        assert_int_equal(spw_verified.undefined_count, 0);
        assert_int_equal(spw_verified.mismatch_count, 1);
        (void)end_watch(NULL);
    }
    (void)begin_watch(NULL);
}

static CUresult refuse_set(CUdeviceptr a, unsigned char value, size_t bytes, CUstream stream)
{
    return CUDA_ERROR_INVALID_VALUE;
}

static void where_the_driver_does_not_set_memory_the_true_bytes_are_taken(void **state)
{
    CUdeviceptr a = make(1, one);
    let_go(a);
    assert_true(is_watched(a));
    spw_driver.cuMemsetD8Async = refuse_set; /* until the next test begins anew */
    expect(a, right_value());
    assert_int_equal(spw_verified.equal_count, 0);
    assert_int_equal(spw_verified.mismatch_count, 0);
    assert_int_equal(attention(a) & (SPW_ABSENT | SPW_UNVERIFIED), 0);
    check_needs();
}

/* What leaves without a copy stays where it is wanted before it is gone, as ever. */
static void what_is_not_compared_is_not_waited_for(void **state)
{
    CUdeviceptr a = drop_unwatched(1, one);
    expect(a, right_value());
    give_back(a, s, false);
    const uint64_t equal = spw_verified.equal_count;
    CUdeviceptr b = make(1, one);
    drop(b);
    assert_false(is_watched(b));
    assert_int_equal(under_locks(run_again_without_waiting, b), 0);
    assert_int_equal(attention(b) & SPW_EVICTING, 0);
    assert_int_equal(spw_verified.equal_count, equal);
    expect(b, right_value());
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_watch, end_watch)
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_compared_is_sampled),
        TEST(a_difference_is_told_in_place_of_the_end_of_a_wait),
        TEST(what_is_not_dropped_after_all_needs_no_second_sample),
        TEST(without_a_sample_what_was_made_is_taken),
        TEST(tensors_of_a_size_have_the_same_pages_in_an_iteration_and_others_in_the_next),
        TEST(what_lies_behind_the_end_of_a_tensor_is_left_alone),
        TEST(what_is_left_undefined_is_no_difference),
        TEST(what_stays_before_it_is_gone_is_not_compared),
        TEST(each_form_of_an_operation_is_compared_for_itself),
        TEST(what_was_compared_on_a_course_is_known_when_it_is_followed_again),
        TEST(the_course_that_was_followed_longest_ago_is_forgotten),
        TEST(a_function_that_was_wrong_is_not_run_again),
        TEST(what_is_wanted_before_its_copy_is_done_is_compared_all_the_same),
        TEST(what_is_not_compared_is_not_waited_for),
        TEST(what_is_left_unwritten_is_found_out),
        TEST(a_difference_that_cannot_be_looked_into_is_a_mismatch),
        TEST(where_the_driver_does_not_set_memory_the_true_bytes_are_taken),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
