/* test-iteration-remembered.c - an iteration that another process has learned is known at once, whatever the program turns
 * out to do, and whatever the bytes say that tell of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "failing-memory.h"
#include "programs.h"

enum { MUTATIONS = 100000 };

struct saved {
    void *bytes;
    size_t size;
    uint64_t hash;
};

/* What a run of so many iterations has learned. */
static struct saved learned_by(struct model model, int iterations)
{
    struct program *program = program_create(1 << 16, 1);
    struct saved saved;
    model_setup(program, &model);
    for (int i = 0; i < iterations; i++)
        model_train(program, &model);
    const struct spw_iteration_shape shape = program_shape(program);
    assert_int_equal(shape.length, model_length(&model));
    assert_int_equal(spw_iteration_save_shape(program->detector, shape.id, &saved.bytes, &saved.size), 0);
    assert_int_equal(spw_iteration_save_shape(program->detector, 99, &saved.bytes, &saved.size), -ENOENT);
    saved.hash = shape.hash;
    model_free(program, &model);
    program_destroy(program);
    return saved;
}

/* The end of the first iteration is recognised, and the second is followed surely from its first operations on. */
static void what_another_process_has_learned_is_known_in_the_first_iteration(void **state)
{
    (void)state;
    for (int variant = 0; variant < 8; variant++) {
        struct model model = model_plain();
        model.grads_stay = variant & 1;
        model.input = variant & 2;
        model.equal = variant & 4;
        struct saved saved = learned_by(model, 6);
        struct program *program = program_create(1 << 16, 1);
        assert_int_equal(spw_iteration_remember(program->detector, saved.bytes, saved.size), 0);
        assert_int_equal(spw_iteration_shape_count(program->detector), 0); /* it was not met yet */
        model_setup(program, &model);
        model_train(program, &model);
        assert_int_equal(program_followed(program), model_length(&model));
        assert_int_equal(program_shape(program).hash, saved.hash);
        for (int i = 0; i < 5; i++) {
            const uint64_t sure = program->sure, ops = program->ops;
            model_train(program, &model);
            assert_int_equal(program->place.began, program->step_op);
            assert_in_range(program->sure - sure, program->ops - ops - 16, program->ops - ops);
        }
        assert_int_equal(spw_iteration_shape_count(program->detector), 1);
        assert_int_equal(program->wrong_sure, 0);
        assert_int_equal(program->wrong_allocs, 0);
        model_free(program, &model);
        program_destroy(program);
        free(saved.bytes);
    }
}

/* A program that does something else is learned as soon as if nothing had been remembered. */
static void a_program_that_does_something_else_is_learned_as_ever(void **state)
{
    (void)state;
    struct model model = model_plain();
    struct saved saved = learned_by(model, 6);
    for (int variant = 0; variant < 4; variant++) {
        struct model other = model_plain();
        other.layers += variant == 0 ? 2 : 0;
        other.layers -= variant == 1 ? 3 : 0;
        other.batch *= variant == 2 ? 2 : 1;
        other.momentum = variant != 3;
        struct program *with = program_create(1 << 16, 1), *without = program_create(1 << 16, 1);
        assert_int_equal(spw_iteration_remember(with->detector, saved.bytes, saved.size), 0);
        struct model same = other;
        model_setup(with, &other);
        model_setup(without, &same);
        for (int i = 0; i < 6; i++) {
            model_train(with, &other);
            model_train(without, &same);
            if (program_followed(without))
                assert_int_equal(program_followed(with), program_followed(without));
        }
        assert_int_equal(program_followed(with), model_length(&other));
        assert_int_equal(with->wrong_sure, 0);
        assert_int_equal(with->wrong_allocs, 0);
        model_free(with, &other);
        model_free(without, &same);
        program_destroy(with);
        program_destroy(without);
    }
    free(saved.bytes);
}

static void so_many_are_remembered(void **state)
{
    (void)state;
    struct saved saved = learned_by(model_plain(), 6);
    struct program *program = program_create(1 << 16, 1);
    unsigned count = 0;
    while (count < 1000 && spw_iteration_remember(program->detector, saved.bytes, saved.size) == 0)
        count++;
    assert_int_equal(count, 32);
    assert_int_equal(spw_iteration_remember(program->detector, saved.bytes, saved.size), -ENOSPC);
    program_destroy(program);
    free(saved.bytes);
}

/* Whatever bytes are changed: they are refused, or tell of a shape that harms nobody. */
static void whatever_bytes_tell_nothing_wrong_is_sure(void **state)
{
    (void)state;
    struct model model = model_plain();
    struct saved saved = learned_by(model, 6);
    uint64_t seed = 1, taken = 0;
    for (unsigned i = 0; i < MUTATIONS; i++) {
        struct program *program = i % 64 ? NULL : program_create(1 << 12, 1);
        struct spw_iteration *detector = program ? program->detector : NULL;
        if (!detector)
            assert_int_equal(spw_iteration_create(1 << 12, &detector), 0);
        char *bytes = malloc(saved.size);
        memcpy(bytes, saved.bytes, saved.size);
        for (unsigned flips = 1 + i % 4; flips; flips--) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[(seed >> 33) % saved.size] = (char)(seed >> 20);
        }
        const size_t size = i % 8 ? saved.size : (seed >> 33) % saved.size;
        char *part = realloc(bytes, size ? size : 1); /* so that a read past its end is seen */
        const int r = spw_iteration_remember(detector, part, size);
        assert_true(r == 0 || r == -EBADMSG);
        taken += r == 0;
        free(part);
        if (program) {
            struct model again = model_plain();
            model_setup(program, &again);
            for (int k = 0; k < 4; k++)
                model_train(program, &again);
            model_free(program, &again);
            program_destroy(program);
        } else {
            spw_iteration_destroy(detector);
        }
    }
    assert_in_range(taken, MUTATIONS / 20, MUTATIONS - MUTATIONS / 20); /* both happened */
    free(saved.bytes);
}

static void without_memory_nothing_is_remembered(void **state)
{
    (void)state;
    struct saved saved = learned_by(model_plain(), 6);
    struct spw_iteration *detector;
    assert_int_equal(spw_iteration_create(1 << 12, &detector), 0);
    int r = -ENOMEM;
    for (long allowed = 0; r == -ENOMEM; allowed++) {
        memory_fails_after(allowed);
        r = spw_iteration_remember(detector, saved.bytes, saved.size);
        (void)memory_is_back();
        assert_in_range(allowed, 0, 10);
    }
    assert_int_equal(r, 0);
    spw_iteration_destroy(detector);
    free(saved.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_another_process_has_learned_is_known_in_the_first_iteration),
        cmocka_unit_test(a_program_that_does_something_else_is_learned_as_ever),
        cmocka_unit_test(so_many_are_remembered),
        cmocka_unit_test(whatever_bytes_tell_nothing_wrong_is_sure),
        cmocka_unit_test(without_memory_nothing_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
