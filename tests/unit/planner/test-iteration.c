/* test-iteration.c - the detector finds what a program repeats, and never answers with a wrong ordinal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <malloc.h>
#include <stdlib.h>
#include <cmocka.h>

#include "programs.h"

static void assert_no_mistake(const struct program *program)
{
    assert_int_equal(program->wrong_sure, 0);
    assert_int_equal(program->wrong_likely, 0);
    assert_int_equal(program->wrong_allocs, 0);
}

static const struct model VARIANTS[] = {
    {.layers = 6, .seed = 3, .batch = 8, .times = 1, .momentum = true, .input = true},
    {.layers = 1, .seed = 1, .batch = 4, .times = 1, .momentum = true, .input = true},
    {.layers = 1, .seed = 1, .batch = 4, .times = 1},
    {.layers = 12, .seed = 5, .batch = 8, .times = 1, .equal = true, .momentum = true, .input = true},
    {.layers = 12, .seed = 5, .batch = 8, .times = 1, .equal = true, .momentum = true, .input = true, .grads_stay = true},
    {.layers = 12,
     .seed = 5,
     .batch = 8,
     .times = 1,
     .equal = true,
     .momentum = true,
     .input = true,
     .in_place = true,
     .grads_stay = true},
    {.layers = 12, .seed = 6, .batch = 8, .times = 1, .equal = true, .momentum = true, .in_place = true, .grads_stay = true},
    {.layers = 20, .seed = 7, .batch = 2, .times = 3, .momentum = true, .input = true},
    {.layers = 1, .seed = 8, .batch = 2, .times = 512, .momentum = true, .input = true},
    {.layers = 2, .seed = 8, .batch = 2, .times = 512, .equal = true, .momentum = true, .input = true},
    {.layers = 1,
     .seed = 8,
     .batch = 2,
     .times = 512,
     .momentum = true,
     .input = true,
     .in_place = true,
     .grads_stay = true},
    {.layers = 2, .seed = 8, .batch = 2, .times = 512, .equal = true},
    {.layers = 1, .seed = 8, .batch = 2, .times = 64, .input = true}, /* each time step uses all that is kept */
    {.layers = 3, .seed = 9, .batch = 2, .times = 2, .equal = true, .in_place = true},
    {.layers = 60, .seed = 9, .batch = 32, .times = 10, .momentum = true, .input = true},
};
enum { VARIANT_COUNT = sizeof(VARIANTS) / sizeof(*VARIANTS) };

/* A plain loop is found by the end of its third iteration, with the right length and the right boundary. Time steps and
 * equal layers inside it are loops too, and are not mistaken for it. */
static void plain_loop_is_found_within_three_iterations(void **state)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        struct program *program = program_create(1 << 16, 1);
        struct model model = VARIANTS[v];
        model_setup(program, &model);
        for (int i = 0; i < 3; i++)
            model_train(program, &model);
        if (program->found_op == UINT64_MAX || program_followed(program) != model_length(&model) ||
            program->place.began != program->step_op)
            print_error("# variant %d: length %u of %u, began %lu, true %lu\n", v, program_followed(program),
                        model_length(&model), (unsigned long)program->place.began, (unsigned long)program->step_op);
        assert_int_not_equal(program->found_op, UINT64_MAX);
        assert_int_equal(program_followed(program), model_length(&model));
        assert_int_equal(program->place.began, program->step_op);
        for (int i = 0; i < 20; i++) {
            model_train(program, &model);
            assert_int_equal(program->step_begins, 1);
            assert_int_equal(program->place.began, program->step_op);
            assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
        }
        assert_no_mistake(program);
        model_free(program, &model);
        program_destroy(program);
    }
}

/* The first steps differ: the optimizer makes its states in the first one, and other algorithms are tried. */
static void warm_up_that_differs_is_left_behind(void **state)
{
    for (int warm = 1; warm <= 3; warm++) {
        struct program *program = program_create(1 << 16, 1);
        struct model model = model_plain();
        model.lazy_states = true;
        model_setup(program, &model);
        for (int i = 0; i < warm; i++) {
            program_step(program);
            model_log(program, &model, 3 + i);
            model_micro_step(program, &model, 0);
            model_log(program, &model, 2);
            model_update(program, &model);
        }
        for (int i = 0; i < 3; i++)
            model_train(program, &model);
        assert_int_equal(program_followed(program), model_length(&model));
        for (int i = 0; i < 10; i++)
            model_train(program, &model);
        assert_int_equal(program->place.began, program->step_op);
        assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
        assert_no_mistake(program);
        model_free(program, &model);
        program_destroy(program);
    }
}

static void accumulate(struct program *program, struct model *model, uint32_t times)
{
    program_step(program);
    for (uint32_t m = 0; m < times; m++)
        model_micro_step(program, model, m);
    model_update(program, model);
}

/* Gradient accumulation: the micro-steps are found first; by the time of the third repetition the iteration is all of them
 * and the update. */
static void accumulation_becomes_one_iteration(void **state)
{
    for (uint32_t times = 2; times <= 16; times *= 2)
        for (int lazy = 0; lazy < 2; lazy++) {
            struct program *program = program_create(1 << 16, 1);
            struct model model = model_plain();
            model.grads_stay = true;
            model.lazy_states = lazy;
            const uint32_t part = model_length(&model) - model.layers, length = times * part + model.layers;
            program->whole_length = length;
            model_setup(program, &model);
            for (int i = 0; i < 3 + lazy; i++)
                accumulate(program, &model, times);
            model_micro_step(program, &model, 0);
            if (program_followed(program) != length)
                print_error("# times %u lazy %d: %u of %u\n", times, lazy, program_followed(program), length);
            assert_int_equal(program_followed(program), length);
            for (uint32_t m = 1; m < times; m++)
                model_micro_step(program, &model, m);
            model_update(program, &model);
            for (int i = 0; i < 5; i++) {
                accumulate(program, &model, times);
                assert_int_equal(program->place.began, program->step_op);
                assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
            }
            assert_no_mistake(program);
            model_free(program, &model);
            program_destroy(program);
        }
}

/* The first update fills the states before it uses them, so that it is longer than any other: the iteration is known before
 * the second one like it has ended all the same. */
static void accumulation_with_a_longer_first_update_is_known_by_the_end_of_the_third(void **state)
{
    for (uint32_t times = 2; times <= 16; times *= 2) {
        struct program *program = program_create(1 << 16, 1);
        struct model model = model_plain();
        model.grads_stay = true;
        const uint32_t part = model_length(&model) - model.layers, length = times * part + model.layers;
        program->whole_length = length;
        model_setup(program, &model);
        for (int i = 0; i < 3; i++) {
            program_step(program);
            for (uint32_t m = 0; m < times; m++)
                model_micro_step(program, &model, m);
            for (uint32_t l = 0; l < model.layers && i == 0; l++)
                program_op(program, SPW_ITERATION_LAUNCH, 970, 1, 1 + l, &model.state[l], 1);
            model_update(program, &model);
        }
        assert_int_equal(program_followed(program), length);
        assert_int_equal(program->wrong_sure, 0);
        model_free(program, &model);
        program_destroy(program);
    }
}

/* An evaluation every seven steps is not part of the iteration, whatever its batch size and however many batches it takes.
 */
static void evaluation_is_not_part_of_the_iteration(void **state)
{
    for (int v = 0; v < 24; v++) {
        struct program *program = program_create(1 << 16, 1);
        struct model model = model_plain();
        model.in_place = v / 12;
        model.grads_stay = model.in_place;
        model_setup(program, &model);
        for (int i = 0; i < 70; i++) {
            model_train(program, &model);
            if (i >= 2 && i % 7 != 0) {
                assert_int_equal(program_followed(program), model_length(&model));
                assert_int_equal(program->place.began, program->step_op);
                assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
            }
            for (int e = 0; i % 7 == 6 && e <= v % 12 / 2; e++)
                model_evaluate(program, &model, v % 2 ? model.batch : 2 * model.batch);
        }
        assert_no_mistake(program);
        model_free(program, &model);
        program_destroy(program);
    }
}

/* Logging, whether every k steps or when it likes, leaves the iteration as it is, and the place is found again at once. */
static void logging_is_only_noise(void **state)
{
    for (int every = 0; every <= 10; every += 1 + !every) /* every step: then it belongs to the iteration */
        for (uint32_t kernels = 0; kernels < 4; kernels++) {
            struct program *program = program_create(1 << 16, every + 1);
            struct model model = model_plain();
            model_setup(program, &model);
            for (int i = 0; i < 60; i++) {
                model_train(program, &model);
                if (i >= 5) {
                    if (program_followed(program) != model_length(&model))
                        print_error("# every %d kernels %u: %u of %u\n", every, kernels, program_followed(program),
                                    model_length(&model));
                    assert_int_equal(program_followed(program), model_length(&model));
                    assert_int_equal(program->place.began, program->step_op);
                    assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
                }
                if (every ? i % every == 0 : program_random(program, 4) == 0)
                    model_log(program, &model, kernels);
            }
            assert_no_mistake(program);
            model_free(program, &model);
            program_destroy(program);
        }
}

/* The last batch of every epoch is smaller. */
static void short_last_batch_does_not_disturb(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = model_plain();
    model_setup(program, &model);
    for (int i = 0; i < 80; i++) {
        model.batch = i % 8 == 7 ? 3 : 8;
        model_train(program, &model);
        if (i >= 2 && i % 8 != 7) {
            assert_int_equal(program_followed(program), model_length(&model));
            assert_int_equal(program->place.began, program->step_op);
            assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
        }
    }
    assert_no_mistake(program);
    model_free(program, &model);
    program_destroy(program);
}

/* A loader's thread allocates and copies the next step's data whenever it likes. */
static void loader_may_come_at_any_time(void **state)
{
    for (int seed = 1; seed <= 20; seed++) {
        struct program *program = program_create(1 << 16, seed);
        struct model model = model_plain();
        model.loader = true;
        model_setup(program, &model);
        for (int i = 0; i < 40; i++) {
            model_train(program, &model);
            if (i >= 3)
                assert_int_equal(program_shape(program).backbone, model_length(&model) - 1);
        }
        assert_true(program->off < program->ops / 8);
        assert_no_mistake(program);
        model_free(program, &model);
        program_destroy(program);
    }
}

/* The program's own word about where an iteration begins chooses the boundary. */
static void hints_choose_the_boundary(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = model_plain();
    model_setup(program, &model);
    for (int i = 0; i < 10; i++) {
        program_step(program);
        model_micro_step(program, &model, 0);
        spw_iteration_hint(program->detector);
        model_update(program, &model);
    }
    assert_int_equal(program_followed(program), model_length(&model));
    assert_int_equal(program->place.began, program->step_op + model.input + 3 * model.layers + 1);
    assert_no_mistake(program);
    model_free(program, &model);
    program_destroy(program);
}

/* What never repeats is never called an iteration, and memory stays bounded. */
static void no_period_is_reported_where_there_is_none(void **state)
{
    struct program *program = program_create(1 << 14, 77);
    struct object object[64];
    for (int i = 0; i < 64; i++)
        object[i] = (struct object){program_alloc(program, 4096 * (i % 5 + 1), i + 1), 4096 * (i % 5 + 1)};
    for (int i = 0; i < 400000; i++) {
        const uint64_t which = program_random(program, 64);
        program_op(program, SPW_ITERATION_LAUNCH, 1 + program_random(program, 6), 1, i + 100, &object[which], 1);
        if (program_random(program, 3) == 0) {
            program_free(program, object[which].id);
            object[which].bytes = 4096 * (1 + program_random(program, 5));
            object[which].id = program_alloc(program, object[which].bytes, i + 100);
        }
    }
    assert_int_equal(spw_iteration_shape_count(program->detector), 0);
    assert_true(spw_iteration_memory_bytes(program->detector) < (1 << 14) * 260);
    program_destroy(program);
}

/* Another model in the same program is noticed and learned; the old one's ordinals are not given any more. */
static void another_model_is_learned_anew(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model first = model_plain(), second = model_plain();
    second.layers = 9;
    second.seed = 11;
    model_setup(program, &first);
    for (int i = 0; i < 30; i++)
        model_train(program, &first);
    const uint32_t old = program->place.shape;
    model_free(program, &first);
    model_setup(program, &second);
    for (int i = 0; i < 20; i++) {
        model_train(program, &second);
        if (i >= 2) {
            assert_int_equal(program_followed(program), model_length(&second));
            assert_int_equal(program->place.began, program->step_op);
            assert_int_not_equal(program->place.shape, old);
        }
    }
    assert_int_equal(program->wrong_sure, 0);
    model_free(program, &second);
    program_destroy(program);
}

/* Models of one form that are trained in turn call the same all the time, with other tensors. */
static void models_in_turn_are_one_iteration(void **state)
{
    for (uint32_t count = 2; count <= 4; count++) {
        struct program *program = program_create(1 << 16, 1);
        struct model models[4];
        for (uint32_t m = 0; m < count; m++) {
            models[m] = model_plain();
            model_setup(program, &models[m]);
        }
        uint64_t began = 0;
        for (int i = 0; i < 20; i++) {
            program_step(program);
            for (uint32_t m = 0; m < count; m++) {
                model_micro_step(program, &models[m], 0);
                model_update(program, &models[m]);
            }
            if (i < 4)
                continue;
            assert_int_equal(program_followed(program), count * model_length(&models[0]));
            assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
            if (i > 4)
                assert_int_equal(program->place.began - began, count * model_length(&models[0]));
            began = program->place.began;
        }
        assert_no_mistake(program);
        for (uint32_t m = 0; m < count; m++)
            model_free(program, &models[m]);
        program_destroy(program);
    }
}

/* A loop over what is there, of eight launches of its own. */
static void go_around(struct program *program, const struct object *kept, uint64_t which, unsigned times)
{
    while (times-- > 0) {
        program_step(program);
        for (uint64_t i = 0; i < 8; i++)
            program_op(program, SPW_ITERATION_LAUNCH, 100 * which + i, 1, 100 * which + i, kept, 3);
    }
}

/* As many loops as can be known at once. What comes in between for the second time is one more, and takes the place of the
 * one that was not seen for the longest time, which is the one that the program goes back to just then. */
static void a_loop_that_loses_its_place_as_it_comes_back_is_learned_anew(void **state)
{
    (void)mallopt(M_PERTURB, 0x5a); /* what is freed is no pointer any more */
    struct program *program = program_create(1 << 16, 1);
    const struct object kept[] = {
        {program_alloc(program, 512, 1), 512}, {program_alloc(program, 512, 2), 512}, {program_alloc(program, 512, 3), 512}};
    for (uint64_t which = 1; which <= SPW_ITERATION_SHAPES; which++)
        go_around(program, kept, which, 5);
    assert_int_equal(spw_iteration_shape_count(program->detector), SPW_ITERATION_SHAPES);
    go_around(program, kept, 50, 1);
    go_around(program, kept, SPW_ITERATION_SHAPES, 3);
    go_around(program, kept, 50, 1);
    for (unsigned i = 0; i < 5; i++) {
        go_around(program, kept, 1, 1);
        assert_true(program->place.sure == SPW_ITERATION_NO || program_followed(program) == 8);
    }
    assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
    assert_int_equal(program->wrong_sure, 0);
    program_destroy(program);
    (void)mallopt(M_PERTURB, 0);
}

/* One operation more in every iteration from now on, which begins as it always did: however often the old one came, the new
 * one is expected from its third time on. */
static void an_operation_that_comes_to_stay_is_expected_soon(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = model_plain();
    model_setup(program, &model);
    for (int i = 0; i < 200; i++)
        model_train(program, &model);
    const uint32_t before = program_followed(program);
    for (int i = 0; i < 20; i++) {
        const uint64_t likely = program->likely, off = program->off;
        program_step(program);
        model_micro_step(program, &model, 0);
        program_op(program, SPW_ITERATION_LAUNCH, 777, 1, 777, &model.weight[2], 1);
        model_update(program, &model);
        if (i < 3)
            continue;
        assert_int_equal(program_followed(program), before + 1);
        assert_int_equal(program->likely, likely);
        assert_int_equal(program->off, off);
    }
    assert_int_equal(program->wrong_sure, 0);
    model_free(program, &model);
    program_destroy(program);
}

/* A step that keeps `bytes` for ever, at its end or between its passes. */
static void train_and_keep(struct program *program, struct model *model, uint64_t bytes, bool at_the_end)
{
    program_step(program);
    model_micro_step(program, model, 0);
    if (!at_the_end)
        model_keep(program, model, bytes);
    model_update(program, model);
    if (at_the_end)
        model_keep(program, model, bytes);
}

static struct model model_of_half_a_mebibyte(void)
{
    return (struct model){.layers = 12, .seed = 5, .batch = 8, .times = 1, .equal = true, .momentum = true, .input = true};
}

/* Every step keeps its loss: the live set is never the same again, and the iteration is as sure as any. */
static void a_little_that_each_iteration_keeps_does_not_hide_it(void **state)
{
    for (unsigned variant = 0; variant < 8; variant++) {
        struct program *program = program_create(1 << 16, 1);
        struct model model = model_of_half_a_mebibyte();
        model.grads_stay = variant & 1; /* the update is as good an end as the loss behind it, but for its few bytes */
        model.lazy_states = variant & 4;
        model_setup(program, &model);
        for (int i = 0; i < 1000; i++) {
            train_and_keep(program, &model, 4, variant & 2);
            if (i < 2 + model.lazy_states)
                continue;
            assert_int_equal(program_followed(program), model_length(&model) + 1);
            assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
            assert_int_equal(program->place.began, program->step_op);
        }
        assert_no_mistake(program);
        model_free(program, &model);
        program_destroy(program);
    }
}

/* As many losses as there are by now say nothing of how much an iteration uses of what is kept. */
static void an_iteration_is_learned_beside_many_losses(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = model_of_half_a_mebibyte();
    model_setup(program, &model);
    for (int i = 0; i < 1000; i++)
        train_and_keep(program, &model, 4, true);
    for (int i = 0; i < 4; i++) {
        program_step(program);
        model_micro_step(program, &model, 0);
        program_op(program, SPW_ITERATION_LAUNCH, 777, 1, 777, &model.weight[2], 1);
        model_update(program, &model);
        model_keep(program, &model, 4);
    }
    assert_int_equal(program_followed(program), model_length(&model) + 2);
    assert_int_equal(program->wrong_sure, 0);
    model_free(program, &model);
    program_destroy(program);
}

/* One part in a thousand of what lives is a tensor among others, however small: nothing repeats where each step keeps one.
 */
static void much_that_each_iteration_keeps_is_growth(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = model_of_half_a_mebibyte();
    model_setup(program, &model);
    for (int i = 0; i < 20; i++)
        train_and_keep(program, &model, 600, true);
    assert_int_equal(program->found_op, UINT64_MAX);
    model_free(program, &model);
    program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_loop_is_found_within_three_iterations),
        cmocka_unit_test(warm_up_that_differs_is_left_behind),
        cmocka_unit_test(accumulation_becomes_one_iteration),
        cmocka_unit_test(accumulation_with_a_longer_first_update_is_known_by_the_end_of_the_third),
        cmocka_unit_test(evaluation_is_not_part_of_the_iteration),
        cmocka_unit_test(logging_is_only_noise),
        cmocka_unit_test(short_last_batch_does_not_disturb),
        cmocka_unit_test(loader_may_come_at_any_time),
        cmocka_unit_test(hints_choose_the_boundary),
        cmocka_unit_test(no_period_is_reported_where_there_is_none),
        cmocka_unit_test(another_model_is_learned_anew),
        cmocka_unit_test(models_in_turn_are_one_iteration),
        cmocka_unit_test(an_operation_that_comes_to_stay_is_expected_soon),
        cmocka_unit_test(a_little_that_each_iteration_keeps_does_not_hide_it),
        cmocka_unit_test(an_iteration_is_learned_beside_many_losses),
        cmocka_unit_test(much_that_each_iteration_keeps_is_growth),
        cmocka_unit_test(a_loop_that_loses_its_place_as_it_comes_back_is_learned_anew),
    };
    return cmocka_run_group_tests_name("iteration", tests, NULL, NULL);
}
