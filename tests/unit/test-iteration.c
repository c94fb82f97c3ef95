/* test-iteration.c - the detector finds what a program repeats, and never answers with a wrong ordinal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "programs.h"

static struct model plain(void)
{
    return (struct model){.layers = 6, .seed = 3, .batch = 8, .times = 1, .momentum = true, .input = true};
}

/* Operations of one iteration of the model, without accumulation. */
static uint32_t length_of(const struct model *model)
{
    return model->input + model->layers * model->times * 3 + 1 + model->layers;
}

static void assert_no_mistake(const struct program *program)
{
    assert_int_equal(program->wrong_sure, 0);
    assert_int_equal(program->wrong_likely, 0);
    assert_int_equal(program->wrong_allocs, 0);
}

/* A plain loop is found by the end of its third iteration, with the right length and the right boundary. */
static void plain_loop_is_found_within_three_iterations(void **state)
{
    struct program *program = program_create(1 << 16, 1);
    struct model model = plain();
    model_setup(program, &model);
    for (int i = 0; i < 3; i++)
        model_train(program, &model);
    assert_int_not_equal(program->found_op, UINT64_MAX);
    assert_int_equal(program_shape(program).length, length_of(&model));
    assert_int_equal(program->place.began, program->step_op);
    for (int i = 0; i < 20; i++) {
        model_train(program, &model);
        assert_int_equal(program->step_begins, 1);
        assert_int_equal(program->place.began, program->step_op);
        assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
    }
    assert_no_mistake(program);
    assert_true(program->right_allocs > 0);
    model_free(program, &model);
    program_destroy(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_loop_is_found_within_three_iterations),
    };
    return cmocka_run_group_tests_name("iteration", tests, NULL, NULL);
}
