/* test-verify.c - replays that turn wrong after they were right: nothing wrong is ever used, and what cannot be had right
 * any more is refused with an error that says so. */
/* promise: never-silently-wrong */
#include "replayed.h"
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "detect/iteration.h"
#include "digest.h"
#include "layout.h"
#include "log.h"
#include "recorded_op.h"
#include "result.h"
#include "spot_checks.h"
#include "call_args.h"
#include "verify.h"
#include "verify_records.h"

enum { OPERATIONS = 8, VALUE = 9, SALT = 3, EVERY = 4, MOST = 3 * EVERY, MADE = 64 };

static const CUfunction one = (CUfunction)(uintptr_t)0x110, another = (CUfunction)(uintptr_t)0x120;
static CUdeviceptr input;
static uint32_t number; /* that launches are given */
static bool leaves_out; /* no address of what they read is among it */
static unsigned made;
static uint64_t course;
static char log_path[64];

static CUresult no_name(const char **name, CUfunction f)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

static int begin_watch(void **state)
{
    (void)state;
    begin_replays(64 * BYTES, 16 << 20);
    spw_verify_reset();
    spw_driver.cuFuncGetName = no_name;
    struct spw_settings settings = *spw_settings_get();
    settings.verify_every = EVERY;
    spw_settings_use(&settings);
    snprintf(log_path, sizeof(log_path), "/tmp/test-verify-%d.log", (int)getpid());
    spw_log_setup(SPW_LOG_WARN, log_path);
    spw_lock();
    course = spw_verify_record_follow_locked(device->ordinal, 1, OPERATIONS);
    spw_unlock();
    assert_true(course > 0);
    input = allocate(BYTES);
    fill(input, VALUE);
    number = made = 0;
    leaves_out = false;
    return 0;
}

static int end_watch(void **state)
{
    (void)state;
    spw_log_setup(SPW_LOG_QUIET, NULL);
    unlink(log_path);
    return 0;
}

/* How often this stands in the log. */
static unsigned said(const char *text)
{
    static char all[1 << 16];
    FILE *f = fopen(log_path, "r");
    const size_t n = f ? fread(all, 1, sizeof(all) - 1, f) : 0;
    unsigned times = 0;
    all[n] = 0;
    if (f)
        fclose(f);
    for (const char *at = all; (at = strstr(at, text)); at++)
        times++;
    return times;
}

static unsigned char right_value(void)
{
    const unsigned char value = VALUE;
    return fake_mixed(&value, 1, SALT);
}

/* As if it was a launch of the function with these two addresses, and a number. */
static struct spw_kept_call_args *told(CUfunction function, CUdeviceptr from, CUdeviceptr to, uint32_t number)
{
    static max_align_t room[MADE][1024 / sizeof(max_align_t)];
    static const uint16_t words[] = {0, 1};
    static const struct spw_param params[] = {{0, 8}, {8, 8}, {16, 4}};
    static const struct spw_layout layout = {
        .known = true, .param_count = 3, .word_count = 2, .image_bytes = 20, .words = words, .params = params};
    void *values[] = {&from, &to, &number};
    struct spw_call_args submission = {.kind = SPW_SUBMIT_LAUNCH};
    submission.launch.function = function;
    submission.launch.layout = &layout;
    submission.launch.params = values;
    assert_true(spw_call_args_bytes(&submission) <= sizeof(room[0]));
    return spw_call_args_keep(&submission, room[made++ % MADE]);
}

/* Operation number n of the plan, of that function, makes a tensor. */
static CUdeviceptr make(uint32_t n, CUfunction function)
{
    CUdeviceptr a[] = {input, allocate(BYTES)};
    assert_int_equal(mix_on(s, a, 1, 1, SALT), 0);
    struct spw_recorded_op *maker = block_at(a[1])->content.maker;
    assert_non_null(maker);
    maker->course = course;
    maker->operation = n;
    maker->function = function;
    maker->submission = told(function, leaves_out ? 0 : a[0], a[1], number);
    return a[1];
}

static void let_go(CUdeviceptr a)
{
    drop(a);
    for (int i = 0; i < 3; i++) {
        let_run();
        pump();
    }
    assert_true(attention(a) & SPW_DROPPED);
}

static bool is_watched(CUdeviceptr a)
{
    return block_at(a)->check != NULL;
}

/* Until a tensor of operation n that was dropped is not compared when it is made again: it is the caller's, still dropped.
 */
static CUdeviceptr drop_unwatched(uint32_t n, CUfunction function)
{
    for (unsigned i = 0; i < MOST; i++) {
        CUdeviceptr a = make(n, function);
        let_go(a);
        if (!is_watched(a))
            return a;
        expect(a, right_value());
        give_back(a, s, false);
    }
    fail_msg("each one is compared");
    return 0;
}

static void refused(CUdeviceptr a)
{
    const unsigned runs = fake_counts()->mixes;
    const int r = expect_on(s, a, BYTES, right_value());
    assert_true(r < 0);
    assert_int_equal(spw_cuda(r), CUDA_ERROR_ILLEGAL_STATE);
    assert_int_equal(spw_cuda(fill_on(t, a, BYTES, 1)), CUDA_ERROR_ILLEGAL_STATE); /* it may write a part of it only */
    assert_int_equal(fake_counts()->mixes, runs);                                  /* nothing was launched for it */
}

/* There are true bytes to go back to: of the first of its operation, and where each one is compared. */
static bool has_copy(CUdeviceptr a)
{
    return block_at(a)->has_true_copy;
}

/* The next one of operation n that is compared is made wrong: nobody gets what was made. Answers how many were lost by it.
 */
static unsigned turn_wrong(uint32_t n, CUfunction function)
{
    const uint64_t before = spw_verified.mismatch_count;
    unsigned lost = 0;
    for (unsigned i = 0; i < MOST && spw_verified.mismatch_count == before; i++) {
        CUdeviceptr a = make(n, function);
        let_go(a);
        spoils = is_watched(a);
        lost = spoils && !has_copy(a);
        if (lost)
            assert_int_equal(expect_on(s, a, BYTES, right_value()), -ESTALE);
        else
            expect(a, right_value());
        spoils = 0;
        if (lost)
            refused(a);
        give_back(a, s, false);
    }
    assert_int_equal(spw_verified.mismatch_count, before + 1);
    return lost;
}

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

/* Of operation 1. */
static unsigned times_watched(uint32_t first_number, uint32_t second_number)
{
    unsigned times = 0;
    for (unsigned i = 0; i < MOST; i++) {
        number = i % 2 ? second_number : first_number;
        CUdeviceptr a = make(1, one);
        let_go(a);
        times += is_watched(a);
        expect(a, right_value());
        give_back(a, s, false);
    }
    number = 0;
    return times;
}

/* Nobody was given its numbers: the others are what they were. Each is compared from then on where its numbers are not what
 * they were when it was compared, even if they were right in another. */
static void an_operation_that_is_wrong_by_its_numbers_condemns_itself_alone(void **state)
{
    CUdeviceptr kept = drop_unwatched(1, one);
    number = 7;
    spoils = 1;
    CUdeviceptr wrong = make(2, one);
    let_go(wrong);
    assert_true(is_watched(wrong));
    expect(wrong, right_value());
    spoils = 0;
    number = 0;
    assert_int_equal(spw_verified.mismatch_count, 1);
    assert_int_equal(spw_verified.lost_count, 0);
    expect(kept, right_value());
    assert_int_equal(times_watched(0, 0), MOST / EVERY);
    number = 1;
    CUdeviceptr other = make(3, one);
    let_go(other);
    expect(other, right_value());
    number = 1;
    CUdeviceptr again = make(1, one);
    let_go(again);
    assert_true(is_watched(again) && has_copy(again));
    expect(again, right_value());
    assert_int_equal(times_watched(1, 0), MOST / EVERY);
    assert_int_equal(times_watched(2, 3), 2 + (MOST - 2) / EVERY); /* two of these are new to it */
}

/* With the same numbers that were right in another it is not by those. */
static void an_operation_that_is_wrong_with_numbers_that_were_right_condemns_its_function(void **state)
{
    CUdeviceptr lost = drop_unwatched(1, one);
    assert_int_equal(turn_wrong(2, one), 0);
    assert_int_equal(spw_verified.lost_count, 1);
    refused(lost);
}

static bool is_dropped(uint32_t n)
{
    CUdeviceptr a = make(n, one);
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

/* From one step to the next a number is another one, as when a kernel begins to accumulate. */
static void what_is_given_other_numbers_than_were_right_is_not_run_again(void **state)
{
    assert_true(is_dropped(1));
    assert_true(is_dropped(1));
    number = 1;
    assert_false(is_dropped(1));
    number = 0;
    assert_true(is_dropped(1));
    assert_int_equal(spw_verified.mismatch_count, 0);
}

/* Sizes do, and so do offsets of random numbers, from one layer to the next. */
static void numbers_that_differ_where_all_is_right_may_differ(void **state)
{
    assert_true(is_dropped(1));
    number = 1;
    assert_true(is_dropped(2)); /* the first of its operation, and compared */
    number = 2;
    assert_true(is_dropped(1));
    assert_true(is_dropped(2));
}

/* As a bias is, in some layers. What they were right with says nothing of the others. */
static void launches_that_leave_out_an_address_are_held_against_their_own_sort(void **state)
{
    assert_true(is_dropped(1));
    leaves_out = true;
    assert_true(is_dropped(2)); /* the first of its operation, and compared */
    assert_true(is_dropped(2));
    number = 1;
    assert_true(is_dropped(3));
    leaves_out = false;
    assert_false(is_dropped(1));
    leaves_out = true;
    assert_true(is_dropped(2));
    assert_int_equal(spw_verified.mismatch_count, 0);
}

/* ---- by digests alone ---- */

/* The next one of operation 1 that is compared without a copy: dropped, and the caller's. */
static CUdeviceptr drop_by_digest(void)
{
    for (unsigned i = 0; i < MOST; i++) {
        CUdeviceptr a = make(1, one);
        let_go(a);
        if (is_watched(a) && !has_copy(a))
            return a;
        expect(a, right_value());
        give_back(a, s, false);
    }
    fail_msg("none is compared without a copy");
    return 0;
}

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

/* The numbers say that nothing may be relied on. */
static void what_is_given_other_numbers_is_compared_with_a_copy(void **state)
{
    CUdeviceptr kept = drop_unwatched(1, one);
    number = 7;
    spoils = 1;
    CUdeviceptr wrong = make(2, one);
    let_go(wrong);
    expect(wrong, right_value());
    spoils = 0;
    number = 1;
    CUdeviceptr other = make(3, one);
    let_go(other);
    expect(other, right_value());
    for (number = 1; number < 2 * EVERY; number++) {
        CUdeviceptr a = make(1, one);
        let_go(a);
        assert_true(is_watched(a) && has_copy(a));
        expect(a, right_value());
        give_back(a, s, false);
    }
    expect(kept, right_value());
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
        spw_spot_check_next_round_locked();
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
        spw_spot_check_next_round_locked();
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
        spw_spot_check_next_round_locked();
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
        TEST(what_was_never_compared_and_cannot_be_made_is_refused),
        TEST(what_depends_on_lost_bytes_is_refused_as_well),
        TEST(other_operations_of_a_wrong_function_are_lost_as_well),
        TEST(what_has_true_bytes_of_a_wrong_function_keeps_them),
        TEST(an_operation_that_is_wrong_by_its_numbers_condemns_itself_alone),
        TEST(an_operation_that_is_wrong_with_numbers_that_were_right_condemns_its_function),
        TEST(what_is_given_other_numbers_than_were_right_is_not_run_again),
        TEST(numbers_that_differ_where_all_is_right_may_differ),
        TEST(launches_that_leave_out_an_address_are_held_against_their_own_sort),
        TEST(what_was_right_once_is_compared_without_a_copy),
        TEST(what_is_given_other_numbers_is_compared_with_a_copy),
        TEST(where_each_is_compared_each_has_a_copy),
        TEST(where_no_digest_is_to_be_had_it_is_not_compared),
        TEST(wrong_bytes_that_cannot_be_unmapped_are_used_by_nobody),
        TEST(without_an_answer_what_was_made_is_taken),
        TEST(what_is_not_compared_is_sampled),
        TEST(a_difference_is_told_in_place_of_the_end_of_a_wait),
        TEST(what_is_not_dropped_after_all_needs_no_second_sample),
        TEST(without_a_sample_what_was_made_is_taken),
        TEST(tensors_of_a_size_have_the_same_pages_in_an_iteration_and_others_in_the_next),
        TEST(what_lies_behind_the_end_of_a_tensor_is_left_alone),
        TEST(what_is_left_undefined_is_no_difference),
        TEST(what_stays_before_it_is_gone_is_not_compared),
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
