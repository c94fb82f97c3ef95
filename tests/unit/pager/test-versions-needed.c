/* test-versions-needed.c - what dropped blocks need is not written, pinned or freed before they are made again. */
#include "library_inputs.h"
#include "versioned-launches.h"

/* ---- what is needed ---- */

static void what_is_needed_is_not_written_before_it_was_rescued(void **state)
{
    declare_the_first_constant(learn_that_the_last_of_three_is_written());
    needed = spw_versioned_at_locked(a, NULL);
    needed->needed = 1;
    device->dropping = 1;
    assert_int_equal(launch(3, a, b, c), 0); /* reads it */
    assert_int_equal(rescues, 0);
    const uint64_t was = version(a);
    rescue_answer = -ENOMEM;
    assert_int_equal(launch(2, a, b, 0), -ENOMEM);
    assert_int_equal(version(a), was);
    rescue_answer = 0;
    assert_int_equal(launch(2, a, b, 0), 0);
    assert_int_equal(rescues, 2);
    assert_int_equal(needed->needed, 0);
    assert_true(version(a) > was);
    assert_int_equal(launch(2, a, b, 0), 0);
    assert_int_equal(rescues, 2);
}

static void a_slot_that_is_needed_is_rescued_as_well(void **state)
{
    needed = spw_versioned_at_locked(small, NULL);
    needed->needed = 3;
    device->dropping = 1;
    assert_int_equal(launch(1, small + 16, 0, 0), 0);
    assert_int_equal(rescues, 1);
}

/* That it leaves it alone is a belief, unless its type says so. */
static void what_is_needed_is_not_shown_to_a_launch_that_is_believed_to_read(void **state)
{
    const CUdeviceptr both[] = {small, a};
    for (int i = 0; i < 2; i++) {
        struct spw_launch_class *set = learn_that_the_last_of_three_is_written();
        set->declared.constant = 0;
        needed = spw_versioned_at_locked(both[i], NULL);
        needed->needed = 1;
        device->dropping = 1;
        rescues = 0;
        const uint64_t was = version(both[i]);
        assert_int_equal(launch(3, both[i], b, c), 0);
        assert_int_equal(rescues, 1);
        assert_int_equal(version(both[i]), was);
        needed->needed = 1;
        device->dropping = 1;
        declare_the_first_constant(set);
        assert_int_equal(launch(3, both[i], b, c), 0);
        assert_int_equal(rescues, 1);
        needed->needed = 0;
    }
}

/* The library that launches names it as an input: no belief, whatever the kernel's type and other launches of the kind say.
 */
static void what_is_needed_is_shown_to_a_launch_whose_library_only_reads_it(void **state)
{
    const struct spw_library_inputs inputs = {{a}}, other = {{a + 16}};
    struct spw_launch_class *set = learn_that_the_last_of_three_is_written();
    set->declared.constant = 0;
    needed = spw_versioned_at_locked(a, NULL);
    needed->needed = 1;
    device->dropping = 1;
    const uint64_t was = version(a);
    const struct spw_library_inputs around = spw_library_inputs_enter(&inputs);
    assert_int_equal(launch(3, a, b, c), 0);
    assert_int_equal(launch(2, a, b, 0), 0); /* nothing is known of this kind */
    assert_int_equal(rescues, 0);
    assert_int_equal(version(a), was);
    (void)spw_library_inputs_enter(&other); /* elsewhere in the same allocation: that says nothing of `a` */
    assert_int_equal(launch(3, a, b, c), 0);
    assert_int_equal(rescues, 1);
    spw_library_inputs_leave(&around);
    needed->needed = 1;
    device->dropping = 1;
    assert_int_equal(launch(3, a, b, c), 0);
    assert_int_equal(rescues, 2);
}

static void what_nobody_has_written_is_written_even_as_a_librarys_input(void **state)
{
    const CUdeviceptr new = allocate(64 * KIB);
    spw_lock();
    spw_version_reset_locked(spw_versioned_at_locked(new, NULL)); /* as where a plan is followed */
    spw_unlock();
    const struct spw_library_inputs inputs = {{new}};
    const uint64_t was = version(new);
    const struct spw_library_inputs around = spw_library_inputs_enter(&inputs);
    assert_int_equal(launch(2, new, b, 0), 0);
    spw_library_inputs_leave(&around);
    assert_true(version(new) > was);
    assert_int_equal(spw_free(new, NULL), 0);
}

static void a_break_raises_the_epoch_once_nothing_is_dropped(void **state)
{
    const uint64_t epoch = spw_version_epoch;
    device->dropping = 1;
    rescue_answer = -ENOMEM;
    assert_int_equal(spw_versions_break(), -ENOMEM);
    assert_int_equal(spw_version_epoch, epoch);
    rescue_answer = 0;
    assert_int_equal(spw_versions_break(), 0);
    assert_int_equal(spw_version_epoch, epoch + 1);
    assert_int_equal(rescues_of_all, 2);
    assert_int_equal(spw_versions_break(), 0);
    assert_int_equal(rescues_of_all, 2);
    keep_versions(false);
    const uint64_t off = spw_version_epoch;
    assert_int_equal(spw_versions_break(), 0);
    assert_int_equal(spw_version_epoch, off);
}

static void what_is_pinned_has_no_version(void **state)
{
    spw_pin_address(a, "a test says so");
    assert_null(spw_versioned_at_locked(a, NULL));
    assert_non_null(spw_versioned_at_locked(b, NULL));
    assert_non_null(spw_versioned_at_locked(small, NULL));
    spw_pin_address(small, "a test says so");
    assert_null(spw_versioned_at_locked(small, NULL));
    spw_pin_everything("a test says so");
    assert_null(spw_versioned_at_locked(b, NULL));
}

static void writes_outside_of_our_memory_count_where_it_is_a_devices(void **state)
{
    const uint64_t epoch = spw_version_epoch;
    assert_int_equal(spw_versions_break_for(a), 0);
    assert_int_equal(spw_versions_break_for(HOST), 0);
    assert_int_equal(spw_versions_break_for(0x5555), 0);
    assert_int_equal(spw_version_epoch, epoch);
    assert_int_equal(spw_versions_break_for(OUTSIDE), 0);
    assert_int_equal(spw_version_epoch, epoch + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_needed_is_not_written_before_it_was_rescued),
        TEST(a_slot_that_is_needed_is_rescued_as_well),
        TEST(what_is_needed_is_not_shown_to_a_launch_that_is_believed_to_read),
        TEST(what_is_needed_is_shown_to_a_launch_whose_library_only_reads_it),
        TEST(what_nobody_has_written_is_written_even_as_a_librarys_input),
        TEST(a_break_raises_the_epoch_once_nothing_is_dropped),
        TEST(what_is_pinned_has_no_version),
        TEST(writes_outside_of_our_memory_count_where_it_is_a_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
