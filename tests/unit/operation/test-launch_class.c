/* test-launch_class.c - what launches write is learned from what changed, and everything else is taken to be written. */
#include "launch_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "driver.h"
#include "failing-memory.h"
#include "fake-versions.h"
#include "layout.h"
#include "ledger.h"
#include "function_attrs.h"
#include "unlocked.h"

#define FUNCTION ((CUfunction)0x100)
#define OTHER    ((CUfunction)0x200)
#define MODULE   ((const void *)0x10)
#define ALL      UINT64_MAX

static const char *name_of_all = "a_kernel";

static CUresult on_cuFuncGetName(const char **name, CUfunction f)
{
    *name = name_of_all;
    return CUDA_SUCCESS;
}

static CUresult on_cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size)
{
    *offset = 8 * i;
    *size = 8;
    return i < 3 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static int begin(void **state)
{
    name_of_all = "a_kernel";
    spw_driver.cuFuncGetName = on_cuFuncGetName;
    spw_driver.cuFuncGetParamInfo = on_cuFuncGetParamInfo;
    spw_launch_classes_reset();
    spw_layout_forget_all();
    spw_layout_note_function(FUNCTION, MODULE);
    spw_layout_note_function(OTHER, (const void *)0x20);
    (void)spw_layout_of(FUNCTION);
    (void)spw_layout_of(OTHER);
    return 0;
}

/* Seen as often as it takes to be sure. */
static void observe(struct spw_launch_class *set, uint64_t changed, uint64_t telling)
{
    for (unsigned i = 0; i < SPW_CLASS_SURE; i++)
        assert_false(spw_launch_class_observed_locked(set, changed, telling));
}

static void everything_is_written_until_it_was_seen_to_stay_more_than_once(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 3);
    assert_true(spw_launch_class_writes(set, 0) && spw_launch_class_writes(set, 1) && spw_launch_class_writes(set, 2));
    assert_true(spw_launch_class_writes(NULL, 0));
    assert_false(spw_launch_class_observed_locked(set, 4, ALL));
    assert_true(spw_launch_class_writes(set, 0));
    assert_false(spw_launch_class_is_learned(set));
    observe(set, 4, ALL);
    assert_false(spw_launch_class_writes(set, 0) || spw_launch_class_writes(set, 1));
    assert_true(spw_launch_class_writes(set, 2));
    assert_true(spw_launch_class_is_learned(set));
    assert_ptr_equal(spw_launch_class_of_locked(FUNCTION, 1, 3), set);
}

static void an_observation_that_says_nothing_about_an_address_does_not_count(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 3);
    observe(set, 4, ALL & ~(uint64_t)1);
    assert_true(spw_launch_class_writes(set, 0));
    assert_false(spw_launch_class_writes(set, 1));
    assert_false(spw_launch_class_is_learned(set));
}

static void a_function_that_is_not_seen_to_write_is_not_believed(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 2);
    observe(set, 0, ALL);
    assert_true(spw_launch_class_writes(set, 0) && spw_launch_class_writes(set, 1));
    assert_false(spw_launch_class_is_learned(set));
    assert_false(spw_launch_class_observed_locked(set, 2, ALL));
    assert_false(spw_launch_class_writes(set, 0));
}

static void a_write_where_none_was_expected_is_said_and_never_forgotten(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 3);
    observe(set, 4, ALL);
    assert_true(spw_launch_class_observed_locked(set, 2, ALL));
    assert_true(spw_launch_class_writes(set, 1));
    observe(set, 4, ALL);
    assert_true(spw_launch_class_writes(set, 1));
    assert_false(spw_launch_class_writes(set, 0));
}

static void addresses_beyond_those_counted_are_written(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 100);
    observe(set, 1, ALL);
    assert_false(spw_launch_class_writes(set, 63));
    assert_true(spw_launch_class_writes(set, 64));
    assert_true(spw_launch_class_writes(set, 99));
}

static void launches_with_addresses_in_other_places_are_another_class(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked(FUNCTION, 1, 3);
    observe(set, 4, ALL);
    assert_true(spw_launch_class_writes(spw_launch_class_of_locked(FUNCTION, 2, 3), 0));
    assert_true(spw_launch_class_writes(spw_launch_class_of_locked(OTHER, 1, 3), 0));
}

static void a_place_is_spared_once_nothing_was_written_through_it_often_enough(void **state)
{
    struct spw_launch_class *place = spw_launch_class_of_place_locked(FUNCTION, 7);
    assert_false(spw_launch_class_is_spared(NULL));
    assert_false(spw_launch_class_is_spared(place));
    (void)spw_launch_class_observed_locked(place, 0, 1);
    assert_false(spw_launch_class_is_spared(place));
    (void)spw_launch_class_observed_locked(place, 0, 1);
    assert_true(spw_launch_class_is_spared(place));
    assert_false(spw_launch_class_is_spared(spw_launch_class_of_place_locked(FUNCTION, 8)));
    assert_false(spw_launch_class_is_spared(spw_launch_class_of_place_locked(OTHER, 7)));
    (void)spw_launch_class_observed_locked(place, 1, 1);
    assert_false(spw_launch_class_is_spared(place));
    spw_launch_classes_refuted_locked(0, spw_launch_class_bit_of(FUNCTION));
    assert_null(spw_launch_class_of_place_locked(FUNCTION, 8));
    assert_non_null(spw_launch_class_of_place_locked(OTHER, 8));
}

static void what_was_learned_goes_with_the_module(void **state)
{
    static struct spw_device devices[2];
    for (unsigned i = 0; i < 4; i++) {
        struct spw_launch_class *set = spw_launch_class_of_locked(i % 2 ? FUNCTION : OTHER, 1, 3);
        struct spw_probed *probed = spw_probed_of_locked(set, &devices[i / 2]);
        assert_non_null(probed);
        assert_ptr_equal(spw_probed_of_locked(set, &devices[i / 2]), probed);
        assert_ptr_equal(spw_probed_find(set, &devices[i / 2]), probed);
    }
    const uint32_t number = spw_launch_class_of_locked(FUNCTION, 1, 3)->number;
    observe(spw_launch_class_of_locked(FUNCTION, 1, 3), 4, ALL);
    observe(spw_launch_class_of_locked(OTHER, 1, 3), 4, ALL);
    spw_layout_forget(MODULE);
    spw_launch_classes_sweep_locked();
    assert_true(spw_launch_class_writes(spw_launch_class_of_locked(FUNCTION, 1, 3), 0));
    assert_false(spw_launch_class_writes(spw_launch_class_of_locked(OTHER, 1, 3), 0));
    assert_null(spw_launch_class_numbered_locked(FUNCTION, 1, number));
    for (unsigned i = 0; i < 2; i++) {
        assert_null(spw_probed_find(spw_launch_class_of_locked(FUNCTION, 1, 3), &devices[i]));
        assert_ptr_equal(devices[i].probed, spw_probed_find(spw_launch_class_of_locked(OTHER, 1, 3), &devices[i]));
        assert_null(devices[i].probed->next);
        spw_probed_forget_locked(&devices[i]);
        assert_null(devices[i].probed);
    }
}

static void a_function_that_was_wrong_stays_condemned_when_its_module_goes(void **state)
{
    assert_false(spw_function_is_condemned_locked(FUNCTION));
    spw_function_condemn_locked(NULL); /* a copy or set */
    spw_function_condemn_locked(FUNCTION);
    spw_layout_forget(MODULE);
    spw_launch_classes_sweep_locked();
    assert_true(spw_function_is_condemned_locked(FUNCTION));
    assert_false(spw_function_is_condemned_locked(OTHER));
    assert_false(spw_function_is_condemned_locked(NULL));
    assert_true(
        spw_launch_class_writes(spw_launch_class_of_locked(FUNCTION, 1, 3), 0)); /* it says nothing of what it writes */
}

static void where_it_cannot_be_noted_which_function_was_wrong_all_are_condemned(void **state)
{
    memory_fails_after(0);
    spw_function_condemn_locked(FUNCTION);
    assert_true(memory_is_back());
    assert_true(spw_function_is_condemned_locked(FUNCTION));
    assert_true(spw_function_is_condemned_locked(OTHER));
    assert_false(spw_function_is_condemned_locked(NULL));
}

static void kernels_that_talk_to_other_devices_are_known_by_their_names(void **state)
{
    assert_false(spw_launch_class_of_locked(FUNCTION, 1, 3)->is_collective);
    name_of_all = "_Z32ncclDevKernel_AllReduce_Sum_f32_RING_LL";
    assert_true(spw_launch_class_of_locked(FUNCTION, 2, 3)->is_collective);
}

/* ---- what functions were told ---- */

static void only_what_is_told_anew_differs(void **state)
{
    spw_function_attrs_reset();
    assert_true(spw_function_attrs_differs(FUNCTION, 8, 49152));
    assert_false(spw_function_attrs_differs(FUNCTION, 8, 49152));
    assert_true(spw_function_attrs_differs(FUNCTION, 9, 49152));
    assert_true(spw_function_attrs_differs(OTHER, 8, 49152));
    assert_true(spw_function_attrs_differs(FUNCTION, 8, 65536));
    assert_true(spw_function_attrs_differs(FUNCTION, 8, 49152));
    assert_true(spw_function_attrs_differs(NULL, 0, 0));
    assert_false(spw_function_attrs_differs(NULL, 0, 0));
    spw_function_attrs_reset();
    assert_true(spw_function_attrs_differs(FUNCTION, 8, 49152));
}

static void what_many_functions_were_told_is_remembered(void **state)
{
    for (int round = 0; round < 2; round++)
        for (uintptr_t f = 1; f <= 5000; f++)
            assert_int_equal(spw_function_attrs_differs((const void *)(f * 16), (unsigned)(f % 3), f), round == 0);
    spw_function_attrs_reset();
}

static void what_is_given_numbers_that_nobody_observed_is_not_believed(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked((CUfunction)(uintptr_t)0x500, 1, 2);
    const uint32_t first[] = {4, 1, 9}, larger[] = {8, 1, 9}, flagged[] = {8, 2, 9};
    assert_true(spw_launch_class_covers(set, first, 3)); /* nothing is believed before that */
    spw_launch_class_note_numbers_locked(set, first, 3);
    assert_true(spw_launch_class_covers(set, first, 3));
    assert_false(spw_launch_class_covers(set, larger, 3));
    assert_false(spw_launch_class_covers(set, first, 2));
    spw_launch_class_note_numbers_locked(set, larger, 3);
    assert_true(spw_launch_class_covers(set, (uint32_t[]){7, 1, 9}, 3)); /* that number may be any */
    assert_false(spw_launch_class_covers(set, flagged, 3));
    spw_launch_class_note_numbers_locked(set, flagged, 2); /* of another form: says nothing */
    assert_false(spw_launch_class_covers(set, flagged, 3));
    assert_true(spw_launch_class_covers(set, first, 3));
}

static void where_numbers_could_not_be_kept_nothing_is_believed(void **state)
{
    struct spw_launch_class *set = spw_launch_class_of_locked((CUfunction)(uintptr_t)0x510, 1, 2);
    const uint32_t first[] = {4, 1, 9};
    memory_fails_after(0);
    spw_launch_class_note_numbers_locked(set, first, 3);
    assert_true(memory_is_back());
    assert_false(spw_launch_class_covers(set, first, 3));
    spw_launch_class_note_numbers_locked(set, first, 3); /* it would be the second, taken for the first */
    assert_false(spw_launch_class_covers(set, first, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(everything_is_written_until_it_was_seen_to_stay_more_than_once, begin),
        cmocka_unit_test_setup(an_observation_that_says_nothing_about_an_address_does_not_count, begin),
        cmocka_unit_test_setup(a_function_that_is_not_seen_to_write_is_not_believed, begin),
        cmocka_unit_test_setup(a_write_where_none_was_expected_is_said_and_never_forgotten, begin),
        cmocka_unit_test_setup(addresses_beyond_those_counted_are_written, begin),
        cmocka_unit_test_setup(launches_with_addresses_in_other_places_are_another_class, begin),
        cmocka_unit_test_setup(a_place_is_spared_once_nothing_was_written_through_it_often_enough, begin),
        cmocka_unit_test_setup(what_was_learned_goes_with_the_module, begin),
        cmocka_unit_test_setup(a_function_that_was_wrong_stays_condemned_when_its_module_goes, begin),
        cmocka_unit_test_setup(where_it_cannot_be_noted_which_function_was_wrong_all_are_condemned, begin),
        cmocka_unit_test_setup(what_is_given_numbers_that_nobody_observed_is_not_believed, begin),
        cmocka_unit_test_setup(where_numbers_could_not_be_kept_nothing_is_believed, begin),
        cmocka_unit_test_setup(kernels_that_talk_to_other_devices_are_known_by_their_names, begin),
        cmocka_unit_test_setup(only_what_is_told_anew_differs, begin),
        cmocka_unit_test_setup(what_many_functions_were_told_is_remembered, begin),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    spw_launch_classes_reset();
    return failed;
}
