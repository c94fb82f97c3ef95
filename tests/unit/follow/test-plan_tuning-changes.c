/* test-plan_tuning-changes.c - plans are made again where the link changes, or more is known of the course. */
#include "tuned.h"

/* ---- a link that changes ---- */

/* Copies that take so many times as long are measured whenever they are doubted, and a step takes `before_us` by the plan
 * that was in force, `after_us` by others. The number of plans that were made. */
static uint64_t go_on(struct spw_tuned_iteration *shape, int rounds, double times, double before_us, double after_us)
{
    const uint64_t plans = spw_plan_stats[0].plans;
    const struct spw_course_plan *before = shape->plan;
    for (int i = 0; i < rounds; i++) {
        assert_true(iterate(shape, shape->number, shape->plan == before ? before_us : after_us));
        if (spw_bandwidth_in_doubt_locked(0))
            learn_bandwidth(times);
    }
    return spw_plan_stats[0].plans - plans;
}

static struct spw_tuned_iteration *settled_where_on_demand_takes(double on_demand_us, double *ret_us)
{
    const struct spw_course_plan *plans[TRIALS];
    struct spw_tuned_iteration *shape = planned_within(3, 50 * MIB, on_demand_us);
    const double us[TRIALS] = {shape->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(shape, us, plans), 1);
    *ret_us = us[0];
    return shape;
}

static struct spw_tuned_iteration *settled_at_bound(double *ret_us)
{
    return settled_where_on_demand_takes(12000000, ret_us);
}

static void where_copies_have_become_slower_another_plan_is_made_and_stays_if_it_is_faster(void **state)
{
    double us;
    struct spw_tuned_iteration *shape = settled_at_bound(&us);
    const struct spw_course_plan *before = shape->plan;
    assert_int_equal(go_on(shape, 40, 6, us, us), 0);
    const double was = before->h2d_bytes_per_us;
    assert_true(go_on(shape, 60, 6, us * 1.1, us * 1.05) >= 1);
    assert_true(is_settled(shape) && shape->plan != before);
    assert_true(fabs(shape->plan->h2d_bytes_per_us - was / 2) < was / 50);
    assert_true(fabs(shape->best_us - us * 1.05) < 1);
    spw_tuned_iterations_finish(&shapes);
}

static void a_plan_that_is_no_faster_on_the_slower_link_is_given_up_and_not_made_again(void **state)
{
    double us;
    struct spw_tuned_iteration *shape = settled_at_bound(&us);
    const struct spw_course_plan *before = shape->plan;
    assert_true(go_on(shape, 60, 6, us * 1.1, us * 1.2) >= 1);
    assert_ptr_equal(shape->plan, before);
    assert_true(is_settled(shape));
    assert_int_equal(go_on(shape, 100, 6, us * 1.13, us), 0); /* copies are doubted, and go as they did then */
    assert_ptr_equal(shape->plan, before);
    spw_tuned_iterations_finish(&shapes);
}

static void what_steps_took_on_demand_on_the_faster_link_says_nothing_about_a_plan_for_the_slower(void **state)
{
    double us;
    const double predicted_us = settled_at_bound(&us)->plan->predicted_us;
    spw_tuned_iterations_finish(&shapes);
    struct spw_tuned_iteration *shape = settled_where_on_demand_takes(predicted_us * 1.01, &us);
    assert_true(go_on(shape, 60, 6, predicted_us * 1.1, predicted_us * 1.05) >= 1);
    assert_true(is_settled(shape) && shape->number > 0);
    assert_true(fabs(shape->best_us - predicted_us * 1.05) < 1);
    spw_tuned_iterations_finish(&shapes);
}

static void steps_that_change_while_the_link_does_not_are_not_planned_anew(void **state)
{
    double us;
    struct spw_tuned_iteration *shape = settled_at_bound(&us);
    assert_int_equal(go_on(shape, 200, 3, us * 1.1, us), 0);
    assert_int_equal(go_on(shape, 20, 3, us, us), 0);
    spw_tuned_iterations_finish(&shapes);
}

/* ---- once more is known ---- */

/* Of a shape that settled at *ret_us by copies alone. */
static struct spw_tuned_iteration *learned(bool may_replay, double *ret_us)
{
    const struct spw_course_plan *plans[TRIALS];
    struct spw_tuned_iteration *shape = planned_within(3, 50 * MIB, 120000);
    const double us[TRIALS] = {shape->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(shape, us, plans), 1);
    assert_int_equal(shape->plan->replay_count, 0);
    for (uint32_t i = 0; i < LAYERS; i++)
        shape->course->ops[i].replayable = true;
    shape->plan->marks.believes = false;
    assert_false(spw_tuning_wants_versions(shape));
    spw_tuning_learned(shape, may_replay);
    assert_int_equal(spw_tuning_wants_versions(shape), may_replay); /* the next plan may */
    assert_true(is_settled(shape));                                 /* until the next iteration */
    assert_true(iterate(shape, shape->number, us[0]));
    assert_false(is_settled(shape));
    *ret_us = us[0];
    return shape;
}

static void what_a_course_has_learned_is_planned_with_and_tried(void **state)
{
    double us;
    struct spw_tuned_iteration *shape = learned(true, &us);
    const struct spw_course_plan *plan = shape->plan, *before = shape->best;
    assert_true(plan->replay_count > 0 && plan->predicted_us < before->predicted_us);
    assert_int_equal(before->replay_count, 0);
    assert_true(spw_tuning_wants_versions(shape));
    for (int i = 0; i < 40 && !is_settled(shape); i++)
        assert_true(iterate(shape, shape->number, shape->plan == plan ? us / 2 : us));
    assert_true(is_settled(shape));
    assert_ptr_equal(shape->plan, plan);
    assert_true(fabs(shape->best_us - us / 2) < 1);
    for (int i = 0; i < 40; i++)
        assert_true(iterate(shape, shape->number, us / 2));
    spw_tuned_iterations_finish(&shapes);
}

static void replays_that_turn_out_slower_are_given_up_again(void **state)
{
    double us;
    struct spw_tuned_iteration *shape = learned(true, &us);
    const struct spw_course_plan *before = shape->best;
    assert_true(shape->plan->replay_count > 0);
    for (int i = 0; i < 40 && !is_settled(shape); i++)
        assert_true(spw_tuning_wants_versions(shape) && iterate(shape, shape->number, us * 1.1));
    assert_true(is_settled(shape));
    assert_ptr_equal(shape->plan, before);
    for (int believes = 0; believes < 2; believes++) {
        shape->plan->marks.believes = believes;
        assert_int_equal(spw_tuning_wants_versions(shape), believes);
    }
    spw_tuned_iterations_finish(&shapes);
}

static void nothing_is_replayed_where_that_is_not_allowed(void **state)
{
    double us;
    const struct spw_tuned_iteration *shape = learned(false, &us);
    assert_int_equal(shape->plan->replay_count, 0);
    spw_tuned_iterations_finish(&shapes);
}

/* ---- on a thread ---- */

static void a_better_plan_is_taken_when_it_is_there(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL);
    spw_tuning_plan(loop.device, shape);
    assert_int_equal(shape->number, 1);
    assert_true(shape->plan->is_quick);
    const double quick_us = shape->plan->predicted_us;
    for (int i = 0; i < 10000 && shape->planning; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(spw_tuning_improve(loop.device, shape, true));
    }
    assert_null(shape->planning);
    assert_false(shape->plan->is_quick);
    assert_true(shape->plan->predicted_us <= quick_us);
    spw_tuned_iterations_finish(&shapes);
}

/* Another attempt is for iterations that have no plan for lack of memory, not for want of one that is faster than on demand.
 */
static void where_on_demand_is_faster_a_lack_of_memory_before_that_is_no_reason_to_plan_anew(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL);
    on_demand(shape, 70000);
    lacks_memory_once = true;
    spw_tuning_plan(loop.device, shape);
    assert_true(shape->lacked_memory && shape->number == 0);
    for (int i = 0; i < 400 && !is_settled(shape); i++) {
        for (int k = 0; k < 10000 && shape->planning && !spw_plan_thread_is_done(shape->planning); k++)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        assert_true(iterate(shape, shape->number, 90000));
    }
    assert_true(is_settled(shape) && shape->number == 0);
    for (int i = 0; i < 40; i++) {
        assert_true(iterate(shape, 0, 70000));
        assert_null(shape->planning);
    }
    spw_tuned_iterations_finish(&shapes);
}

static void a_thread_ends_when_its_shape_is_forgotten_or_everything_stops(void **state)
{
    begin(50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL), *other = add(ID + 1, 2, NULL);
    spw_tuning_plan(loop.device, shape);
    spw_tuning_plan(loop.device, other);
    assert_non_null(shape->planning);
    spw_tuning_forget(shape);
    spw_tuned_iterations_stop(&shapes);
    assert_null(other->planning);
    spw_tuned_iterations_stop(&shapes);
    spw_tuned_iterations_finish(&shapes);
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
        cmocka_unit_test(nothing_is_replayed_where_that_is_not_allowed),
        cmocka_unit_test(a_better_plan_is_taken_when_it_is_there),
        cmocka_unit_test(where_on_demand_is_faster_a_lack_of_memory_before_that_is_no_reason_to_plan_anew),
        cmocka_unit_test(a_thread_ends_when_its_shape_is_forgotten_or_everything_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
