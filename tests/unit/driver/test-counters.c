/* test-counters.c - every call that allocates, frees, launches, copies or fills is in exactly one tally. */
#include "count.h"
#include "counters.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <cmocka.h>

static int forget_all(void **state)
{
    memset(spw_counts, 0, sizeof(spw_counts));
    return 0;
}

/* In how many tallies a call is. */
static unsigned tallies_with(enum spw_call call)
{
    unsigned found = 0;
    spw_counts[call].calls = 1;
    for (int kind = 0; kind < SPW_TALLY_COUNT; kind++)
        found += spw_tally_of((enum spw_tally_kind)kind).calls == 1;
    spw_counts[call].calls = 0;
    return found;
}

static bool starts_with(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

static void no_call_counts_twice(void **state)
{
    for (int call = 0; call < SPW_CALL_COUNT; call++)
        if (tallies_with((enum spw_call)call) > 1)
            fail_msg("%s is in several tallies", spw_calls_name((enum spw_call)call));
}

static void every_copy_fill_and_launch_counts(void **state)
{
    for (int call = 0; call < SPW_CALL_COUNT; call++) {
        const char *name = spw_calls_name((enum spw_call)call);
        if ((starts_with(name, "cuMemcpy") || starts_with(name, "cuMemset") || starts_with(name, "cuLaunch")) &&
            !starts_with(name, "cuLaunchHostFunc") && tallies_with((enum spw_call)call) != 1)
            fail_msg("%s is in no tally", name);
    }
}

static void per_thread_and_versioned_forms_count_as_one(void **state)
{
    spw_count(SPW_CALL_cuLaunchKernel, 0);
    spw_count(SPW_CALL_cuLaunchKernel_ptsz, 0);
    spw_count(SPW_CALL_cuLaunchKernelEx, 0);
    spw_count(SPW_CALL_cuGraphLaunch, 0);
    assert_int_equal(spw_tally_of(SPW_TALLY_LAUNCHES).calls, 3);
    assert_int_equal(spw_tally_of(SPW_TALLY_GRAPH_LAUNCHES).calls, 1);
    assert_int_equal(spw_calls_count(SPW_CALL_cuLaunchKernel), 1);
}

static void bytes_are_summed(void **state)
{
    spw_count(SPW_CALL_cuMemAlloc_v2, 100);
    spw_count(SPW_CALL_cuMemAllocAsync_ptsz, 28);
    spw_count(SPW_CALL_cuMemAllocHost_v2, 4096);
    spw_count(SPW_CALL_cuMemFree_v2, 0);
    assert_int_equal(spw_tally_of(SPW_TALLY_ALLOCATIONS).calls, 2);
    assert_int_equal(spw_tally_of(SPW_TALLY_ALLOCATIONS).bytes, 128);
    assert_int_equal(spw_tally_of(SPW_TALLY_FREES).calls, 1);
}

static void tallies_have_names(void **state)
{
    for (int kind = 0; kind < SPW_TALLY_COUNT; kind++)
        assert_non_null(spw_tally_name((enum spw_tally_kind)kind));
    assert_string_equal(spw_tally_name(SPW_TALLY_COPIES_H2D), "copies_h2d");
    assert_string_equal(spw_calls_name(SPW_CALL_cuMemAlloc_v2), "cuMemAlloc_v2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(no_call_counts_twice, forget_all),
        cmocka_unit_test_setup(every_copy_fill_and_launch_counts, forget_all),
        cmocka_unit_test_setup(per_thread_and_versioned_forms_count_as_one, forget_all),
        cmocka_unit_test_setup(bytes_are_summed, forget_all),
        cmocka_unit_test(tallies_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
