/* test-cursor-programs.c - a detector that is told by a cursor what went by answers as one that was told all along, and the
 * cursor is where it believes to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "course-follower.h"
#include "random-program.h"

enum { STEPS = 60, PROGRAMS = 250 };

static struct follower follower;
static struct random_program random_one;

static uint64_t first_seed(void)
{
    const char *text = getenv("FIRST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

/* What all programs came to. */
struct sums {
    uint64_t programs, silent_iterations, told, lost, compared, right_tensors, unknown_tensors, silent_ops, wrong_ops;
};

static void sum_up(struct sums *sums)
{
    sums->programs += follower.silent_ops > 0;
    sums->silent_iterations += follower.silent_iterations;
    sums->told += follower.told;
    sums->lost += follower.lost;
    sums->compared += follower.compared;
    sums->right_tensors += follower.right_tensors;
    sums->unknown_tensors += follower.unknown_tensors;
    sums->silent_ops += follower.silent_ops;
    sums->wrong_ops += follower.wrong_ops;
}

/* `silences`: how often the cursor may be set; `told_at_end`: the iterations that are told then, first of all. False: a
 * course that was followed silently is one of a part of the iteration: whoever is not told of some of the parts cannot know
 * how many make a whole. */
static bool run(uint64_t seed, uint32_t silences, uint32_t told_at_end)
{
    struct program *program = program_create(1 << 14, seed);
    follower_init(&follower, program, 1 << 14);
    random_program_make(&random_one, program, 20 + (uint32_t)program_random(program, 400));
    follower.silences = silences;
    follower.told_at_end = told_at_end;
    follower.record_from = told_at_end ? 0 : 24;
    follower.rest = 2;
    follower.silent_most = 1 + (uint32_t)program_random(program, 8 * random_one.length);
    random_program_setup(&random_one, program);
    for (uint32_t step = 0; step < STEPS; step++)
        random_program_step(&random_one, program, step);
    random_program_finish(&random_one, program);
    const bool is_whole = follower.shortest && follower.shortest + 2 >= random_one.length;
    follower_finish(&follower);
    program_destroy(program);
    return is_whole;
}

static void fail_unless_same(uint64_t seed)
{
    if (follower.different || follower.different_sure)
        fail_msg("seed %llu: of %llu answers %llu places and %llu certainties differ", (unsigned long long)seed,
                 (unsigned long long)follower.compared, (unsigned long long)follower.different,
                 (unsigned long long)follower.different_sure);
}

static void a_detector_that_is_told_by_the_cursor_answers_as_if_told_all_along(void **state)
{
    (void)state;
    struct sums sums = {0};
    for (uint64_t seed = first_seed(); seed < first_seed() + PROGRAMS; seed++) {
        if (!run(seed, 1, 0))
            continue;
        sum_up(&sums);
        fail_unless_same(seed);
    }
    print_message("# %llu programs, %llu iterations not told, %llu times lost, %llu answers compared\n",
                  (unsigned long long)sums.programs, (unsigned long long)sums.silent_iterations,
                  (unsigned long long)sums.lost, (unsigned long long)sums.compared);
    assert_true(sums.programs > PROGRAMS / 2 && sums.silent_iterations > PROGRAMS && sums.lost > PROGRAMS / 4 &&
                sums.told - sums.lost > PROGRAMS / 8);
}

/* Whatever there is: micro-steps that turn out to be parts of a longer iteration, evaluations, noise. */
static void a_detector_that_is_told_each_iteration_when_it_is_complete_learns_the_same(void **state)
{
    (void)state;
    struct sums sums = {0};
    for (uint64_t seed = first_seed(); seed < first_seed() + PROGRAMS; seed++) {
        (void)run(seed, UINT32_MAX, UINT32_MAX);
        sum_up(&sums);
        fail_unless_same(seed);
    }
    print_message("# %llu iterations told late, %llu times lost, %llu answers compared\n",
                  (unsigned long long)sums.silent_iterations, (unsigned long long)sums.lost,
                  (unsigned long long)sums.compared);
    assert_true(sums.silent_iterations > 10 * PROGRAMS && sums.lost > PROGRAMS);
}

/* The course of a micro-step may begin as what comes behind the last of them does. */
static void a_cursor_is_where_it_believes_to_be_and_knows_who_is_touched(void **state)
{
    (void)state;
    struct sums sums = {0};
    for (uint64_t seed = first_seed(); seed < first_seed() + PROGRAMS; seed++) {
        const bool is_whole = run(seed, UINT32_MAX, 0);
        sum_up(&sums);
        if (is_whole && (follower.wrong_ops || follower.wrong_tensors))
            fail_msg("seed %llu: %llu operations are others, %llu touch others (%llu as expected)", (unsigned long long)seed,
                     (unsigned long long)follower.wrong_ops, (unsigned long long)follower.wrong_tensors,
                     (unsigned long long)follower.right_tensors);
    }
    print_message("# %llu programs, %llu touches of who was expected, %llu of nobody\n", (unsigned long long)sums.programs,
                  (unsigned long long)sums.right_tensors, (unsigned long long)sums.unknown_tensors);
    assert_true(sums.right_tensors > 1000 * sums.unknown_tensors && sums.silent_ops > 1000 * sums.wrong_ops);
}

/* Training with an evaluation every seventh step, something to log now and then, and a doubled batch once. */
static void train(uint64_t seed)
{
    struct program *program = program_create(1 << 14, seed);
    struct model model = model_plain();
    model.seed = seed;
    follower_init(&follower, program, 1 << 14);
    follower.rest = 1;
    model_setup(program, &model);
    for (uint32_t step = 0; step < STEPS; step++) {
        model.batch = step == STEPS / 2 ? 16 : 8;
        model.loader = true;
        model_train(program, &model);
        model.loader = false;
        if (step % 7 == 6)
            model_evaluate(program, &model, 5);
        if (step % 4 == 3)
            model_log(program, &model, 0);
    }
    model_free(program, &model);
    follower_finish(&follower);
    program_destroy(program);
}

/* A loader's batch is known from the second iteration on. Where something else of its size is allocated at the same time one
 * may be taken for the other. */
static void a_loader_may_come_at_any_time(void **state)
{
    (void)state;
    struct sums sums = {0};
    uint64_t wrong_tensors = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        train(seed);
        sum_up(&sums);
        wrong_tensors += follower.wrong_tensors;
        assert_int_equal(follower.wrong_ops, 0);
    }
    assert_true(sums.silent_iterations > 20 * STEPS / 3);
    assert_true(sums.unknown_tensors <= 3 * sums.told);
    assert_true(wrong_tensors * 1000 < sums.right_tensors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_detector_that_is_told_by_the_cursor_answers_as_if_told_all_along),
        cmocka_unit_test(a_detector_that_is_told_each_iteration_when_it_is_complete_learns_the_same),
        cmocka_unit_test(a_loader_may_come_at_any_time),
        cmocka_unit_test(a_cursor_is_where_it_believes_to_be_and_knows_who_is_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
