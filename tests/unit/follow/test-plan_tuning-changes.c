/* test-plan_tuning-changes.c - plans are made again where steps lag, the link changes, or more is known of the course. */
#include "tuned.h"

/* ---- steps that lag behind the prediction ---- */

/* Whether pieces of memory are to be regrouped since this was asked last. */
static bool regroups(void)
{
    const bool is_asked_for = loop.device->handles.demand.left > 0;
    loop.device->handles.demand.left = 0;
    return is_asked_for;
}

/* Iterations by the plan in force, that take so many times as long as it predicts: until pieces are regrouped, or another
 * plan is in force. How many. */
static unsigned iterate_until_regrouped(struct spw_tuned_iteration *shape, double times, bool *ret_regroups)
{
    const uint32_t number = shape->number;
    unsigned rounds = 0;
    *ret_regroups = false;
    while (shape->number == number && !is_settled(shape) && !*ret_regroups) {
        assert_true(iterate(shape, number, times * shape->plan->predicted_us));
        assert_true(++rounds < 100);
        *ret_regroups = regroups();
    }
    return rounds;
}

static void where_steps_lag_a_tenth_behind_the_prediction_pieces_are_regrouped(void **state)
{
    struct spw_tuned_iteration *shape = planned(12000000);
    bool is_regrouped;
    assert_false(spw_tuning_was_regrouped_for(shape));
    const unsigned rounds = iterate_until_regrouped(shape, 1.12, &is_regrouped);
    assert_true(is_regrouped && rounds >= 16 && rounds <= 18); /* the first steps are slower anyway */
    assert_int_equal(shape->number, 1);
    assert_true(spw_tuning_was_regrouped_for(shape));
    shape->plan->recorded_count = 1; /* for such plans pieces are as they come */
    assert_false(spw_tuning_was_regrouped_for(shape));
    shape->plan->recorded_count = 0;
    shape->number = 0; /* as where there is none */
    assert_false(spw_tuning_was_regrouped_for(shape));
    shape->number = 1;
    spw_tuned_iterations_finish(&shapes);
}

static void where_steps_lag_less_than_that_they_never_are(void **state)
{
    struct spw_tuned_iteration *shape = planned(12000000);
    while (!is_settled(shape)) {
        bool is_regrouped;
        (void)iterate_until_regrouped(shape, 1.08, &is_regrouped);
        assert_false(is_regrouped);
    }
    assert_int_equal(shape->tried, TRIALS);
    for (int i = 0; i < 40; i++)
        assert_true(iterate(shape, shape->number, shape->best_us));
    assert_false(regroups());
    spw_tuned_iterations_finish(&shapes);
}

static void a_plan_that_runs_operations_again_regroups_nothing(void **state)
{
    struct spw_tuned_iteration *shape = planned(12000000);
    shape->plan->recorded_count = 1;
    for (int i = 0; i < 20; i++)
        assert_true(iterate(shape, shape->number, 1.5 * shape->plan->predicted_us));
    assert_false(regroups() || shape->regrouped);
    shape->plan->recorded_count = 0;
    bool is_regrouped;
    (void)iterate_until_regrouped(shape, 1.5, &is_regrouped);
    assert_true(is_regrouped);
    spw_tuned_iterations_finish(&shapes);
}

static void a_single_slow_step_regroups_nothing(void **state)
{
    struct spw_tuned_iteration *shape = planned(12000000);
    for (int i = 0; i < 35; i++)
        assert_true(iterate(shape, 1, (i % 5 == 4 ? 2 : 1.08) * shape->plan->predicted_us));
    assert_int_equal(shape->number, 1);
    assert_false(regroups());
    spw_tuned_iterations_finish(&shapes);
}

/* Another plan wants other pieces: they are regrouped as it begins, and for each plan once. */
static void where_a_plan_has_lagged_pieces_are_regrouped_once_for_each_that_follows(void **state)
{
    struct spw_tuned_iteration *shape = planned(12000000);
    unsigned plans = 1;
    bool is_regrouped;
    (void)iterate_until_regrouped(shape, 1.2, &is_regrouped);
    assert_true(is_regrouped);
    while (!is_settled(shape)) { /* each ends as the next one, or the best one again, is in force */
        const uint32_t number = shape->number;
        assert_true(iterate_until_regrouped(shape, number == 1 ? 1.2 : 1.3, &is_regrouped) >= 9);
        assert_true(is_regrouped && shape->number != number);
        plans++;
    }
    assert_int_equal(plans, TRIALS + 1);
    for (int i = 0; i < 200; i++)
        assert_true(iterate(shape, shape->number, shape->best_us));
    assert_false(regroups());
    spw_tuned_iterations_finish(&shapes);
}

static void where_on_demand_is_faster_after_all_nothing_is_regrouped_for_that(void **state)
{
    struct spw_tuned_iteration *shape = planned(70000);
    bool is_regrouped = false;
    while (!is_settled(shape))
        (void)iterate_until_regrouped(shape, 90000 / shape->plan->predicted_us, &is_regrouped);
    assert_int_equal(shape->number, 0);
    (void)regroups(); /* for the best plan, before it turned out to be no good */
    for (int i = 0; i < 100; i++)
        assert_true(iterate(shape, 0, 70000));
    assert_false(regroups());
    spw_tuned_iterations_finish(&shapes);
}

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
        cmocka_unit_test(where_steps_lag_a_tenth_behind_the_prediction_pieces_are_regrouped),
        cmocka_unit_test(where_steps_lag_less_than_that_they_never_are),
        cmocka_unit_test(a_plan_that_runs_operations_again_regroups_nothing),
        cmocka_unit_test(a_single_slow_step_regroups_nothing),
        cmocka_unit_test(where_a_plan_has_lagged_pieces_are_regrouped_once_for_each_that_follows),
        cmocka_unit_test(where_on_demand_is_faster_after_all_nothing_is_regrouped_for_that),
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
