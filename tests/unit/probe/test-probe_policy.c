/* test-probe_policy.c - what is learned of which launch: everything in the end, within the time that it may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "probe_policy.h"

#include "ledger.h"
#include "unlocked.h"

enum { KINDS = 256, TOO_LARGE = 99 };

static struct spw_device device;
static struct spw_probe_policy policy = {.device = &device};
static bool has_memory;
static struct spw_launch_class classes[KINDS];

#define F(n) (&classes[n])

static int begin(void **state)
{
    (void)state;
    has_memory = true;
    spw_launch_classes_reset();
    for (unsigned i = 0; i < KINDS; i++)
        classes[i] =
            (struct spw_launch_class){.function = (CUfunction)(uintptr_t)(0x1000 + 16 * i), .number = i + 1, .count = 3};
    return 0;
}

static int finish(void **state)
{
    (void)state;
    spw_probed_forget_locked(&device);
    return 0;
}

static enum spw_replay_verdict verdict_of(const struct spw_launch_class *class)
{
    return spw_probe_verdict_locked(class, &device);
}

/* What is known of the class. */
static struct spw_probed *of(const struct spw_launch_class *class)
{
    struct spw_probed *it = spw_probed_find(class, &device);
    assert_non_null(it);
    return it;
}

static enum spw_probe_step next(struct spw_launch_class *class, uint64_t geometry, double us)
{
    const struct spw_probe_launch told = {
        .class = class, .geometry = geometry, .us = us, .fits = geometry != TOO_LARGE, .has_memory = has_memory};
    return spw_probe_policy_next(&policy, &told);
}

/* One launch; answers at once. `verdict` is what a probe would say. */
static enum spw_probe_step launch(struct spw_launch_class *class, uint64_t geometry, double us, uint64_t written,
                                  enum spw_replay_verdict verdict)
{
    const enum spw_probe_step step = next(class, geometry, us);
    if (step == SPW_PROBE_OBSERVE) {
        class->changed |= written;
        spw_probe_class_observed(of(class));
    }
    if (step == SPW_PROBE_REPLAY)
        spw_probe_class_replayed(of(class), verdict);
    return step;
}

static void a_function_is_looked_at_twice_and_tried_twice_then_left_alone(void **state)
{
    (void)state;
    const enum spw_probe_step expected[] = {SPW_PROBE_OBSERVE, SPW_PROBE_OBSERVE, SPW_PROBE_REPLAY, SPW_PROBE_REPLAY,
                                            SPW_PROBE_NOTHING};
    spw_probe_policy_begin(&policy, 1000);
    assert_false(spw_probe_policy_iteration(&policy)); /* none has gone by yet */
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_NOT_TRIED);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(launch(F(0), 7 + i % 2, 1, 1u << i, SPW_REPLAYABLE), expected[i]);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
    assert_int_equal(verdict_of(F(1)), SPW_REPLAY_NOT_TRIED);
    assert_int_equal(verdict_of(NULL), SPW_REPLAY_NOT_TRIED);
    assert_true(spw_probe_policy_iteration(&policy)); /* nothing is left, which no further iteration has to show */
    assert_int_equal(launch(F(0), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    spw_probe_policy_begin(&policy, 1000); /* another shape: what is known stays */
    assert_false(spw_probe_policy_iteration(&policy));
    assert_int_equal(launch(F(0), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_true(spw_probe_policy_iteration(&policy));
}

static void what_writes_nothing_or_failed_is_not_tried(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    assert_int_equal(launch(F(1), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_OBSERVE);
    assert_int_equal(launch(F(1), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_OBSERVE);
    assert_int_equal(launch(F(1), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_false(spw_probe_policy_wants_probes(&policy));
    assert_int_equal(launch(F(2), 7, 1, 1, SPW_REPLAY_DIFFERS), SPW_PROBE_OBSERVE);
    assert_int_equal(launch(F(2), 7, 1, 1, SPW_REPLAY_DIFFERS), SPW_PROBE_OBSERVE);
    assert_true(spw_probe_policy_wants_probes(&policy));
    assert_int_equal(launch(F(2), 7, 1, 1, SPW_REPLAY_DIFFERS), SPW_PROBE_REPLAY);
    assert_int_equal(launch(F(2), 7, 1, 1, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_false(spw_probe_policy_wants_probes(&policy));
    assert_int_equal(verdict_of(F(2)), SPW_REPLAY_DIFFERS);
}

static void a_launch_that_is_too_large_leaves_it_to_others_of_its_kind(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    assert_false(spw_probe_policy_iteration(&policy));
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(launch(F(0), TOO_LARGE, 1, 1, SPW_REPLAYABLE), i < 2 ? SPW_PROBE_OBSERVE : SPW_PROBE_NOTHING);
        assert_int_equal(launch(F(1), TOO_LARGE, 1, 1, SPW_REPLAYABLE), i < 1 ? SPW_PROBE_OBSERVE : SPW_PROBE_NOTHING);
        assert_int_equal(launch(F(1), 5, 1, 1, SPW_REPLAYABLE), i < 1   ? SPW_PROBE_OBSERVE
                                                                : i < 3 ? SPW_PROBE_REPLAY
                                                                        : SPW_PROBE_NOTHING);
    }
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_TOO_LARGE); /* there are no others */
    assert_int_equal(verdict_of(F(1)), SPW_REPLAYABLE);
    assert_true(spw_probe_policy_iteration(&policy));
    spw_probe_policy_begin(&policy, 1000); /* in another iteration there are */
    assert_false(spw_probe_policy_iteration(&policy));
    assert_int_equal(launch(F(0), 5, 1, 1, SPW_REPLAYABLE), SPW_PROBE_REPLAY);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
}

static void the_second_trial_is_of_another_geometry_where_there_is_any(void **state)
{
    (void)state;
    const uint64_t geometries[] = {3, 4, 3, 3, 4, 4};
    const enum spw_probe_step expected[] = {SPW_PROBE_OBSERVE, SPW_PROBE_OBSERVE, SPW_PROBE_REPLAY,
                                            SPW_PROBE_NOTHING, SPW_PROBE_REPLAY,  SPW_PROBE_NOTHING};
    spw_probe_policy_begin(&policy, 1000);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(launch(F(0), geometries[i], 1, 1, SPW_REPLAYABLE), expected[i]);
}

/* Memory for probes is not asked for while others are only looked at, unless these take long; and nothing is tried, nor is
 * the learning at an end, before it is there. */
static void trials_come_last_and_wait_for_memory(void **state)
{
    (void)state;
    has_memory = false;
    spw_probe_policy_begin(&policy, 1000);
    assert_false(spw_probe_policy_iteration(&policy));
    for (unsigned k = 0; k < 2; k++)
        (void)launch(F(0), 7, 1, 1, SPW_REPLAYABLE);
    assert_int_equal(next(F(1), 7, 1), SPW_PROBE_OBSERVE);
    assert_false(spw_probe_policy_iteration(&policy));
    assert_false(spw_probe_policy_wants_probes(&policy));
    spw_probe_class_observed(of(F(1)));
    assert_int_equal(launch(F(0), 7, 1, 1, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_int_equal(launch(F(1), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_OBSERVE);
    assert_true(spw_probe_policy_wants_probes(&policy));
    assert_false(spw_probe_policy_iteration(&policy));
    assert_int_equal(launch(F(0), 7, 1, 1, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_true(policy.spent_us <= 0);
    assert_false(spw_probe_policy_iteration(&policy));
    has_memory = true;
    assert_int_equal(launch(F(0), 7, 1, 1, SPW_REPLAYABLE), SPW_PROBE_REPLAY);
    assert_int_equal(launch(F(2), 7, 1, 0, SPW_REPLAYABLE), SPW_PROBE_OBSERVE); /* who came late is waited for no longer */
    assert_true(spw_probe_policy_wants_probes(&policy));
}

static void one_pass_is_not_enough_where_the_next_one_fails(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    for (unsigned i = 0; i < 4; i++)
        (void)launch(F(0), i, 1, 1, i == 3 ? SPW_REPLAY_MISMATCH : SPW_REPLAYABLE);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_MISMATCH);
    (void)launch(F(3), 1, 1, 1, SPW_REPLAYABLE);
    (void)launch(F(3), 1, 1, 1, SPW_REPLAYABLE);
    (void)launch(F(3), 1, 1, 1, SPW_REPLAYABLE);
    assert_int_equal(verdict_of(F(3)), SPW_REPLAYABLE);
    assert_true(spw_probe_policy_wants_probes(&policy));
    spw_function_condemn_locked(F(3)->function);
    assert_false(spw_probe_policy_wants_probes(&policy));
    assert_int_equal(launch(F(3), 2, 1, 1, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_int_equal(verdict_of(F(3)), SPW_REPLAY_MISMATCH);
}

static void what_one_device_was_shown_says_nothing_of_another(void **state)
{
    static struct spw_device another;
    struct spw_probe_policy there = {.device = &another};
    struct spw_probe_launch told = {.class = F(0), .geometry = 7, .us = 1, .fits = true, .has_memory = true};
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    spw_probe_policy_begin(&there, 1000);
    for (unsigned i = 0; i < 3; i++)
        (void)launch(F(0), 7, 1, 1, SPW_REPLAYABLE);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
    assert_int_equal(spw_probe_verdict_locked(F(0), &another), SPW_REPLAY_NOT_TRIED);
    assert_int_equal(spw_probe_policy_next(&there, &told), SPW_PROBE_OBSERVE);
    assert_int_equal(of(F(0))->looks, 2);
    spw_probed_forget_locked(&device);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_NOT_TRIED);
    spw_probe_class_observed(spw_probed_find(F(0), &another));
    assert_int_equal(spw_probe_policy_next(&there, &told), SPW_PROBE_OBSERVE);
    spw_probed_forget_locked(&another);
    assert_null(F(0)->probed);
}

/* Iterations of `count` functions that take `us` each: how many until nothing is left, and what they cost at most. */
static unsigned learn(unsigned count, double us, double *ret_most_us, double *ret_all_us)
{
    unsigned rounds = 0;
    *ret_most_us = *ret_all_us = 0;
    spw_probe_policy_begin(&policy, count * us);
    assert_false(spw_probe_policy_iteration(&policy));
    do {
        for (unsigned i = 0; i < count; i++)
            (void)launch(F(i), 5, us, 1, SPW_REPLAYABLE);
        *ret_most_us = policy.spent_us > *ret_most_us ? policy.spent_us : *ret_most_us;
        *ret_all_us += policy.spent_us;
        assert_true(++rounds < 100);
    } while (!spw_probe_policy_iteration(&policy));
    return rounds;
}

static void learning_takes_no_more_than_it_may_in_one_iteration_and_in_all(void **state)
{
    (void)state;
    double most, all;
    (void)learn(200, 10, &most, &all);
    assert_true(most <= 1.5 * 2000 && all <= 2.5 * 2000 + 1.5 * 2000);
    assert_true(all > 2 * 2000);                              /* and as much as there is time for */
    assert_true(of(F(0))->tries > 0 && of(F(0))->looks == 1); /* not all of it is for looks */
    spw_probed_forget_locked(&device);
    (void)learn(1, 10, &most, &all); /* one that is more than the allowance of an iteration has its turn all the same */
    assert_int_equal(of(F(0))->looks, 1);
}

/* The host runs ahead: when an iteration ends, its answers are not there yet, and come with the end of the next one. */
static void answers_that_come_an_iteration_late_do_not_end_the_learning(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    assert_false(spw_probe_policy_iteration(&policy));
    for (unsigned k = 0; k < 4; k++) {
        assert_int_equal(next(F(0), 7, 1), k < 2 ? SPW_PROBE_OBSERVE : SPW_PROBE_REPLAY);
        assert_false(spw_probe_policy_iteration(&policy));
        assert_int_equal(next(F(0), 7, 1), SPW_PROBE_NOTHING);
        F(0)->changed |= 1;
        if (k < 2)
            spw_probe_class_observed(of(F(0)));
        else
            spw_probe_class_replayed(of(F(0)), SPW_REPLAYABLE);
        assert_int_equal(spw_probe_policy_iteration(&policy), k == 3); /* nothing was spent, yet there is more to learn */
    }
}

/* Between them come others, in which nothing is learned: what came before is known to come. */
static void iterations_that_come_one_at_a_time_are_learned_from_to_the_end(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    assert_false(spw_probe_policy_iteration(&policy));
    for (unsigned k = 0; k < 4; k++) {
        assert_int_equal(spw_probe_policy_wants_probes(&policy), k >= 2);
        assert_int_equal(launch(F(0), 7, 1, 1, SPW_REPLAYABLE), k < 2 ? SPW_PROBE_OBSERVE : SPW_PROBE_REPLAY);
        spw_probe_policy_go_on(&policy);
        assert_false(spw_probe_policy_iteration(&policy));
    }
    assert_true(spw_probe_policy_iteration(&policy));
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
}

static void a_probe_without_an_answer_is_given_up_after_a_while(void **state)
{
    (void)state;
    unsigned times = 0;
    spw_probe_policy_begin(&policy, 1e9);
    while (next(F(0), 1, 1) != SPW_PROBE_NOTHING) {
        assert_int_equal(next(F(0), 1, 1), SPW_PROBE_NOTHING); /* it is under way */
        assert_false(spw_probe_policy_iteration(&policy));
        spw_probe_class_missed(of(F(0)));
        assert_true(++times < 100);
    }
    assert_true(times > 1);
    assert_int_equal(of(F(0))->looks, 0);
    F(1)->count = 0;
    assert_int_equal(next(F(1), 1, 1), SPW_PROBE_NOTHING);
    assert_int_equal(next(NULL, 1, 1), SPW_PROBE_NOTHING);
}

static void a_launch_that_is_given_something_else_is_looked_at_and_one_that_writes_more_is_tried_anew(void **state)
{
    (void)state;
    spw_probe_policy_begin(&policy, 1000);
    (void)spw_probe_policy_iteration(&policy);
    for (unsigned k = 0; k < 5; k++)
        (void)launch(F(0), 7 + k % 2, 1, 1, SPW_REPLAYABLE);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
    F(0)->is_strange = true;
    assert_int_equal(launch(F(0), 7, 1, 1, SPW_REPLAYABLE), SPW_PROBE_OBSERVE);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAYABLE);
    assert_int_equal(next(F(0), 7, 1), SPW_PROBE_OBSERVE);
    spw_probe_class_widened(of(F(0)));
    spw_probe_class_observed(of(F(0)));
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_NOT_TRIED);
    F(0)->is_strange = false;
    assert_int_equal(launch(F(0), 8, 1, 3, SPW_REPLAY_DIFFERS), SPW_PROBE_REPLAY);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_DIFFERS);
    F(0)->is_strange = true; /* each time something else: that comes to an end */
    for (unsigned k = 0; k < 8; k++)
        (void)launch(F(0), 7, 1, 3, SPW_REPLAYABLE);
    assert_int_equal(launch(F(0), 7, 1, 3, SPW_REPLAYABLE), SPW_PROBE_NOTHING);
    assert_int_equal(verdict_of(F(0)), SPW_REPLAY_DIFFERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_function_is_looked_at_twice_and_tried_twice_then_left_alone, begin, finish),
        cmocka_unit_test_setup_teardown(what_writes_nothing_or_failed_is_not_tried, begin, finish),
        cmocka_unit_test_setup_teardown(
            a_launch_that_is_given_something_else_is_looked_at_and_one_that_writes_more_is_tried_anew, begin, finish),
        cmocka_unit_test_setup_teardown(a_launch_that_is_too_large_leaves_it_to_others_of_its_kind, begin, finish),
        cmocka_unit_test_setup_teardown(the_second_trial_is_of_another_geometry_where_there_is_any, begin, finish),
        cmocka_unit_test_setup_teardown(trials_come_last_and_wait_for_memory, begin, finish),
        cmocka_unit_test_setup_teardown(what_one_device_was_shown_says_nothing_of_another, begin, finish),
        cmocka_unit_test_setup_teardown(one_pass_is_not_enough_where_the_next_one_fails, begin, finish),
        cmocka_unit_test_setup_teardown(learning_takes_no_more_than_it_may_in_one_iteration_and_in_all, begin, finish),
        cmocka_unit_test_setup_teardown(answers_that_come_an_iteration_late_do_not_end_the_learning, begin, finish),
        cmocka_unit_test_setup_teardown(iterations_that_come_one_at_a_time_are_learned_from_to_the_end, begin, finish),
        cmocka_unit_test_setup_teardown(a_probe_without_an_answer_is_given_up_after_a_while, begin, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
