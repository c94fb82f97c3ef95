/* test-chain-memory.c - planners, on a chain, when memory for their bookkeeping runs out: -ENOMEM, and nothing is lost. */
#include <errno.h>

#include "graphs.h"

/* The allocation that fails, counted from 1; 0: none. How many were asked for, and how many blocks there are. */
static struct {
    uint64_t fail, asked;
    int64_t blocks;
    bool counting;
} memory;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void __wrap_free(void *block);

static bool fails(void)
{
    return memory.counting && ++memory.asked == memory.fail;
}

void *__wrap_malloc(size_t bytes)
{
    void *block = fails() ? NULL : __real_malloc(bytes);
    memory.blocks += block != NULL;
    return block;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    void *block = fails() ? NULL : __real_calloc(count, bytes);
    memory.blocks += block != NULL;
    return block;
}

void *__wrap_realloc(void *block, size_t bytes)
{
    void *larger = fails() ? NULL : __real_realloc(block, bytes);
    memory.blocks += larger && !block;
    return larger;
}

void __wrap_free(void *block)
{
    memory.blocks -= block != NULL;
    __real_free(block);
}

static int plan(const struct spw_planner *planner, const struct spw_plan_request *request)
{
    struct spw_schedule schedule;
    memory.asked = 0;
    assert_int_equal(spw_schedule_init(&schedule, request->graph), 0);
    const int64_t before = memory.blocks - (schedule.start != NULL);
    memory.counting = true;
    const int r = planner->make(request, &schedule);
    memory.counting = false;
    spw_schedule_finish(&schedule);
    assert_int_equal(memory.blocks, before);
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
        memory.fail = 0;
        assert_int_equal(plan(planner, &request), 0);
        const uint64_t asked = memory.asked;
        assert_true(asked > 20);
        /* all of the first hundred, then ever fewer */
        for (uint64_t fail = 1; fail <= asked; fail += 1 + fail / 100) {
            memory.fail = fail;
            const int r = plan(planner, &request);
            if (r != -ENOMEM)
                fail_msg("%s answers %d when allocation %llu of %llu fails", names[i], r, (unsigned long long)fail,
                         (unsigned long long)asked);
        }
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail_once)};
    return cmocka_run_group_tests_name("chain-memory", tests, NULL, NULL);
}
