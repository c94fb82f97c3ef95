/* test-chain-memory.c - planners, on a chain, when memory for their bookkeeping runs out: -ENOMEM, and nothing is lost. */
#include <errno.h>

#include "failing-memory.h"
#include "graphs.h"
#include "planners/planners.h"

/* One call fails, after so many; `ret_failed`: it came to that. */
static int plan(const struct spw_planner *planner, const struct spw_plan_request *request, long calls, bool *ret_failed)
{
    const long before = memory_blocks();
    struct spw_schedule schedule;
    assert_int_equal(spw_schedule_init(&schedule, request->graph), 0);
    memory_fails_once_after(calls);
    const int r = planner->make(request, &schedule);
    *ret_failed = memory_is_back();
    spw_schedule_finish(&schedule);
    assert_int_equal(memory_blocks(), before);
    return r;
}

static void every_allocation_may_fail_once(void **state)
{
    static const char *const names[] = {"rotor", "offload", "pofo", "lru", "dtr", "delta", "capuchin"};
    const struct chain_kind kind = {.layers = 6,
                                    .activation_bytes = 1000,
                                    .saved_bytes = 2000,
                                    .parameter_bytes = 100,
                                    .forward_us = 1000,
                                    .backward_us = 2000,
                                    .uneven = 3};
    struct spw_graph *graph = graphs_chain(&kind);
    const struct spw_plan_request request = {.graph = graph,
                                             .device_bytes = graph->peak_bytes * 3 / 5,
                                             .host_bytes = graph->peak_bytes,
                                             .may_copy = true,
                                             .may_replay = true,
                                             .machine = {.duplex = 1}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct spw_planner *planner = spw_planner_find(names[i]);
        bool failed = true;
        long calls = 0;
        for (; failed; calls += 1 + calls / 100) { /* all of the first hundred, then ever fewer */
            const int r = plan(planner, &request, calls, &failed);
            if (r != (failed ? -ENOMEM : 0))
                fail_msg("%s answers %d when allocation %ld %s", names[i], r, calls, failed ? "fails" : "would fail");
        }
        assert_true(calls > 20);
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail_once)};
    return cmocka_run_group_tests_name("chain-memory", tests, NULL, NULL);
}
