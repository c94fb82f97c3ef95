/* test-probe-failures.c - trials that fail cost a trial, and leave the program's bytes as they were. */
#include "tried.h"

/* ---- what fails ---- */

static void a_launch_that_the_driver_refused_is_not_tried(void **state)
{
    for (unsigned good = 0; good < 6; good++) {
        for (unsigned i = 0; i < good && !next_iteration(); i++)
            iterate(i, 1 << COUNTS);
        const unsigned before = submits;
        refused = true;
        for (unsigned i = 0; i < 4 && !next_iteration(); i++) {
            assert_int_equal(launch(COUNTS), CUDA_ERROR_LAUNCH_FAILED);
            expect_all(COUNTS);
            let_run();
        }
        refused = false;
        assert_int_equal(submits, before);
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
}

/* Each replay of each probe in turn. */
static void a_replay_that_is_refused_leaves_all_as_it_was(void **state)
{
    for (unsigned n = 1; n <= 3; n++) {
        refuse_submits = submits + n;
        learn(1 << COUNTS | 1 << IN_PLACE);
        assert_true(spw_probe_counts_of(probe).failures > 0);
        assert_int_equal(verdict_of(COUNTS), SPW_REPLAYABLE); /* the next attempt tells */
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
}

/* Every driver call that learning makes fails once. The program's launches are right all the same, what is said of kernels
 * is right or nothing, and nothing is held. */
static void a_call_that_fails_once_costs_an_answer_at_most(void **state)
{
    static const char *const names[] = {"cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2",
                                        "cuMemCreate",          "cuMemMap",        "cuMemSetAccess", "cuEventRecord",
                                        "cuEventCreate",        "cuMemAlloc_v2",   "cuMemHostAlloc", "cuModuleLoadData"};
    static const unsigned kernels = 1 << COUNTS | 1 << IN_PLACE; /* the first few calls are made in each probe */
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (unsigned n = 1; n <= (i < EVERY_TIME ? 40 : 8); n++) {
            fake_fail(names[i], n, CUDA_ERROR_OUT_OF_MEMORY, false);
            learn(kernels);
            fake_fail("", 0, CUDA_SUCCESS, false);
            assert_true(verdict_of(COUNTS) == SPW_REPLAYABLE || verdict_of(COUNTS) == SPW_REPLAY_NOT_TRIED);
            assert_true(verdict_of(IN_PLACE) == SPW_REPLAYABLE || verdict_of(IN_PLACE) == SPW_REPLAY_NOT_TRIED);
            assert_int_equal(spw_digests_held_locked(device), 0);
            check_blocks();
            (void)end_trials(NULL);
            (void)begin_trials(NULL);
        }
}

/* From the n-th copy on none is taken: everything is as the launch left it, or the program is told that it failed. */
static void what_cannot_be_put_back_is_told_to_the_program(void **state)
{
    unsigned told = 0;
    for (unsigned n = 1; n <= 30; n++) {
        CUresult r = CUDA_SUCCESS;
        fake_fail("cuMemcpyDtoDAsync_v2", n, CUDA_ERROR_OUT_OF_MEMORY, true);
        for (unsigned i = 0; i < ROUNDS && r == CUDA_SUCCESS && !next_iteration(); i++) {
            put(of[COUNTS].hits[IN], BYTES, (unsigned char)(3 + i), &of[COUNTS].holds[IN]);
            r = launch(COUNTS);
            if (r == CUDA_SUCCESS)
                expect_all(COUNTS);
            let_run();
        }
        told += r != CUDA_SUCCESS;
        assert_true(r == CUDA_SUCCESS || r == CUDA_ERROR_LAUNCH_FAILED);
        assert_int_equal(spw_digests_held_locked(device), 0);
        (void)end_trials(NULL);
        (void)begin_trials(NULL);
    }
    assert_true(told > 5);
}

static void without_digests_nothing_is_learned_and_nothing_is_broken(void **state)
{
    fake_fail("cuModuleLoadData", 1, CUDA_ERROR_NOT_SUPPORTED, true);
    for (unsigned i = 0; i < 30 && !next_iteration(); i++)
        iterate(i, ~0u);
    assert_int_equal(submits, 0);
    for (enum kernel k = 0; k < KERNELS; k++)
        assert_int_equal(verdict_of(k), SPW_REPLAY_NOT_TRIED);
}

/* It ends in the middle: answers may still be awaited. */
static void learning_that_ends_early_gives_everything_back(void **state)
{
    const uint64_t live = device->live_bytes;
    for (unsigned rounds = 1; rounds <= 4; rounds++) {
        for (unsigned i = 0; i < rounds; i++) {
            (void)next_iteration();
            put(of[COUNTS].hits[IN], BYTES, (unsigned char)(3 + i), &of[COUNTS].holds[IN]);
            assert_int_equal(launch(COUNTS), CUDA_SUCCESS);
            expect_all(COUNTS);
        }
        pthread_mutex_lock(&device->slow);
        spw_lock();
        spw_probe_end(probe);
        assert_int_equal(device->live_bytes, live);
        spw_probe_destroy(probe);
        assert_int_equal(spw_digests_held_locked(device), 0);
        probe = spw_probe_create(device);
        spw_unlock();
        pthread_mutex_unlock(&device->slow);
        assert_non_null(probe);
        begin_learning();
        let_run();
    }
}

/* Once it is pinned, a graph or whoever else knows the address may write it, and nobody counts that. */
static void what_is_pinned_is_not_taken_for_undefined(void **state)
{
    static const unsigned pinned[] = {IN, SLOT};
    for (unsigned i = 0; i < 2; i++) {
        CUdeviceptr *a = &of[PLAIN].hits[pinned[i]];
        *a = allocate(bytes_of(pinned[i])); /* nobody has written it */
        spw_pin_address(*a, "this is a test");
        put(*a, bytes_of(pinned[i]), 77, &of[PLAIN].holds[pinned[i]]);
    }
    learn(1 << PLAIN);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
}

static void end_learning(void)
{
    pthread_mutex_lock(&device->slow);
    spw_lock();
    spw_probe_end(probe);
    spw_unlock();
    pthread_mutex_unlock(&device->slow);
}

/* What the launch is to be shown again lies in scratch memory, which somebody else may be given then. */
static void learning_that_another_thread_ends_during_a_launch_ends_behind_it(void **state)
{
    const uint64_t live = device->live_bytes;
    meanwhile = end_learning;
    for (unsigned round = 0; !next_iteration(); round++) {
        assert_true(round < ROUNDS);
        iterate(round, 1 << IN_PLACE);
        spw_lock();
        assert_int_equal(device->live_bytes, live);
        spw_unlock();
    }
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
}

static void go_into_the_driver(void)
{
    spw_lock();
    atomic_fetch_add(&spw_stream_of_locked(s)->in_call, 1);
    spw_unlock();
}

static void come_out_of_the_driver(void)
{
    spw_lock();
    atomic_fetch_sub(&spw_stream_of_locked(s)->in_call, 1);
    spw_unlock();
}

/* Where another thread submits to the stream just then, its writes could come between those of a trial, and be undone. */
static void nothing_is_tried_while_another_thread_is_about_to_submit_to_the_stream(void **state)
{
    const unsigned before = submits;
    for (unsigned round = 0; round < 8 && !next_iteration(); round++) {
        put(of[IN_PLACE].hits[IN], BYTES, (unsigned char)(3 + round), &of[IN_PLACE].holds[IN]);
        meanwhile = go_into_the_driver;
        assert_int_equal(launch(IN_PLACE), CUDA_SUCCESS);
        come_out_of_the_driver();
        expect_all(IN_PLACE);
        let_run();
    }
    assert_int_equal(submits, before);
    meanwhile = NULL;
    (void)end_trials(NULL);
    (void)begin_trials(NULL);
    learn(1 << IN_PLACE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_trials, end_trials)
    const struct CMUnitTest tests[] = {
        TEST(a_launch_that_the_driver_refused_is_not_tried),
        TEST(a_replay_that_is_refused_leaves_all_as_it_was),
        TEST(a_call_that_fails_once_costs_an_answer_at_most),
        TEST(what_cannot_be_put_back_is_told_to_the_program),
        TEST(without_digests_nothing_is_learned_and_nothing_is_broken),
        TEST(learning_that_ends_early_gives_everything_back),
        TEST(learning_that_another_thread_ends_during_a_launch_ends_behind_it),
        TEST(what_is_pinned_is_not_taken_for_undefined),
        TEST(nothing_is_tried_while_another_thread_is_about_to_submit_to_the_stream),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
