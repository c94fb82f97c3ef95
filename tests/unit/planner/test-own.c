/* test-own.c - what is left of a budget for tensors, and which budget leaves so much. */
#include "attempt.h"
#include "plan/own.h"

enum { GRANULE = 65536 };

static void a_run_takes_a_stash_only_where_it_may_replay(void **state)
{
    const struct spw_own own = {.granule_bytes = GRANULE, .slab_bytes = 3 * GRANULE, .workspace_bytes = GRANULE};
    assert_int_equal(spw_own_rest(&own, 100 * GRANULE, false), 97 * GRANULE);
    assert_int_equal(spw_own_rest(&own, 100 * GRANULE, true), 95 * GRANULE);
    assert_int_equal(spw_own_rest(&own, 200 * GRANULE, true), 193 * GRANULE); /* the stash is a 64th */
    assert_int_equal(spw_own_rest(&own, 2 * GRANULE, false), 0);
    assert_int_equal(spw_own_rest(&(struct spw_own){.slab_bytes = 5}, 100, true), 100); /* of an unknown machine */
}

static void the_budget_for_a_rest_is_the_smallest_that_leaves_it(void **state)
{
    const struct spw_own own = {.granule_bytes = GRANULE, .slab_bytes = 1000};
    for (uint64_t rest = 1; rest < 700 * GRANULE; rest += 12345) {
        const uint64_t budget = spw_own_budget_for(&own, rest, true);
        assert_true(spw_own_rest(&own, budget, true) >= rest);
        assert_true(spw_own_rest(&own, budget - 1, true) < rest || spw_own_rest(&own, budget, true) > rest);
    }
}

static void where_little_is_lacking_less_is_left_alone(void **state)
{
    struct spw_graph *graph = line();
    const uint64_t peak = graph->peak_bytes;
    assert_int_equal(spw_own_to_plan_with(graph, peak, 0.5), peak);
    assert_int_equal(spw_own_to_plan_with(graph, peak - 2, 0.5), peak - 3);
    assert_int_equal(spw_own_to_plan_with(graph, peak / 4, 0.5), peak / 4 - peak / 8);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_takes_a_stash_only_where_it_may_replay),
        cmocka_unit_test(the_budget_for_a_rest_is_the_smallest_that_leaves_it),
        cmocka_unit_test(where_little_is_lacking_less_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
