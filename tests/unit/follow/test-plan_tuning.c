/* test-plan_tuning.c - plans of one shape are tried against each other, by the time that the device takes, and the fastest
 * stays; none, where on demand is faster. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "bandwidth.h"
#include "driver.h"
#include "op.h"
#include "fake-device.h"
#include "plan_stats.h"
#include "plan_tuning.h"
#include "steptime.h"
#include "training-course.h"
#include "training-loop.h"

enum { ID = 7, LAYERS = 33, TRIALS = 3 };

static struct training_loop loop; /* only its device, its stream and a piece of memory */
static struct spw_tuned_iterations shapes;
static struct spw_stream *s;

static bool is_settled(const struct spw_tuned_iteration *shape)
{
    return shape->state == SPW_TUNING_SETTLED;
}

static const double HIDDEN = 0.01; /* copies hide behind 100 us of work, and plans are found at once */

/* Copies that take so many times as long as the fake device's do. */
static void learn_bandwidth(double times)
{
    static char host[409600];
    const CUdeviceptr a = loop_allocate(&loop, sizeof(host));
    const CUstream copies = fake_stream();
    fake_slow_copies(times);
    for (int i = 0; i < 6; i++) {
        struct spw_bandwidth_pair *p = spw_bandwidth_begin_locked(0, i & 1, sizeof(host), loop.context, copies);
        if (i & 1)
            (void)spw_driver.cuMemcpyDtoHAsync_v2(host, a, sizeof(host), copies);
        else
            (void)spw_driver.cuMemcpyHtoDAsync_v2(a, host, sizeof(host), copies);
        spw_bandwidth_end_locked(p, copies, true);
    }
    fake_run_all();
    spw_bandwidth_collect_locked(0);
}

static void begin_with(double times, uint64_t budget, enum spw_plan_setting plan)
{
    loop_start(&loop, budget, plan);
    shapes = (struct spw_tuned_iterations){0};
    s = spw_stream_of_locked(loop.stream);
    assert_non_null(s);
    learn_bandwidth(times);
}

static void begin(uint64_t budget, enum spw_plan_setting plan)
{
    begin_with(HIDDEN, budget, plan);
}

static struct spw_tuned_iteration *add(uint32_t id, uint64_t now, const struct spw_tuned_iteration *but)
{
    struct spw_course *course = training_course(LAYERS, true);
    assert_non_null(course);
    struct spw_tuned_iteration *shape = spw_tuned_iterations_add(&shapes, id, course, now, but);
    assert_non_null(shape);
    return shape;
}

static void takes(double us)
{
    static char host[(size_t)FAKE_OUT_BYTES_PER_US]; /* 1 us */
    fake_slow_copies(us);
    (void)spw_driver.cuMemcpyDtoHAsync_v2(host, loop.weights[0], sizeof(host), loop.stream);
    fake_run_all();
}

/* The device takes so long for an iteration, by the plan in force or on demand. */
static bool iterate(struct spw_tuned_iteration *shape, uint32_t plan, double us)
{
    spw_plan_follower_begins_locked(loop.device, s, shape->id, plan);
    takes(us);
    spw_steptime_collect_locked(0);
    return spw_tuning_improve(loop.device, shape, true);
}

static void on_demand(const struct spw_tuned_iteration *shape, double us)
{
    for (int i = 0; i < 3; i++) {
        spw_plan_follower_begins_locked(loop.device, s, shape->id, 0);
        takes(us);
    }
    spw_plan_follower_begins_locked(loop.device, s, shape->id, 0);
    spw_plan_follower_lost_locked(loop.device);
    fake_run_all();
    spw_steptime_collect_locked(0);
}

/* A shape with a first plan, where an iteration on demand takes so long and copies take so many times as long as the fake
 * device's do. */
static struct spw_tuned_iteration *planned_within(double times, uint64_t budget, double on_demand_us)
{
    begin_with(times, budget, SPW_PLAN_WAIT);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL);
    on_demand(shape, on_demand_us);
    spw_tuning_plan(loop.device, shape);
    assert_int_equal(shape->number, 1);
    return shape;
}

static struct spw_tuned_iteration *planned(double on_demand_us)
{
    return planned_within(HIDDEN, 50 * MIB, on_demand_us);
}

/* What the plan with the k-th number takes. The number of probes that it took to settle. */
static unsigned iterate_until_settled(struct spw_tuned_iteration *shape, const double *us,
                                      const struct spw_course_plan **ret_plans)
{
    for (int i = 0; i < 100 && !is_settled(shape); i++) {
        const uint32_t number = shape->number;
        assert_true(number >= 1 && number <= TRIALS);
        ret_plans[number - 1] = shape->plan;
        assert_true(iterate(shape, number, us[number - 1]));
    }
    assert_true(is_settled(shape));
    return shape->tried;
}

static void the_fastest_plan_stays(void **state)
{
    for (unsigned best = 0; best < TRIALS; best++) {
        const struct spw_course_plan *plans[TRIALS] = {0};
        double us[TRIALS] = {90000, 90000, 90000};
        struct spw_tuned_iteration *shape = planned(120000);
        assert_true(shape->plan->predicted_us < INFINITY && shape->plan->lower_bound_us < 70000);
        us[best] = 80000;
        assert_int_equal(iterate_until_settled(shape, us, plans), TRIALS);
        assert_ptr_equal(shape->plan, plans[best]);
        assert_true(fabs(shape->best_us - 80000) < 1);
        assert_null(shape->best);
        assert_true(shape->number >= 1);
        spw_tuned_iterations_finish(&shapes);
    }
}

static const struct spw_plan_choices *begun_with;

int __real_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan);
static bool lacks_memory_once;
int __wrap_spw_plan_course(const struct spw_course *course, const struct spw_plan_terms *terms, bool quick,
                           const bool *cancelled, struct spw_course_plan **ret_plan)
{
    begun_with = terms->begin_with;
    if (lacks_memory_once) {
        lacks_memory_once = false;
        return -ENOMEM;
    }
    return __real_spw_plan_course(course, terms, quick, cancelled, ret_plan);
}

static void the_search_for_another_plan_goes_on_from_the_one_in_force(void **state)
{
    struct spw_tuned_iteration *shape = planned(120000);
    const struct spw_course_plan *first = shape->plan;
    for (int i = 0; i < 100 && shape->number == 1; i++)
        assert_true(iterate(shape, 1, 90000));
    assert_int_equal(shape->number, 2);
    assert_ptr_equal(shape->best, first);
    assert_ptr_equal(begun_with, &first->choices);
    assert_non_null(first->choices.list);
    spw_tuned_iterations_finish(&shapes);
}

int __real_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning);
int __wrap_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning);
int __wrap_spw_plan_thread_start(const struct spw_course *course, const struct spw_plan_terms *terms,
                                 struct spw_plan_thread **ret_planning)
{
    begun_with = terms->begin_with;
    return __real_spw_plan_thread_start(course, terms, ret_planning);
}

static void a_thread_goes_on_from_the_first_plan_and_not_from_what_was_before(void **state)
{
    begin_with(HIDDEN, 50 * MIB, SPW_PLAN_ON);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL);
    on_demand(shape, 120000);
    spw_tuning_plan(loop.device, shape);
    assert_int_equal(shape->number, 1);
    assert_non_null(shape->planning);
    assert_ptr_equal(begun_with, &shape->plan->choices);
    assert_non_null(begun_with->list);
    spw_tuned_iterations_stop(&shapes);
    spw_tuned_iterations_finish(&shapes);
}

static void less_of_the_budget_is_left_alone_where_that_was_faster_and_else_more(void **state)
{
    for (int is_less = 0; is_less < 2; is_less++) {
        double reserves[TRIALS] = {0};
        const double us[TRIALS] = {is_less ? 95000 : 90000, is_less ? 90000 : 95000, 80000};
        struct spw_tuned_iteration *shape = planned(120000);
        for (int i = 0; i < 100 && !is_settled(shape); i++) {
            reserves[shape->number - 1] = shape->plan->reserve;
            assert_true(iterate(shape, shape->number, us[shape->number - 1]));
        }
        assert_true(is_settled(shape) && reserves[1] < reserves[0]);
        assert_true(is_less ? reserves[2] < reserves[1] : reserves[2] > reserves[0]);
        spw_tuned_iterations_finish(&shapes);
    }
}

static void of_plans_that_run_operations_again_one_that_leaves_more_alone_is_tried_in_any_case(void **state)
{
    const double us[TRIALS + 1] = {95000, 90000, 92000, 80000};
    double reserves[TRIALS + 1] = {0};
    struct spw_tuned_iteration *shape = planned(120000);
    for (int i = 0; i < 100 && !is_settled(shape); i++) {
        assert_true(shape->number >= 1 && shape->number <= TRIALS + 1);
        shape->plan->recorded_count = 1;
        reserves[shape->number - 1] = shape->plan->reserve;
        assert_true(iterate(shape, shape->number, us[shape->number - 1]));
    }
    assert_true(is_settled(shape));
    assert_int_equal(shape->tried, TRIALS + 1);
    assert_true(reserves[2] < reserves[1] && reserves[3] > reserves[0]);
    assert_true(fabs(shape->plan->reserve - reserves[3]) < 1e-9);
    spw_tuned_iterations_finish(&shapes);
}

/* The first steps by a plan pay for what the one before left, and a single one says little: neither decides. */
static void of_a_plan_that_is_tried_the_usual_step_counts_once_it_has_settled(void **state)
{
    struct spw_tuned_iteration *shape = planned(120000);
    const struct spw_course_plan *second = NULL;
    for (int i = 0, since = 0; i < 100 && !is_settled(shape); i++) {
        const uint32_t number = shape->number;
        since = number == 2 && !second ? 0 : since + 1;
        second = number == 2 ? shape->plan : second;
        const double later = since % 5 == 4 ? 99000 : 80000;
        assert_true(iterate(shape, number, number != 2 ? since % 5 == 4 ? 70000 : 90000 : since < 5 ? 110000 : later));
    }
    assert_true(is_settled(shape) && shape->plan == second);
    assert_true(fabs(shape->best_us - 80000) < 1);
    spw_tuned_iterations_finish(&shapes);
}

/* Pieces are cut in steps of the second plan, which take longer; the last ones are faster than the other plans'. */
static unsigned iterate_while_cutting(struct spw_tuned_iteration *shape, unsigned cut_rounds, double later_us)
{
    const unsigned before = shape->number;
    unsigned rounds = 0;
    for (unsigned i = 0; i < 200 && !is_settled(shape); i++) {
        const bool is_second = shape->number == before + 1;
        const bool cuts = is_second && rounds < cut_rounds;
        rounds += is_second;
        loop.device->handles.cut_count += cuts;
        assert_true(iterate(shape, shape->number, !is_second ? 90000 : cuts ? 130000 : later_us));
    }
    assert_true(is_settled(shape));
    return rounds;
}

static void a_plan_is_tried_for_longer_while_pieces_are_cut_for_it(void **state)
{
    struct spw_tuned_iteration *shape = planned(120000);
    const unsigned calm = iterate_while_cutting(shape, 0, 80000);
    spw_tuned_iterations_finish(&shapes);
    shape = planned(120000);
    assert_true(iterate_while_cutting(shape, 8, 80000) > calm);
    assert_true(fabs(shape->best_us - 80000) < 1);
    spw_tuned_iterations_finish(&shapes);
}

static void a_plan_for_which_pieces_are_always_cut_is_taken_at_that(void **state)
{
    struct spw_tuned_iteration *shape = planned(120000);
    assert_true(iterate_while_cutting(shape, 200, 80000) <= 24);
    assert_true(fabs(shape->best_us - 90000) < 1);
    spw_tuned_iterations_finish(&shapes);
}

static void a_plan_as_fast_as_can_be_is_not_tried_against_others(void **state)
{
    struct spw_tuned_iteration *shape = planned_within(HIDDEN, 60 * MIB, 120000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {shape->plan->lower_bound_us, 0, 0};
    assert_int_equal(iterate_until_settled(shape, us, plans), 1);
    assert_ptr_equal(shape->plan, plans[0]);
    assert_int_equal(shape->number, 1);
    spw_tuned_iterations_finish(&shapes);
}

static void where_on_demand_is_faster_there_is_no_plan(void **state)
{
    struct spw_tuned_iteration *shape = planned(70000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {90000, 80000, 85000};
    iterate_until_settled(shape, us, plans);
    assert_int_equal(shape->number, 0);
    assert_true(isinf(shape->plan->predicted_us));
    assert_int_equal(shape->plan->actions.count, 0);
    assert_true(fabs(shape->best_us - 70000) < 1);
    for (int i = 0; i < 200; i++) /* and it does not stray */
        assert_true(iterate(shape, 0, 70000));
    spw_tuned_iterations_finish(&shapes);
}

static void a_shape_whose_steps_change_for_good_is_given_up_and_a_few_slow_ones_are_not(void **state)
{
    struct spw_tuned_iteration *shape = planned(120000);
    const struct spw_course_plan *plans[TRIALS];
    const double us[TRIALS] = {80000, 80000, 80000};
    iterate_until_settled(shape, us, plans);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 40; k++)
            assert_true(iterate(shape, shape->number, 160000));
        for (int k = 0; k < 40; k++)
            assert_true(iterate(shape, shape->number, 80000));
    }
    int rounds = 0;
    while (iterate(shape, shape->number, 160000))
        assert_true(++rounds < 100);
    assert_true(rounds > 40);
    struct spw_tuned_iteration *other = add(ID + 1, 2, NULL);
    spw_tuning_forget(shape);
    assert_null(spw_tuned_iterations_find(&shapes, ID));
    assert_ptr_equal(spw_tuned_iterations_find(&shapes, ID + 1), other);
    spw_tuned_iterations_finish(&shapes);
}

static void what_fits_nowhere_goes_on_without_a_plan(void **state)
{
    begin(2 * MIB, SPW_PLAN_WAIT);
    struct spw_tuned_iteration *shape = add(ID, 1, NULL);
    spw_tuning_plan(loop.device, shape);
    for (int i = 0; i < 100; i++)
        assert_true(iterate(shape, shape->number, 100));
    assert_int_equal(shape->number, 0);
    assert_true(isinf(shape->plan->predicted_us));
    assert_false(is_settled(shape));
    spw_tuned_iterations_finish(&shapes);
}

static void the_seventeenth_shape_takes_the_place_of_the_one_that_was_not_used_longest(void **state)
{
    begin(50 * MIB, SPW_PLAN_WAIT);
    for (uint32_t i = 0; i < SPW_ITERATION_SHAPES; i++)
        (void)add(100 + i, i == 0 ? 50 : i, NULL); /* 101 is the oldest, then 102 */
    const struct spw_tuned_iteration *kept = spw_tuned_iterations_find(&shapes, 101);
    (void)add(200, 60, kept);
    assert_ptr_equal(spw_tuned_iterations_find(&shapes, 101), kept);
    assert_null(spw_tuned_iterations_find(&shapes, 102));
    (void)add(201, 61, NULL);
    assert_null(spw_tuned_iterations_find(&shapes, 101));
    assert_non_null(spw_tuned_iterations_find(&shapes, 100));
    assert_non_null(spw_tuned_iterations_find(&shapes, 200));
    assert_int_equal(shapes.count, SPW_ITERATION_SHAPES);
    spw_tuned_iterations_finish(&shapes);
}

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
    (void)settled_at_bound(&us);
    spw_tuned_iterations_finish(&shapes);
    struct spw_tuned_iteration *shape = settled_where_on_demand_takes(us * 1.01, &us);
    assert_true(go_on(shape, 60, 6, us * 1.1, us * 1.05) >= 1);
    assert_true(is_settled(shape) && shape->number > 0);
    assert_true(fabs(shape->best_us - us * 1.05) < 1);
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
        cmocka_unit_test(the_fastest_plan_stays),
        cmocka_unit_test(the_search_for_another_plan_goes_on_from_the_one_in_force),
        cmocka_unit_test(a_thread_goes_on_from_the_first_plan_and_not_from_what_was_before),
        cmocka_unit_test(less_of_the_budget_is_left_alone_where_that_was_faster_and_else_more),
        cmocka_unit_test(of_plans_that_run_operations_again_one_that_leaves_more_alone_is_tried_in_any_case),
        cmocka_unit_test(of_a_plan_that_is_tried_the_usual_step_counts_once_it_has_settled),
        cmocka_unit_test(a_plan_is_tried_for_longer_while_pieces_are_cut_for_it),
        cmocka_unit_test(a_plan_for_which_pieces_are_always_cut_is_taken_at_that),
        cmocka_unit_test(a_plan_as_fast_as_can_be_is_not_tried_against_others),
        cmocka_unit_test(where_on_demand_is_faster_there_is_no_plan),
        cmocka_unit_test(a_shape_whose_steps_change_for_good_is_given_up_and_a_few_slow_ones_are_not),
        cmocka_unit_test(what_fits_nowhere_goes_on_without_a_plan),
        cmocka_unit_test(the_seventeenth_shape_takes_the_place_of_the_one_that_was_not_used_longest),
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
