/* test-rotor.c - what the dynamic program counts beside the vectors: menus, what backwards leave behind, rounding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "stages/rotor.h"

enum { STAGES = 3 };

/* Three stages of 10 bytes with records of 30, forward 1 us, backward 2 us. */
static void make_even(struct spw_rotor_stage *stages, struct spw_rotor_option *option, uint64_t left_bytes)
{
    *option = (struct spw_rotor_option){.forward_us = 1, .backward_us = 2, .record_bytes = 30};
    for (uint32_t i = 0; i < STAGES; i++)
        stages[i] = (struct spw_rotor_stage){.walk_us = 1,
                                             .input_bytes = i ? 10 : 0,
                                             .gradient_bytes = i ? 10 : 0,
                                             .left_bytes = left_bytes,
                                             .options = option,
                                             .option_count = 1};
}

static double time_within(const struct spw_rotor_stage *stages, uint64_t bytes, uint32_t slots)
{
    struct spw_rotor *rotor;
    assert_int_equal(spw_rotor_create(stages, STAGES, bytes, slots, &rotor), 0);
    const double us = spw_rotor_time(rotor, 0, STAGES - 1, bytes);
    spw_rotor_destroy(rotor);
    return us;
}

static uint64_t least_bytes(const struct spw_rotor_stage *stages, double us)
{
    uint64_t bytes = 1;
    while (bytes < 1000 && !(time_within(stages, bytes, (uint32_t)bytes) <= us))
        bytes++;
    return bytes;
}

static void what_backwards_leave_takes_memory_from_the_stages_before(void **state)
{
    struct spw_rotor_stage stages[STAGES];
    struct spw_rotor_option option;
    make_even(stages, &option, 0);
    /* all saved: three records, and at the end of the forward nothing else */
    assert_int_equal(least_bytes(stages, 9), 90);
    /* the middle one's backward: its record, its input, and a gradient */
    assert_int_equal(least_bytes(stages, 100), 30 + 10 + 10);
    make_even(stages, &option, 20);
    assert_int_equal(least_bytes(stages, 9), 90);
    /* the last one's: its record, a gradient, and what two have left */
    assert_int_equal(least_bytes(stages, 100), 30 + 10 + 2 * 20);
    make_even(stages, &option, 35);
    assert_int_equal(least_bytes(stages, 9), 30 + 10 + 2 * 35);
}

/* Inputs that pass through from the first stage are there anyway, and take no memory as checkpoints. */
static void what_an_earlier_input_contains_is_not_counted_again(void **state)
{
    static const uint64_t nothing[STAGES] = {0};
    struct spw_rotor_stage stages[STAGES];
    struct spw_rotor_option option;
    make_even(stages, &option, 0);
    assert_int_equal(least_bytes(stages, 100), 30 + 10 + 10);
    stages[1].input_since = stages[2].input_since = nothing;
    assert_int_equal(least_bytes(stages, 100), 30 + 10);
}

static void a_stage_takes_the_option_that_pays(void **state)
{
    struct spw_rotor_stage stages[STAGES];
    struct spw_rotor_option even, menu[2];
    make_even(stages, &even, 0);
    menu[0] = even;
    menu[1] = (struct spw_rotor_option){.forward_us = 1, .backward_us = 2.25, .record_bytes = 12};
    stages[0].options = menu;
    stages[0].option_count = 2;
    assert_true(time_within(stages, 90, 90) == 9);
    assert_true(time_within(stages, 80, 80) == 9.25);
    struct spw_rotor *rotor;
    struct spw_rotor_actions actions = {0};
    assert_int_equal(spw_rotor_create(stages, STAGES, 80, 80, &rotor), 0);
    assert_int_equal(spw_rotor_append(rotor, 0, STAGES - 1, 80, &actions), 0);
    assert_int_equal(actions.list[0].act, SPW_ROTOR_SAVE);
    assert_int_equal(actions.list[0].option, 1);
    assert_int_equal(actions.list[actions.count - 1].act, SPW_ROTOR_BACK);
    assert_int_equal(actions.list[actions.count - 1].option, 1);
    spw_rotor_actions_finish(&actions);
    spw_rotor_destroy(rotor);
}

/* With few slots a schedule may be missed, but none is found that does not fit. */
static void rounding_never_makes_memory(void **state)
{
    struct spw_rotor_stage stages[STAGES];
    struct spw_rotor_option option;
    make_even(stages, &option, 7);
    for (uint64_t bytes = 1; bytes < 150; bytes++) {
        const double exact = time_within(stages, bytes, (uint32_t)bytes);
        for (uint32_t slots = 1; slots < bytes; slots = 2 * slots + 1) {
            const double rounded = time_within(stages, bytes, slots);
            assert_true(rounded >= exact || (isinf(rounded) && isinf(exact)));
        }
    }
    assert_true(time_within(stages, 10000, 100) == 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_backwards_leave_takes_memory_from_the_stages_before),
        cmocka_unit_test(what_an_earlier_input_contains_is_not_counted_again),
        cmocka_unit_test(a_stage_takes_the_option_that_pays),
        cmocka_unit_test(rounding_never_makes_memory),
    };
    return cmocka_run_group_tests_name("rotor", tests, NULL, NULL);
}
