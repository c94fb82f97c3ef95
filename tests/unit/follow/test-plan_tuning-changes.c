/* test-plan_tuning-changes.c - plans are made again where the link changes, or more is known of the course. */
#include "tuned.h"

/* ---- a link that changes ---- */

/* Copies that take so many times as long are measured whenever they are doubted, and a step takes `before_us` by the plan
 * that was in force, `after_us` by others. The number of plans that were made. */
static uint64_t go_on(struct spw_tuned_iteration *tuned, int rounds, double times, double before_us, double after_us)
{
    const uint64_t plans = spw_plan_stats[0].plans;
    const struct spw_course_plan *before = tuned->plan;
    for (int i = 0; i < rounds; i++) {
        assert_true(iterate(tuned, tuned->number, tuned->plan == before ? before_us : after_us));
        if (spw_bandwidth_in_doubt_locked(0))
            learn_bandwidth(times);
    }
    return spw_plan_stats[0].plans - plans;
}

static struct spw_tuned_iteration *settled_where_on_demand_takes(double on_demand_us, double *ret_us)
{
    const struct spw_course_plan *plans[TRIALS];
    struct spw_tuned_iteration *tuned = planned_within(3, 50 * MIB, on_demand_us);
    const double us[TRIALS] = {tuned->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(tuned, us, plans), 1);
    *ret_us = us[0];
    return tuned;
}

static struct spw_tuned_iteration *settled_at_bound(double *ret_us)
{
    return settled_where_on_demand_takes(12000000, ret_us);
}

static void where_copies_have_become_slower_another_plan_is_made_and_stays_if_it_is_faster(void **state)
{
    double us;
    struct spw_tuned_iteration *tuned = settled_at_bound(&us);
    const struct spw_course_plan *before = tuned->plan;
    assert_int_equal(go_on(tuned, 40, 6, us, us), 0);
    const double was = before->h2d_bytes_per_us;
    assert_true(go_on(tuned, 60, 6, us * 1.1, us * 1.05) >= 1);
    assert_true(is_settled(tuned) && tuned->plan != before);
    assert_true(fabs(tuned->plan->h2d_bytes_per_us - was / 2) < was / 50);
    assert_true(fabs(tuned->best_us - us * 1.05) < 1);
    spw_tuned_iterations_finish(&iterations);
}

static void a_plan_that_is_no_faster_on_the_slower_link_is_given_up_and_not_made_again(void **state)
{
    double us;
    struct spw_tuned_iteration *tuned = settled_at_bound(&us);
    const struct spw_course_plan *before = tuned->plan;
    assert_true(go_on(tuned, 60, 6, us * 1.1, us * 1.2) >= 1);
    assert_ptr_equal(tuned->plan, before);
    assert_true(is_settled(tuned));
    assert_int_equal(go_on(tuned, 100, 6, us * 1.13, us), 0); /* copies are doubted, and go as they did then */
    assert_ptr_equal(tuned->plan, before);
    spw_tuned_iterations_finish(&iterations);
}

static void what_steps_took_on_demand_on_the_faster_link_says_nothing_about_a_plan_for_the_slower(void **state)
{
    double us;
    const double predicted_us = settled_at_bound(&us)->plan->predicted_us;
    spw_tuned_iterations_finish(&iterations);
    struct spw_tuned_iteration *tuned = settled_where_on_demand_takes(predicted_us * 1.01, &us);
    assert_true(go_on(tuned, 60, 6, predicted_us * 1.1, predicted_us * 1.05) >= 1);
    assert_true(is_settled(tuned) && tuned->number > 0);
    assert_true(fabs(tuned->best_us - predicted_us * 1.05) < 1);
    spw_tuned_iterations_finish(&iterations);
}

static void steps_that_change_while_the_link_does_not_are_not_planned_anew(void **state)
{
    double us;
    struct spw_tuned_iteration *tuned = settled_at_bound(&us);
    assert_int_equal(go_on(tuned, 200, 3, us * 1.1, us), 0);
    assert_int_equal(go_on(tuned, 20, 3, us, us), 0);
    spw_tuned_iterations_finish(&iterations);
}

/* ---- once more is known ---- */

/* Of a shape that settled at *ret_us by copies alone. */
static struct spw_tuned_iteration *learned(bool may_replay, double *ret_us)
{
    const struct spw_course_plan *plans[TRIALS];
    struct spw_tuned_iteration *tuned = planned_within(3, 50 * MIB, 120000);
    const double us[TRIALS] = {tuned->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(tuned, us, plans), 1);
    assert_int_equal(tuned->plan->replay_count, 0);
    for (uint32_t i = 0; i < LAYERS; i++)
        tuned->course->ops[i].replayable = true;
    tuned->plan->marks.believes = false;
    assert_false(spw_tuning_wants_versions(tuned));
    spw_tuning_learned(tuned, may_replay);
    assert_int_equal(spw_tuning_wants_versions(tuned), may_replay); /* the next plan may */
    assert_true(is_settled(tuned));                                 /* until the next iteration */
    assert_true(iterate(tuned, tuned->number, us[0]));
    assert_false(is_settled(tuned));
    *ret_us = us[0];
    return tuned;
}

static void what_a_course_has_learned_is_planned_with_and_tried(void **state)
{
    double us;
    struct spw_tuned_iteration *tuned = learned(true, &us);
    const struct spw_course_plan *plan = tuned->plan, *before = tuned->best;
    assert_true(plan->replay_count > 0 && plan->predicted_us < before->predicted_us);
    assert_int_equal(before->replay_count, 0);
    assert_true(spw_tuning_wants_versions(tuned));
    for (int i = 0; i < 40 && !is_settled(tuned); i++)
        assert_true(iterate(tuned, tuned->number, tuned->plan == plan ? us / 2 : us));
    assert_true(is_settled(tuned));
    assert_ptr_equal(tuned->plan, plan);
    assert_true(fabs(tuned->best_us - us / 2) < 1);
    for (int i = 0; i < 40; i++)
        assert_true(iterate(tuned, tuned->number, us / 2));
    spw_tuned_iterations_finish(&iterations);
}

static void replays_that_turn_out_slower_are_given_up_again(void **state)
{
    double us;
    struct spw_tuned_iteration *tuned = learned(true, &us);
    const struct spw_course_plan *before = tuned->best;
    assert_true(tuned->plan->replay_count > 0);
    for (int i = 0; i < 40 && !is_settled(tuned); i++)
        assert_true(spw_tuning_wants_versions(tuned) && iterate(tuned, tuned->number, us * 1.1));
    assert_true(is_settled(tuned));
    assert_ptr_equal(tuned->plan, before);
    for (int believes = 0; believes < 2; believes++) {
        tuned->plan->marks.believes = believes;
        assert_int_equal(spw_tuning_wants_versions(tuned), believes);
    }
    spw_tuned_iterations_finish(&iterations);
}

/* Long before it would be judged, the first plan turns out as good as copies can be; the one with replays is slower. */
static void replays_are_held_against_a_first_plan_that_was_followed_for_a_while(void **state)
{
    struct spw_tuned_iteration *tuned = planned_within(3, 50 * MIB, 120000);
    const struct spw_course_plan *before = tuned->plan;
    const double us = tuned->plan->predicted_us;
    for (int i = 0; i < 12; i++)
        assert_true(iterate(tuned, tuned->number, i < 10 ? us : us * 3)); /* launches are tried in the last ones */
    assert_true(tuned->state == SPW_TUNING_FIRST && tuned->plan == before);
    for (uint32_t i = 0; i < LAYERS; i++)
        tuned->course->ops[i].replayable = true;
    spw_tuning_learned(tuned, true);
    assert_true(iterate(tuned, tuned->number, us * 3));
    assert_true(tuned->plan != before && tuned->plan->replay_count > 0);
    for (int i = 0; i < 40 && !is_settled(tuned); i++)
        assert_true(iterate(tuned, tuned->number, us * 1.2));
    assert_true(is_settled(tuned));
    assert_ptr_equal(tuned->plan, before);
    assert_true(fabs(tuned->best_us - us) < 1);
    spw_tuned_iterations_finish(&iterations);
}

static void nothing_is_replayed_where_that_is_not_allowed(void **state)
{
    double us;
    const struct spw_tuned_iteration *tuned = learned(false, &us);
    assert_int_equal(tuned->plan->replay_count, 0);
    spw_tuned_iterations_finish(&iterations);
}

/* ---- on a thread ---- */

static void a_better_plan_is_taken_when_it_is_there(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    spw_tuning_plan(loop.device, tuned);
    assert_int_equal(tuned->number, 1);
    assert_true(tuned->plan->is_quick);
    const double quick_us = tuned->plan->predicted_us;
    for (int i = 0; i < 10000 && tuned->planning; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(spw_tuning_improve(loop.device, tuned, true));
    }
    assert_null(tuned->planning);
    assert_false(tuned->plan->is_quick);
    assert_true(tuned->plan->predicted_us <= quick_us);
    spw_tuned_iterations_finish(&iterations);
}

/* To keep versions takes time on the device, and a plan that is not there makes no use of them. */
static void nobody_wants_versions_while_a_plan_with_replays_is_being_made(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    tuned->may_replay = true;
    spw_tuning_plan(loop.device, tuned);
    assert_non_null(tuned->planning);
    assert_int_equal(tuned->plan->recorded_count, 0);
    tuned->plan->marks.believes = false;
    assert_false(spw_tuning_wants_versions(tuned));
    spw_tuned_iterations_finish(&iterations);
}

/* Another attempt is for iterations that have no plan for lack of memory, not for want of one that is faster than on demand.
 */
static void where_on_demand_is_faster_a_lack_of_memory_before_that_is_no_reason_to_plan_anew(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    on_demand(tuned, 70000);
    lacks_memory_once = true;
    spw_tuning_plan(loop.device, tuned);
    assert_true(tuned->lacked_memory && tuned->number == 0);
    for (int i = 0; i < 400 && !is_settled(tuned); i++) {
        for (int k = 0; k < 10000 && tuned->planning && !spw_plan_thread_is_done(tuned->planning); k++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(iterate(tuned, tuned->number, 90000));
    }
    assert_true(is_settled(tuned) && tuned->number == 0);
    for (int i = 0; i < 40; i++) {
        assert_true(iterate(tuned, 0, 70000));
        assert_null(tuned->planning);
    }
    spw_tuned_iterations_finish(&iterations);
}

static void a_thread_ends_when_its_shape_is_forgotten_or_everything_stops(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL), *other = add(ID + 1, 2, NULL);
    spw_tuning_plan(loop.device, tuned);
    spw_tuning_plan(loop.device, other);
    assert_non_null(tuned->planning);
    spw_tuning_forget(tuned);
    spw_tuned_iterations_stop(&iterations);
    assert_null(other->planning);
    spw_tuned_iterations_stop(&iterations);
    spw_tuned_iterations_finish(&iterations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_copies_have_become_slower_another_plan_is_made_and_stays_if_it_is_faster),
        cmocka_unit_test(a_plan_that_is_no_faster_on_the_slower_link_is_given_up_and_not_made_again),
        cmocka_unit_test(what_steps_took_on_demand_on_the_faster_link_says_nothing_about_a_plan_for_the_slower),
        cmocka_unit_test(steps_that_change_while_the_link_does_not_are_not_planned_anew),
        cmocka_unit_test(what_a_course_has_learned_is_planned_with_and_tried),
        cmocka_unit_test(replays_that_turn_out_slower_are_given_up_again),
        cmocka_unit_test(replays_are_held_against_a_first_plan_that_was_followed_for_a_while),
        cmocka_unit_test(nothing_is_replayed_where_that_is_not_allowed),
        cmocka_unit_test(a_better_plan_is_taken_when_it_is_there),
        cmocka_unit_test(nobody_wants_versions_while_a_plan_with_replays_is_being_made),
        cmocka_unit_test(where_on_demand_is_faster_a_lack_of_memory_before_that_is_no_reason_to_plan_anew),
        cmocka_unit_test(a_thread_ends_when_its_shape_is_forgotten_or_everything_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
