/* test-verify.c - replays that turn wrong after they were right: nothing wrong is ever used, and what cannot be had right
 * any more is refused with an error that says so. */
/* promise: never-silently-wrong */
#include "verified.h"

static void what_was_never_compared_and_cannot_be_made_is_refused(void **state)
{
    CUdeviceptr lost = drop_unwatched(1, one);
    assert_int_equal(turn_wrong(1, one), 1);
    assert_int_equal(spw_verified.lost_count, 2);
    assert_int_equal(spw_verified.repaired_count, 0);
    assert_int_equal(said("gives other results by now: whatever needs them is refused"), 2);
    assert_int_equal(said("gave other bytes than it had made"), 1);
    assert_int_equal(said("of which there is no copy"), 1);
    refused(lost);
    refused(lost); /* for good */
    assert_int_equal(said("is refused with error 401: what it touches cannot be made ready (bytes that were to be"), 1);
    CUdeviceptr other = allocate(BYTES);
    fill(other, 5);
    expect(other, 5);
    give_back(lost, s, false);
    let_run();
    sweep();
    check_needs();
}

/* What would have been made of it cannot be either. */
static void what_depends_on_lost_bytes_is_refused_as_well(void **state)
{
    CUdeviceptr a[2];
    for (unsigned i = 0; i < MOST; i++) {
        a[0] = make(1, one);
        a[1] = allocate(BYTES);
        assert_int_equal(mix_on(s, a, 1, 1, SALT), 0); /* of no plan: nobody compares it */
        let_go(a[0]);
        let_go(a[1]);
        if (!is_watched(a[0]))
            break;
        expect(a[0], right_value());
        give_back(a[1], s, false);
        give_back(a[0], s, false);
    }
    assert_false(is_watched(a[0]) || is_watched(a[1]));
    assert_int_equal(turn_wrong(1, one), 1);
    assert_int_equal(spw_verified.lost_count, 2);
    refused(a[1]);
    refused(a[0]);
    give_back(a[1], s, false);
    give_back(a[0], s, false);
    let_run();
    sweep();
    check_needs();
}

/* That they were right once says nothing of this time. */
static void other_operations_of_a_wrong_function_are_lost_as_well(void **state)
{
    CUdeviceptr compared = drop_unwatched(2, one), lost = drop_unwatched(1, one), innocent = drop_unwatched(3, another);
    assert_int_equal(turn_wrong(1, one), 1);
    assert_int_equal(spw_verified.lost_count, 3);
    expect(innocent, right_value());
    refused(compared);
    refused(lost);
    give_back(compared, s, false);
    give_back(lost, s, false);
    let_run();
    sweep();
    check_needs();
}

/* Nor is a tensor made that took a launch of it on the way. */
static void what_a_wrong_function_began_is_lost_as_well(void **state)
{
    CUdeviceptr a = make(5, one);
    chains = true;
    assert_int_equal(mix_on(s, (CUdeviceptr[]){a, a}, 1, 1, SALT), 0); /* of no plan, by no function that has a name */
    assert_non_null(block_at(a)->content.maker);
    assert_ptr_not_equal(block_at(a)->content.maker->function, one);
    let_go(a);
    (void)drop_unwatched(1, one);
    assert_int_equal(turn_wrong(1, one), 1);
    assert_int_equal(spw_verified.lost_count, 3);
    refused(a);
    CUdeviceptr other_one = make(5, one);
    assert_int_equal(mix_on(s, (CUdeviceptr[]){other_one, other_one}, 1, 1, SALT), 0);
    drop(other_one);
    let_run();
    assert_false(attention(other_one) & SPW_DROPPED);
    chains = false;
}

/* Where room is short, say: what it would have been made of is not needed for it any more. */
static void what_left_with_a_copy_is_taken_from_there_once_all_copies_are(void **state)
{
    CUdeviceptr unwatched = drop_unwatched(1, one), by_digest = drop_by_digest(), copied = make(2, one);
    let_go(copied);
    assert_true(has_copy(copied) && is_watched(copied));
    spw_lock();
    spw_verify_take_copies_locked(device);
    spw_unlock();
    assert_false(is_watched(copied) || attention(copied) & (SPW_DROPPED | SPW_UNVERIFIED));
    assert_true(attention(unwatched) & attention(by_digest) & SPW_DROPPED && is_watched(by_digest));
    const unsigned runs = fake_counts()->mixes;
    fill(input, VALUE + 1); /* rescues the others, which have nothing but their makers */
    assert_int_equal(fake_counts()->mixes, runs + 2);
    expect(copied, right_value());
    expect(unwatched, right_value());
    expect(by_digest, right_value());
    assert_int_equal(fake_counts()->mixes, runs + 2);
}

/* What left with a copy to be compared, and what has not gone yet, is there. */
static void what_has_true_bytes_of_a_wrong_function_keeps_them(void **state)
{
    CUdeviceptr compared = drop_unwatched(1, one), copied = make(2, one), wrong = make(3, one);
    let_go(copied);
    let_go(wrong);
    assert_true(is_watched(copied) && is_watched(wrong)); /* each the first of its operation */
    CUdeviceptr leaving = make(1, one);
    drop(leaving);
    assert_false(is_watched(leaving) || attention(leaving) & SPW_DROPPED);
    spoils = 1;
    expect(wrong, right_value());
    assert_int_equal(spw_verified.mismatch_count, 1);
    assert_int_equal(spw_verified.lost_count, 1); /* the first one alone */
    expect(copied, right_value());
    expect(leaving, right_value());
    refused(compared);
}

static bool is_dropped(uint32_t n, CUfunction function)
{
    CUdeviceptr a = make(n, function);
    drop(a);
    for (int i = 0; i < 3; i++) {
        let_run();
        pump();
    }
    const bool dropped = attention(a) & SPW_DROPPED;
    expect(a, right_value());
    give_back(a, s, false);
    return dropped;
}

/* Whether it was right before in another operation, or is wrong in the first that is compared. */
static void a_function_that_was_wrong_is_not_run_again_in_any_operation(void **state)
{
    CUdeviceptr lost = drop_unwatched(1, one);
    assert_int_equal(turn_wrong(2, one), 0);
    assert_int_equal(turn_wrong(4, another), 0);
    assert_int_equal(spw_verified.lost_count, 1);
    refused(lost);
    for (uint32_t n = 0; n < OPERATIONS; n++) {
        assert_false(is_dropped(n, one));
        assert_false(is_dropped(n, another));
    }
    assert_true(is_dropped(5, other));
}

/* ---- by digests alone ---- */

static void what_was_right_once_is_compared_without_a_copy(void **state)
{
    CUdeviceptr first = make(1, one);
    let_go(first);
    assert_true(is_watched(first) && has_copy(first));
    expect(first, right_value());
    const unsigned copies = fake_counts()->copies_out;
    const uint64_t equal = spw_verified.equal_count;
    CUdeviceptr a = drop_by_digest();
    expect(a, right_value());
    assert_int_equal(spw_verified.equal_count, equal + 1);
    assert_int_equal(fake_counts()->copies_out, copies);
    assert_false(is_watched(a));
    check_needs();
}

static void where_each_is_compared_each_has_a_copy(void **state)
{
    struct spw_settings settings = *spw_settings_get();
    settings.verify_every = 1;
    spw_settings_use(&settings);
    for (unsigned i = 0; i < 3; i++) {
        CUdeviceptr a = make(1, one);
        let_go(a);
        assert_true(is_watched(a) && has_copy(a));
        expect(a, right_value());
        give_back(a, s, false);
    }
    assert_int_equal(spw_verified.equal_count, 3);
}

/* It is as if it was not its turn. */
static void where_no_digest_is_to_be_had_it_is_not_compared(void **state)
{
    CUdeviceptr first = drop_unwatched(1, one);
    expect(first, right_value());
    const uint64_t equal = spw_verified.equal_count;
    fake_fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, true);
    for (unsigned i = 0; i < 2 * EVERY; i++) {
        CUdeviceptr a = make(1, one);
        let_go(a);
        assert_false(is_watched(a));
        expect(a, right_value());
        give_back(a, s, false);
    }
    fake_fail("cuLaunchKernel", 0, CUDA_SUCCESS, false);
    assert_int_equal(spw_verified.equal_count, equal);
    assert_int_equal(spw_verified.mismatch_count, 0);
    check_needs();
}

/* Its memory stays with it then, and what is in it is nobody's. */
static void wrong_bytes_that_cannot_be_unmapped_are_used_by_nobody(void **state)
{
    CUdeviceptr a = drop_by_digest();
    spoils = 1;
    fake_fail("cuMemUnmap", 1, CUDA_ERROR_UNKNOWN, true);
    assert_int_equal(expect_on(s, a, BYTES, right_value()), -ESTALE);
    spoils = 0;
    assert_int_equal(spw_verified.lost_count, 1);
    assert_true(attention(a) & SPW_DROPPED && block_at(a)->memory.count);
    refused(a);
    fake_fail("cuMemUnmap", 0, CUDA_SUCCESS, false);
    refused(a);
    check_needs();
}

/* What the answers are is not known: it is what it would be if nobody had asked. */
static void without_an_answer_what_was_made_is_taken(void **state)
{
    CUdeviceptr a = drop_by_digest();
    fake_fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, true);
    expect(a, right_value());
    fake_fail("cuLaunchKernel", 0, CUDA_SUCCESS, false);
    assert_int_equal(spw_verified.unanswered_count, 1);
    assert_int_equal(spw_verified.lost_count, 0);
    assert_false(is_watched(a));
    expect(a, right_value());
    check_needs();
}

/* The replay does not fit, as it takes its input and what it makes at once. The copy alone does, where the input goes. */
static void a_copy_comes_in_the_place_of_what_it_was_to_be_made_of(void **state)
{
    CUdeviceptr a = make(1, one);
    let_go(a);
    assert_true(has_copy(a));
    spw_lock();
    while (spw_phys_pool_room_locked(&device->handles) >= BYTES) {
        spw_unlock();
        CUdeviceptr stays = allocate(BYTES);
        fill(stays, 1);
        let_run();
        spw_pin_address(stays, "the test says so");
        spw_lock();
    }
    assert_false(block_at(input)->object.attention & SPW_ABSENT);
    spw_unlock();
    expect(a, right_value());
    assert_true(block_at(input)->object.attention & SPW_EVICTED);
    assert_int_equal(spw_verified.mismatch_count, 0);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_watch, end_watch)
    const struct CMUnitTest tests[] = {
        TEST(what_was_never_compared_and_cannot_be_made_is_refused),
        TEST(what_depends_on_lost_bytes_is_refused_as_well),
        TEST(other_operations_of_a_wrong_function_are_lost_as_well),
        TEST(what_a_wrong_function_began_is_lost_as_well),
        TEST(what_left_with_a_copy_is_taken_from_there_once_all_copies_are),
        TEST(what_has_true_bytes_of_a_wrong_function_keeps_them),
        TEST(a_function_that_was_wrong_is_not_run_again_in_any_operation),
        TEST(what_was_right_once_is_compared_without_a_copy),
        TEST(where_each_is_compared_each_has_a_copy),
        TEST(where_no_digest_is_to_be_had_it_is_not_compared),
        TEST(wrong_bytes_that_cannot_be_unmapped_are_used_by_nobody),
        TEST(without_an_answer_what_was_made_is_taken),
        TEST(a_copy_comes_in_the_place_of_what_it_was_to_be_made_of),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
