/* test-plan_tuning.c - plans of one shape are tried against each other, by the time that the device takes, and the fastest
 * stays; none, where on demand is faster. */
#include "tuned.h"

static void the_fastest_plan_stays(void **state)
{
    for (unsigned best = 0; best < TRIALS; best++) {
        const struct spw_course_plan *plans[TRIALS] = {0};
        double us[TRIALS] = {90000, 90000, 90000};
        struct spw_tuned_iteration *tuned = planned(120000);
        assert_true(tuned->plan->predicted_us < INFINITY && tuned->plan->lower_bound_us < 70000);
        us[best] = 80000;
        assert_int_equal(iterate_until_settled(tuned, us, plans), TRIALS);
        assert_ptr_equal(tuned->plan, plans[best]);
        assert_true(fabs(tuned->best_us - 80000) < 1);
        assert_null(tuned->best);
        assert_true(tuned->number >= 1);
        spw_tuned_iterations_finish(&iterations);
    }
}

static void the_search_for_another_plan_goes_on_from_the_one_in_force(void **state)
{
    struct spw_tuned_iteration *tuned = planned(120000);
    const struct spw_course_plan *first = tuned->plan;
    for (int i = 0; i < 100 && tuned->number == 1; i++)
        assert_true(iterate(tuned, 1, 90000));
    assert_int_equal(tuned->number, 2);
    assert_ptr_equal(tuned->best, first);
    assert_ptr_equal(begun_with, &first->choices);
    assert_non_null(first->choices.list);
    spw_tuned_iterations_finish(&iterations);
}

static void a_thread_goes_on_from_the_first_plan_and_not_from_what_was_before(void **state)
{
    begin_with(HIDDEN, 50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    on_demand(tuned, 120000);
    spw_tuning_plan(loop.device, tuned);
    assert_int_equal(tuned->number, 1);
    assert_non_null(tuned->planning);
    assert_ptr_equal(begun_with, &tuned->plan->choices);
    assert_non_null(begun_with->list);
    spw_tuned_iterations_stop(&iterations);
    spw_tuned_iterations_finish(&iterations);
}

static void less_of_the_budget_is_left_alone_where_that_was_faster_and_else_more(void **state)
{
    for (int is_less = 0; is_less < 2; is_less++) {
        double reserves[TRIALS] = {0};
        const double us[TRIALS] = {is_less ? 95000 : 90000, is_less ? 90000 : 95000, 80000};
        struct spw_tuned_iteration *tuned = planned(120000);
        for (int i = 0; i < 100 && !is_settled(tuned); i++) {
            reserves[tuned->number - 1] = tuned->plan->reserve;
            assert_true(iterate(tuned, tuned->number, us[tuned->number - 1]));
        }
        assert_true(is_settled(tuned) && reserves[1] < reserves[0]);
        assert_true(is_less ? reserves[2] < reserves[1] : reserves[2] > reserves[0]);
        spw_tuned_iterations_finish(&iterations);
    }
}

static void of_plans_that_run_operations_again_one_that_leaves_more_alone_is_tried_in_any_case(void **state)
{
    const double us[TRIALS + 1] = {95000, 90000, 92000, 80000};
    double reserves[TRIALS + 1] = {0};
    struct spw_tuned_iteration *tuned = planned(120000);
    for (int i = 0; i < 100 && !is_settled(tuned); i++) {
        assert_true(tuned->number >= 1 && tuned->number <= TRIALS + 1);
        tuned->plan->recorded_count = 1;
        reserves[tuned->number - 1] = tuned->plan->reserve;
        assert_true(iterate(tuned, tuned->number, us[tuned->number - 1]));
    }
    assert_true(is_settled(tuned));
    assert_int_equal(tuned->tried, TRIALS + 1);
    assert_true(reserves[2] < reserves[1] && reserves[3] > reserves[0]);
    assert_true(fabs(tuned->plan->reserve - reserves[3]) < 1e-9);
    spw_tuned_iterations_finish(&iterations);
}

/* The first steps by a plan pay for what the one before left, and a single one says little: neither decides. */
static void of_a_plan_that_is_tried_the_usual_step_counts_once_it_has_settled(void **state)
{
    struct spw_tuned_iteration *tuned = planned(120000);
    const struct spw_course_plan *second = NULL;
    for (int i = 0, since = 0; i < 100 && !is_settled(tuned); i++) {
        const uint32_t number = tuned->number;
        since = number == 2 && !second ? 0 : since + 1;
        second = number == 2 ? tuned->plan : second;
        const double later = since % 5 == 4 ? 99000 : 80000;
        assert_true(iterate(tuned, number, number != 2 ? since % 5 == 4 ? 70000 : 90000 : since < 5 ? 110000 : later));
    }
    assert_true(is_settled(tuned) && tuned->plan == second);
    assert_true(fabs(tuned->best_us - 80000) < 1);
    spw_tuned_iterations_finish(&iterations);
}

static void a_plan_as_fast_as_can_be_is_not_tried_against_others(void **state)
{
    struct spw_tuned_iteration *tuned = planned_within(HIDDEN, 60 * MIB, 120000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {tuned->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(tuned, us, plans), 1);
    assert_ptr_equal(tuned->plan, plans[0]);
    assert_int_equal(tuned->number, 1);
    spw_tuned_iterations_finish(&iterations);
}

static void where_on_demand_is_faster_there_is_no_plan(void **state)
{
    struct spw_tuned_iteration *tuned = planned(70000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {90000, 80000, 85000};
    iterate_until_settled(tuned, us, plans);
    assert_int_equal(tuned->number, 0);
    assert_true(isinf(tuned->plan->predicted_us));
    assert_int_equal(tuned->plan->actions.count, 0);
    assert_true(fabs(tuned->best_us - 70000) < 1);
    for (int i = 0; i < 200; i++) /* and it does not stray */
        assert_true(iterate(tuned, 0, 70000));
    spw_tuned_iterations_finish(&iterations);
}

/* Not after the forty steps that a first plan is followed for. */
static void a_plan_that_is_slower_than_on_demand_goes_within_a_few_steps(void **state)
{
    struct spw_tuned_iteration *tuned = planned(70000);
    int first = 0, all = 0;
    for (; all < 100 && !is_settled(tuned); all++) {
        first += tuned->number == 1;
        assert_true(iterate(tuned, tuned->number, 75000));
    }
    assert_in_range(first, SPW_STEPTIME_MEDIAN_OF, SPW_STEPTIME_MEDIAN_OF + 3);
    assert_in_range(all, 1, TRIALS * (SPW_STEPTIME_MEDIAN_OF + 3));
    assert_int_equal(tuned->number, 0);
    spw_tuned_iterations_finish(&iterations);
}

static void a_plan_that_is_a_little_slower_is_measured_like_others(void **state)
{
    struct spw_tuned_iteration *tuned = planned(70000);
    for (int i = 0; i < 39; i++)
        assert_true(iterate(tuned, tuned->number, 72000));
    assert_int_equal(tuned->number, 1);
    spw_tuned_iterations_finish(&iterations);
}

static void a_plan_that_would_take_longer_than_on_demand_is_not_put_in_force(void **state)
{
    struct spw_tuned_iteration *tuned;
    begin(50 * MIB, SPW_PLAN_WAIT);
    tuned = add(ID, 1, NULL);
    on_demand(tuned, 1000);
    spw_tuning_plan(loop.device, tuned);
    assert_int_equal(tuned->number, 0);
    assert_true(isinf(tuned->plan->predicted_us));
    for (int i = 0; i < 50; i++)
        assert_true(iterate(tuned, 0, 1000));
    assert_int_equal(spw_plan_stats[0].plans, 0);
    spw_tuning_budget_changed(tuned); /* which says nothing of another budget */
    assert_true(iterate(tuned, 0, 1000));
    assert_int_equal(tuned->number, 1);
    spw_tuned_iterations_finish(&iterations);
}

static void a_shape_whose_steps_change_for_good_is_given_up_and_a_few_slow_ones_are_not(void **state)
{
    struct spw_tuned_iteration *tuned = planned(120000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {80000, 80000, 80000};
    iterate_until_settled(tuned, us, plans);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 40; k++)
            assert_true(iterate(tuned, tuned->number, 160000));
        for (int k = 0; k < 40; k++)
            assert_true(iterate(tuned, tuned->number, 80000));
    }
    int rounds = 0;
    while (iterate(tuned, tuned->number, 160000))
        assert_true(++rounds < 100);
    assert_true(rounds > 40);
    struct spw_tuned_iteration *other = add(ID + 1, 2, NULL);
    spw_tuning_forget(tuned);
    assert_null(spw_tuned_iterations_find(&iterations, ID));
    assert_ptr_equal(spw_tuned_iterations_find(&iterations, ID + 1), other);
    spw_tuned_iterations_finish(&iterations);
}

static void what_fits_nowhere_goes_on_without_a_plan(void **state)
{
    begin(2 * MIB, SPW_PLAN_WAIT);
    struct spw_tuned_iteration *tuned = add(ID, 1, NULL);
    spw_tuning_plan(loop.device, tuned);
    for (int i = 0; i < 100; i++)
        assert_true(iterate(tuned, tuned->number, 100));
    assert_int_equal(tuned->number, 0);
    assert_true(isinf(tuned->plan->predicted_us));
    assert_false(is_settled(tuned));
    spw_tuned_iterations_finish(&iterations);
}

static void the_seventeenth_shape_takes_the_place_of_the_one_that_was_not_used_longest(void **state)
{
    begin(50 * MIB, SPW_PLAN_WAIT);
    for (uint32_t i = 0; i < SPW_ITERATION_SHAPES; i++)
        (void)add(100 + i, i == 0 ? 50 : i, NULL); /* 101 is the oldest, then 102 */
    const struct spw_tuned_iteration *kept = spw_tuned_iterations_find(&iterations, 101);
    (void)add(200, 60, kept);
    assert_ptr_equal(spw_tuned_iterations_find(&iterations, 101), kept);
    assert_null(spw_tuned_iterations_find(&iterations, 102));
    (void)add(201, 61, NULL);
    assert_null(spw_tuned_iterations_find(&iterations, 101));
    assert_non_null(spw_tuned_iterations_find(&iterations, 100));
    assert_non_null(spw_tuned_iterations_find(&iterations, 200));
    assert_int_equal(iterations.count, SPW_ITERATION_SHAPES);
    spw_tuned_iterations_finish(&iterations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_plan_stays),
        cmocka_unit_test(the_search_for_another_plan_goes_on_from_the_one_in_force),
        cmocka_unit_test(a_thread_goes_on_from_the_first_plan_and_not_from_what_was_before),
        cmocka_unit_test(less_of_the_budget_is_left_alone_where_that_was_faster_and_else_more),
        cmocka_unit_test(of_plans_that_run_operations_again_one_that_leaves_more_alone_is_tried_in_any_case),
        cmocka_unit_test(of_a_plan_that_is_tried_the_usual_step_counts_once_it_has_settled),
        cmocka_unit_test(a_plan_as_fast_as_can_be_is_not_tried_against_others),
        cmocka_unit_test(where_on_demand_is_faster_there_is_no_plan),
        cmocka_unit_test(a_plan_that_is_slower_than_on_demand_goes_within_a_few_steps),
        cmocka_unit_test(a_plan_that_is_a_little_slower_is_measured_like_others),
        cmocka_unit_test(a_plan_that_would_take_longer_than_on_demand_is_not_put_in_force),
        cmocka_unit_test(a_shape_whose_steps_change_for_good_is_given_up_and_a_few_slow_ones_are_not),
        cmocka_unit_test(what_fits_nowhere_goes_on_without_a_plan),
        cmocka_unit_test(the_seventeenth_shape_takes_the_place_of_the_one_that_was_not_used_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
