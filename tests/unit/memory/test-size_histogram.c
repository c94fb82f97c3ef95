/* test-size_histogram.c - how many pieces of each size have to be there: the worst moment counts, and what turned out to be
 * short.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "size_histogram.h"

static void iterations(struct spw_size_histogram *d, unsigned count)
{
    while (count--)
        spw_size_histogram_iteration(d);
}

static void a_range_wants_pieces_as_large_as_they_come_and_one_for_the_rest(void **state)
{
    struct spw_size_histogram d = {0};
    spw_size_histogram_add(&d, 2 * SPW_PIECE_GRANULES + 5);
    spw_size_histogram_add(&d, 5);
    spw_size_histogram_add(&d, SPW_PIECE_GRANULES);
    spw_size_histogram_add(&d, 0);
    assert_int_equal(spw_size_histogram_of(&d, SPW_PIECE_GRANULES), 3);
    assert_int_equal(spw_size_histogram_of(&d, 5), 2);
    for (uint32_t n = 1; n < SPW_PIECE_GRANULES; n++)
        if (n != 5)
            assert_int_equal(spw_size_histogram_of(&d, n), 0);
}

static void the_moment_at_which_most_were_wanted_counts(void **state)
{
    struct spw_size_histogram d = {0};
    for (int i = 0; i < 7; i++)
        spw_size_histogram_add(&d, 3);
    for (int i = 0; i < 6; i++)
        spw_size_histogram_remove(&d, 3);
    spw_size_histogram_add(&d, 3);
    assert_int_equal(spw_size_histogram_of(&d, 3), 7);
}

static void what_was_wanted_before_regrouping_was_asked_for_is_forgotten(void **state)
{
    struct spw_size_histogram d = {0};
    spw_size_histogram_begin(&d);
    iterations(&d, SPW_SIZE_HISTOGRAM_COUNTS);
    spw_size_histogram_add(&d, 3);
    spw_size_histogram_add(&d, 3);
    spw_size_histogram_was_short(&d, 3, 2);
    spw_size_histogram_remove(&d, 3);
    iterations(&d, 100);
    assert_int_equal(spw_size_histogram_of(&d, 3), 3);
    spw_size_histogram_begin(&d);
    assert_int_equal(spw_size_histogram_of(&d, 3), 1);
}

static void pieces_are_regrouped_only_for_some_iterations_after_it_was_asked_for(void **state)
{
    struct spw_size_histogram d = {0};
    for (int times = 0; times < 2; times++) {
        for (int i = 0; i < 100; i++, iterations(&d, 1))
            assert_false(spw_size_histogram_regroups(&d));
        spw_size_histogram_begin(&d);
        for (int i = 0; i < SPW_SIZE_HISTOGRAM_COUNTS; i++, iterations(&d, 1))
            assert_false(spw_size_histogram_regroups(&d));
        for (int i = 0; i < SPW_SIZE_HISTOGRAM_REGROUPS; i++, iterations(&d, 1))
            assert_true(spw_size_histogram_regroups(&d));
    }
}

static void pieces_are_spared_once_some_iterations_were_followed_and_for_good(void **state)
{
    struct spw_size_histogram d = {0};
    for (int i = 0; i < SPW_SIZE_HISTOGRAM_SETTLES; i++, iterations(&d, 1))
        assert_false(spw_size_histogram_spares(&d));
    assert_true(spw_size_histogram_spares(&d));
    spw_size_histogram_begin(&d);
    iterations(&d, 100);
    assert_true(spw_size_histogram_spares(&d));
}

static void what_was_short_is_found_out_step_by_step(void **state)
{
    struct spw_size_histogram d = {0};
    spw_size_histogram_begin(&d);
    spw_size_histogram_add(&d, 3);
    spw_size_histogram_was_short(&d, 3, 19); /* it is not known yet what is wanted */
    assert_int_equal(spw_size_histogram_of(&d, 3), 1);
    iterations(&d, SPW_SIZE_HISTOGRAM_COUNTS);
    spw_size_histogram_was_short(&d, 3, 0); /* fewer than are known to be wanted: nothing new */
    assert_int_equal(spw_size_histogram_of(&d, 3), 1);
    const uint32_t then[] = {2, 4, 8, 16, 20, 20};
    for (unsigned i = 0; i < sizeof(then) / sizeof(*then); i++) {
        spw_size_histogram_was_short(&d, 3, 19);
        assert_int_equal(spw_size_histogram_of(&d, 3), then[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_wants_pieces_as_large_as_they_come_and_one_for_the_rest),
        cmocka_unit_test(the_moment_at_which_most_were_wanted_counts),
        cmocka_unit_test(what_was_wanted_before_regrouping_was_asked_for_is_forgotten),
        cmocka_unit_test(pieces_are_regrouped_only_for_some_iterations_after_it_was_asked_for),
        cmocka_unit_test(pieces_are_spared_once_some_iterations_were_followed_and_for_good),
        cmocka_unit_test(what_was_short_is_found_out_step_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
