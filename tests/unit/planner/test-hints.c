/* test-hints.c - where a program says that its iterations begin, the detector finds just those, however they look. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "programs.h"

static void assert_no_mistake(const struct program *program)
{
    assert_int_equal(program->wrong_sure, 0);
    assert_int_equal(program->wrong_likely, 0);
    assert_int_equal(program->wrong_allocs, 0);
}

/* An iteration of `parts` parts that are all the same, each with an update of its own. */
static void train_in_parts(struct program *program, struct model *model, uint32_t parts, bool hint)
{
    program_step(program);
    if (hint)
        spw_iteration_hint(program->detector);
    for (uint32_t part = 0; part < parts; part++) {
        model_micro_step(program, model, part);
        model_update(program, model);
    }
}

static struct program *begin(struct model *model, uint32_t parts)
{
    struct program *program = program_create(1 << 16, 1);
    *model = model_plain();
    program->whole_length = parts * model_length(model);
    model_setup(program, model);
    return program;
}

static void end(struct program *program, struct model *model)
{
    model_free(program, model);
    program_destroy(program);
}

static void assert_on_the_whole(const struct program *program)
{
    assert_int_equal(program_followed(program), program->whole_length);
    assert_int_equal(program->place.began, program->step_op);
    assert_int_equal(program->place.sure, SPW_ITERATION_SURE);
    assert_int_equal(program->step_begins, 1);
}

/* Nothing but a hint tells two equal halves of an iteration from two iterations. */
static void equal_parts_are_told_from_iterations_by_hints_alone(void **state)
{
    for (uint32_t parts = 2; parts <= 4; parts++)
        for (int hint = 0; hint < 2; hint++) {
            struct model model;
            struct program *program = begin(&model, parts);
            for (int i = 0; i < 12; i++) {
                train_in_parts(program, &model, parts, hint);
                if (hint && i >= 3)
                    assert_on_the_whole(program);
            }
            if (!hint)
                assert_int_equal(program_followed(program), model_length(&model));
            assert_int_equal(spw_iteration_shape_count(program->detector), 1);
            assert_no_mistake(program);
            end(program, &model);
        }
}

/* A boundary lies where the hint was given, before the first operation's own memory and not behind it. */
static void what_is_allocated_after_the_hint_belongs_to_the_iteration(void **state)
{
    enum { WEIGHT = 4096, INPUT = 512 };
    struct program *program = program_create(1 << 16, 1);
    struct object touched[2] = {{.id = program_alloc(program, WEIGHT, 1), .bytes = WEIGHT}};
    uint64_t before = program_alloc(program, INPUT, 2);
    for (int i = 0; i < 8; i++) {
        program_step(program);
        spw_iteration_hint(program->detector);
        touched[1] = (struct object){.id = program_alloc(program, INPUT, 2), .bytes = INPUT};
        program_op(program, SPW_ITERATION_COPY_H2D, 0, INPUT, 3, &touched[1], 1);
        for (uint64_t k = 0; k < 5; k++)
            program_op(program, SPW_ITERATION_LAUNCH, 10 + k, 1, 4 + k, touched, 2);
        program_free(program, before);
        before = touched[1].id;
    }
    assert_int_equal(program_followed(program), 6);
    assert_int_equal(program_shape(program).boundary_live_bytes, WEIGHT + INPUT);
    assert_int_equal(program->place.began, program->step_op);
    assert_no_mistake(program);
    program_destroy(program);
}

/* A loop inside an iteration is not taken for the iteration even for a while. */
static void no_part_without_a_hint_is_ever_learned(void **state)
{
    struct model model;
    struct program *program = begin(&model, 1);
    const uint32_t part = model_length(&model) - model.layers;
    program->whole_length = 8 * part + model.layers;
    for (int i = 0; i < 6; i++) {
        program_step(program);
        spw_iteration_hint(program->detector);
        for (uint32_t m = 0; m < 8; m++) {
            model_micro_step(program, &model, m);
            struct spw_iteration_shape shape = program_shape(program);
            assert_true(shape.length == 0 || shape.length == program->whole_length);
        }
        model_update(program, &model);
    }
    assert_on_the_whole(program);
    assert_no_mistake(program);
    end(program, &model);
}

/* What was learned before the first hint is forgotten where hints contradict it. */
static void hints_that_come_late_replace_what_was_learned(void **state)
{
    for (int late = 1; late < 12; late++) {
        struct model model;
        struct program *program = begin(&model, 2);
        for (int i = 0; i < late; i++)
            train_in_parts(program, &model, 1, false);
        for (int i = 0; i < 8; i++)
            train_in_parts(program, &model, 2, true);
        assert_on_the_whole(program);
        assert_int_equal(spw_iteration_shape_count(program->detector), 1);
        end(program, &model);
    }
}

/* A part too many puts the detector half an iteration off; the next hint tells it. */
static void the_next_hint_puts_right_what_came_in_between(void **state)
{
    struct model model;
    struct program *program = begin(&model, 2);
    for (int i = 0; i < 6; i++)
        train_in_parts(program, &model, 2, true);
    const uint32_t shape = program->place.shape;
    model_micro_step(program, &model, 0);
    model_update(program, &model);
    train_in_parts(program, &model, 2, true);
    assert_int_equal(program->place.shape, shape);
    assert_int_equal(program->place.began, program->step_op);
    for (int i = 0; i < 4; i++) {
        train_in_parts(program, &model, 2, true);
        assert_on_the_whole(program);
    }
    assert_no_mistake(program);
    end(program, &model);
}

/* Evaluations have no hint: they stay shapes of their own, or noise. */
static void what_has_no_hint_in_between_does_not_disturb(void **state)
{
    struct model model;
    struct program *program = begin(&model, 2);
    for (int i = 0; i < 60; i++) {
        train_in_parts(program, &model, 2, true);
        if (i >= 10)
            assert_int_equal(program_followed(program), program->whole_length);
        if (i >= 10 && i % 7 >= 2)
            assert_on_the_whole(program);
        for (int k = 0; i % 7 == 6 && k < 3; k++)
            model_evaluate(program, &model, 8);
    }
    end(program, &model);
}

/* A hint that came once, or no longer comes, keeps nobody from finding the iteration. */
static void hints_that_stopped_are_not_waited_for(void **state)
{
    for (int hints = 1; hints <= 3; hints++) {
        struct model model;
        struct program *program = begin(&model, 1);
        for (int i = 0; i < hints; i++) {
            spw_iteration_hint(program->detector);
            model_log(program, &model, 3 + (uint32_t)i);
        }
        for (uint64_t i = 0; i < 5; i++)
            train_in_parts(program, &model, 1, false);
        assert_int_equal(program_followed(program), 0);
        while (program->bones < (1 << 16) + (1 << 14))
            train_in_parts(program, &model, 1, false);
        assert_on_the_whole(program);
        end(program, &model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_parts_are_told_from_iterations_by_hints_alone),
        cmocka_unit_test(what_is_allocated_after_the_hint_belongs_to_the_iteration),
        cmocka_unit_test(no_part_without_a_hint_is_ever_learned),
        cmocka_unit_test(hints_that_come_late_replace_what_was_learned),
        cmocka_unit_test(the_next_hint_puts_right_what_came_in_between),
        cmocka_unit_test(what_has_no_hint_in_between_does_not_disturb),
        cmocka_unit_test(hints_that_stopped_are_not_waited_for),
    };
    return cmocka_run_group_tests_name("hints", tests, NULL, NULL);
}
