/* test-probe.c - launches that are looked at and tried, on the fake device: what is found out is true, and the program finds
 * everything as its own launch left it, whatever the launch does when it runs again and whichever call fails. */
#include "tried.h"

#include "hostpool.h"

/* ---- the program ---- */

static uint64_t written_by(enum kernel k)
{
    spw_lock();
    const uint64_t changed = class_of(k)->changed;
    spw_unlock();
    return changed;
}

/* ---- what is true ---- */

static void each_kind_of_kernel_is_found_out(void **state)
{
    static const enum spw_replay_verdict verdicts[KERNELS] = {[PLAIN] = SPW_REPLAYABLE,
                                                              [COUNTS] = SPW_REPLAYABLE,
                                                              [IN_PLACE] = SPW_REPLAYABLE,
                                                              [VARIES] = SPW_REPLAY_DIFFERS,
                                                              [REMEMBERS] = SPW_REPLAY_HIDDEN_STATE,
                                                              [OVERSTEPS] = SPW_REPLAY_HIDDEN_STATE};
    learn(~0u);
    for (enum kernel k = 0; k < KERNELS; k++) {
        assert_int_equal(verdict_of(k), verdicts[k]);
        assert_int_equal(written_by(k), k == COUNTS ? 1 << OUT | 1 << SLOT : 1 << OUT);
    }
    const struct spw_probe_counts counts = spw_probe_counts_of(probe);
    assert_true(counts.looks >= KERNELS && counts.trials >= KERNELS);
    assert_int_equal(counts.failures, 0);
}

/* It may follow an address there, and would write to where that leads once more. */
static void what_variables_may_hold_addresses_before_is_not_tried(void **state)
{
    const enum spw_saved_state states[] = {SPW_SAVED_ADDRESSES, SPW_SAVED_UNKNOWN, SPW_SAVED_SEARCHED /* no ticket */};
    for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++) {
        held = (struct spw_saved_variables){.device = device, .state = states[i]};
        learn(1 << PLAIN);
        assert_int_equal(verdict_of(PLAIN), SPW_REPLAY_NOT_TRIED);
        assert_int_equal(spw_probe_counts_of(probe).trials, 0);
        assert_true(spw_probe_counts_of(probe).looks > 0);
    }
    held = (struct spw_saved_variables){0};
}

static const struct spw_launch_class *slot_place(enum kernel k)
{
    return spw_launch_class_of_place_locked(function_of(k), SLOT);
}

static void what_is_behind_a_doubted_place_is_looked_at_and_says_nothing_of_the_rest(void **state)
{
    doubtful = 1;
    learn(1 << PLAIN | 1 << COUNTS);
    for (enum kernel k = PLAIN; k <= COUNTS; k++) {
        assert_int_equal(class_of(k)->count, HITS - 1);
        assert_int_equal(written_by(k), 1 << OUT);
        assert_false(spw_launch_class_writes(class_of(k), IN));
    }
    assert_true(spw_launch_class_is_spared(slot_place(PLAIN)));
    assert_false(spw_launch_class_is_spared(slot_place(COUNTS)));
    assert_int_equal(slot_place(COUNTS)->changed, 1);
}

/* The address that is there by chance is that of the output: that changes in any case. */
static void what_is_written_otherwise_says_nothing_of_a_doubted_place(void **state)
{
    doubtful = 1;
    of[PLAIN].hits[SLOT] = of[PLAIN].hits[OUT];
    for (unsigned number = 0; !next_iteration(); number++) {
        assert_true(number < ROUNDS);
        put(of[PLAIN].hits[IN], BYTES, (unsigned char)(3 + number), &of[PLAIN].holds[IN]);
        assert_int_equal(launch(PLAIN), CUDA_SUCCESS);
        let_run();
    }
    assert_int_equal(written_by(PLAIN), 1 << OUT);
    assert_int_equal(slot_place(PLAIN)->seen[0], 0);
    assert_int_equal(slot_place(PLAIN)->changed, 0);
}

static void nothing_is_left_behind(void **state)
{
    const uint64_t live = device->live_bytes;
    learn(~0u);
    assert_int_equal(spw_digests_held_locked(device), 0);
    assert_int_equal(device->live_bytes, live);
    const struct fake_counts before = *fake_counts();
    iterate(ROUNDS, ~0u); /* what is known is not looked at again */
    assert_int_equal(fake_counts()->hashes, before.hashes);
    assert_int_equal(fake_counts()->copies_within, before.copies_within);
}

/* A probe copies what has a content to its place, and back for each run and at the end, and what the launch left; and takes
 * a hash behind each; all on the program's stream. */
static void a_trial_costs_what_is_said_of_it(void **state)
{
    learn(1 << PLAIN);
    const struct spw_probe_counts counts = spw_probe_counts_of(probe);
    const unsigned before = (unsigned)counts.trials * HITS * (1 + 2), after = (unsigned)counts.trials * HITS * 2;
    assert_int_equal(submits, 2 * counts.trials);
    assert_int_equal(fake_counts()->copies_within, before + after);
    assert_int_equal(fake_counts()->hashes, HITS * (2 * counts.looks + 3 * counts.trials));
}

static CUresult typed_name(const char **name, CUfunction f)
{
    *name = "_Z6kernelPfPKfPfj"; /* output, input, small one, padding */
    return CUDA_SUCCESS;
}

static void what_a_kernel_only_reads_by_its_type_is_not_put_aside(void **state)
{
    spw_driver.cuFuncGetName = typed_name;
    learn(1 << PLAIN | 1 << IN_PLACE);
    const unsigned trials = (unsigned)spw_probe_counts_of(probe).trials;
    assert_true(trials > 0);
    assert_int_equal(fake_counts()->copies_within, trials * 2 * (1 + 2 + 2)); /* of output and small one */
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
}

/* Where memory is short, an event is recorded every few operations. */
static void mark(void)
{
    spw_lock();
    assert_int_equal(spw_stream_mark_locked(spw_stream_of_locked(s)), 0);
    spw_unlock();
    let_run();
}

/* What relied on it that nothing was is not good any more. */
static void a_write_through_a_place_that_was_spared_raises_the_version(void **state)
{
    struct spw_launch_class *place = spw_launch_class_of_place_locked(function_of(COUNTS), SLOT);
    doubtful = 1;
    for (int i = 0; i < SPW_CLASS_SURE; i++)
        (void)spw_launch_class_observed_locked(place, 0, 1);
    assert_true(spw_launch_class_is_spared(place));
    assert_false(next_iteration());
    assert_int_equal(launch(COUNTS), CUDA_SUCCESS);
    mark();
    const struct spw_versioned *slot = spw_versioned_at_locked(of[COUNTS].hits[SLOT], NULL);
    const struct spw_versioned *in = spw_versioned_at_locked(of[COUNTS].hits[IN], NULL);
    const uint64_t slot_was = slot->version, in_was = in->version;
    assert_false(next_iteration());
    assert_false(spw_launch_class_is_spared(place));
    assert_true(slot->version > slot_was);
    assert_int_equal(in->version, in_was);
}

/* The second look need not wait for another iteration, nor memory lie aside while there are only looks. */
static void answers_are_read_as_soon_as_another_launch_of_the_kind_comes(void **state)
{
    const uint64_t before = spw_reclaim_unmovable_bytes_locked(device);
    unsigned number = 0;
    assert_false(next_iteration());
    for (; number < 3; mark())
        iterate(number++, 1 << PLAIN);
    assert_int_equal(spw_probe_counts_of(probe).looks, 2);
    assert_int_equal(spw_probe_counts_of(probe).trials, 0);
    assert_int_equal(spw_reclaim_unmovable_bytes_locked(device), before);
    assert_false(next_iteration());
    assert_true(spw_reclaim_unmovable_bytes_locked(device) > before);
    for (; number < 6; mark())
        iterate(number++, 1 << PLAIN);
    assert_int_equal(spw_probe_counts_of(probe).trials, 2);
    assert_true(next_iteration()); /* that is all */
    assert_int_equal(spw_reclaim_unmovable_bytes_locked(device), before);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
}

/* A fifth of the budget is allowed for it, less than what launches touch. */
static void begin_without_scratch(void)
{
    static struct spw_course_op op = {.touch_count = 1};
    static struct spw_course_touch touch = {.tensor = 0};
    static struct spw_course_tensor tensor;
    static struct spw_course_call call = {.function = 1, .hit_count = HITS};
    static const struct spw_course course = {.ops = &op,
                                             .touches = &touch,
                                             .tensors = &tensor,
                                             .calls = &call,
                                             .op_count = 1,
                                             .tensor_count = 1,
                                             .touch_count = 1};
    const uint64_t budget = device->handles.budget_bytes, granule = (uint64_t)1 << device->granule_shift;
    tensor.bytes = granule + 1;
    assert_true(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes =
        spw_reclaim_unmovable_bytes_locked(device) + 2 * granule + SPW_DIGEST_SLOTS * sizeof(struct spw_hash);
    assert_true(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes--;
    assert_false(spw_scratch_leaves_room_locked(device, &course));
    device->handles.budget_bytes = 5 * BYTES;
    spw_lock();
    spw_probe_begin(probe, &course, 1e6);
    spw_unlock();
    device->handles.budget_bytes = budget;
}

static void without_room_for_scratch_and_host_memory_it_is_too_large(void **state)
{
    (void)end_trials(NULL);
    host_budget = SPW_PROBE_SNAPSHOT_HOST_SHARE * BYTES;
    (void)begin_trials(NULL);
    host_budget = HOST;
    begin_without_scratch();
    learn(1 << PLAIN);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAY_TOO_LARGE);
    assert_int_equal(submits, 0);
}

/* What is put aside goes to the host then, once no smaller launch of the class has come in a whole iteration. */
static void without_room_for_scratch_memory_the_host_serves(void **state)
{
    begin_without_scratch();
    unsigned number = 0;
    while (!next_iteration())
        iterate(number++, 1 << PLAIN | 1 << IN_PLACE | 1 << VARIES);
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(VARIES), SPW_REPLAY_DIFFERS);
}

static int scratch_goes; /* while another thread is at it */

static void want_scratch(void)
{
    spw_lock();
    scratch_goes = spw_probe_give_up_scratch_locked(probe);
    spw_unlock();
}

static void scratch_memory_that_a_trial_uses_goes_behind_it(void **state)
{
    for (unsigned number = 0; spw_probe_counts_of(probe).trials == 0; number++) {
        assert_true(number < ROUNDS);
        assert_false(next_iteration());
        meanwhile = want_scratch;
        iterate(number, 1 << PLAIN);
    }
    meanwhile = NULL;
    assert_int_equal(scratch_goes, -EAGAIN);
    want_scratch();
    assert_int_equal(scratch_goes, 1);
}

static size_t host_bytes(void)
{
    spw_lock();
    const struct spw_hostpool *pool = spw_host_memory_pool_locked();
    const size_t bytes = pool ? spw_hostpool_bytes_in_use(pool) : 0;
    spw_unlock();
    return bytes;
}

static int host_memory_goes(void)
{
    spw_lock();
    const int goes = spw_probe_give_up_host_memory_locked(probe);
    spw_unlock();
    return goes;
}

/* Until the next iteration nobody else would take it back. */
static void host_memory_of_a_trial_goes_once_the_device_is_done_with_it(void **state)
{
    begin_without_scratch();
    for (unsigned number = 0; !host_bytes(); number++) {
        let_run();
        assert_true(number < ROUNDS);
        assert_false(next_iteration());
        put(of[PLAIN].hits[IN], BYTES, (unsigned char)(3 + number), &of[PLAIN].holds[IN]);
        assert_int_equal(launch(PLAIN), CUDA_SUCCESS);
    }
    assert_int_equal(host_memory_goes(), -EAGAIN); /* it runs still */
    let_run();
    assert_int_equal(host_memory_goes(), 1);
    assert_int_equal(host_memory_goes(), 0);
    assert_int_equal(host_bytes(), 0);
}

/* Each iteration has an operation that needs all there is, between PLAIN and IN_PLACE. */
static void scratch_memory_that_goes_each_time_serves_those_before_it(void **state)
{
    unsigned number = 0;
    while (!next_iteration()) {
        assert_true(number < ROUNDS);
        iterate(number, 1 << PLAIN);
        spw_lock();
        (void)spw_probe_give_up_scratch_locked(probe);
        assert_int_equal(spw_probe_give_up_scratch_locked(probe), 0);
        spw_unlock();
        iterate(number++, 1 << IN_PLACE);
    }
    assert_int_equal(verdict_of(PLAIN), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(IN_PLACE), SPW_REPLAY_NOT_TRIED);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_trials, end_trials)
    const struct CMUnitTest tests[] = {
        TEST(each_kind_of_kernel_is_found_out),
        TEST(what_variables_may_hold_addresses_before_is_not_tried),
        TEST(what_is_behind_a_doubted_place_is_looked_at_and_says_nothing_of_the_rest),
        TEST(what_is_written_otherwise_says_nothing_of_a_doubted_place),
        TEST(a_write_through_a_place_that_was_spared_raises_the_version),
        TEST(nothing_is_left_behind),
        TEST(a_trial_costs_what_is_said_of_it),
        TEST(what_a_kernel_only_reads_by_its_type_is_not_put_aside),
        TEST(answers_are_read_as_soon_as_another_launch_of_the_kind_comes),
        TEST(without_room_for_scratch_and_host_memory_it_is_too_large),
        TEST(without_room_for_scratch_memory_the_host_serves),
        TEST(scratch_memory_that_a_trial_uses_goes_behind_it),
        TEST(host_memory_of_a_trial_goes_once_the_device_is_done_with_it),
        TEST(scratch_memory_that_goes_each_time_serves_those_before_it),
    };
    fake_eager(argc > 1);
    return cmocka_run_group_tests_name("trial", tests, NULL, NULL);
}
