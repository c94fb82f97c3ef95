/* test-uniform.c - the planners `revolve`, `hrevolve` and `async-revolve` on graphs: chains that are uniform and that are
 * not. */
#include <errno.h>
#include <string.h>

#include "chains/planners.h"
#include "failing-memory.h"
#include "graphs.h"
#include "iteration_file.h"
#include "chains/revolve.h"
#include "chains/uniform.h"

static spw_planner_function *const planners[] = {spw_plan_revolve, spw_plan_hrevolve, spw_plan_async_revolve};
enum { PLANNERS = 3 };

/* ---- plans ---- */

static struct spw_plan_request request_for(const struct spw_graph *graph, uint64_t bytes)
{
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = bytes,
                                     .host_bytes = UINT64_MAX,
                                     .may_copy = true,
                                     .may_replay = true,
                                     .machine = {.duplex = 1}};
}

/* The input is in a slot for good, since it comes from outside. Beside the slots there is the state that is worked on, the
 * one that it becomes, and the gradient. The first sweep is no replay; a stage may be two layers long. */
static void a_uniform_chain_is_run_again_no_more_than_revolve_says(void **state)
{
    const struct chain_kind kind = {.layers = 40, .activation_bytes = 1 << 20, .forward_us = 10, .backward_us = 20};
    struct spw_graph *graph = graphs_chain(&kind);
    for (uint64_t slots = 2; slots <= 12; slots++) {
        const struct spw_plan_request request = request_for(graph, (slots + 3) << 20);
        struct spw_timing timing;
        uint64_t advances;
        assert_int_equal(spw_revolve_advances(kind.layers, slots, &advances), 0);
        assert_int_equal(graphs_plan(spw_plan_revolve, &request, &timing), 0);
        assert_true(timing.replayed_us <= 10.0 * (double)(advances - (kind.layers - 2)));
        assert_true(timing.replayed_us > 0);
    }
    spw_graph_destroy(graph);
}

static void compare_budgets(uint32_t seed)
{
    const struct chain_kind kind = {.layers = 3 + seed % 30,
                                    .activation_bytes = 1 << 20,
                                    .saved_bytes = seed % 3 << 20,
                                    .parameter_bytes = seed % 2 << 18,
                                    .forward_us = 100000,
                                    .backward_us = 200000,
                                    .uneven = seed};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_timing timing;
    for (int i = 0; i < PLANNERS; i++) {
        for (uint64_t share = 10; share <= 100; share += 15) {
            struct spw_plan_request request = request_for(graph, graph->peak_bytes * share / 100);
            request.host_bytes = seed % 4 == 0 ? 4 << 20 : UINT64_MAX;
            const int r = graphs_plan(planners[i], &request, &timing);
            if (share == 100)
                assert_true(r == 0 && timing.replayed_us == 0 && timing.time_us == graph->compute_us);
            if (r == 0 && planners[i] == spw_plan_revolve)
                assert_true(timing.d2h_bytes == 0 && timing.h2d_bytes == 0 && timing.stall_us == 0);
        }
    }
    spw_graph_destroy(graph);
}

/* graphs_plan() holds each against the checker. */
static void every_plan_for_any_chain_is_valid_and_with_enough_memory_the_shortest(void **state)
{
    for (uint32_t seed = 0; seed < 60; seed++)
        compare_budgets(seed);
}

/* A long chain, little memory and a fast link: what Revolve alone runs again many times is brought back by copies. */
static void the_host_saves_replays_where_copies_are_fast(void **state)
{
    const struct chain_kind kind = {.layers = 60, .activation_bytes = 100, .forward_us = 100, .backward_us = 200};
    struct spw_graph *graph = graphs_chain(&kind);
    const struct spw_plan_request request = request_for(graph, 700);
    struct spw_timing timing[PLANNERS];
    for (int i = 0; i < PLANNERS; i++)
        assert_int_equal(graphs_plan(planners[i], &request, &timing[i]), 0);
    for (int i = 1; i < PLANNERS; i++) {
        assert_true(timing[i].d2h_bytes > 0);
        assert_true(timing[i].time_us < timing[0].time_us);
    }
    spw_graph_destroy(graph);
}

static void what_a_planner_may_not_do_it_does_without_or_declines(void **state)
{
    const struct chain_kind kind = {.layers = 20, .activation_bytes = 10, .forward_us = 100, .backward_us = 200};
    struct spw_graph *graph = graphs_chain(&kind);
    struct spw_plan_request request = request_for(graph, 80);
    struct spw_timing timing;
    assert_int_equal(graphs_plan(spw_plan_hrevolve, &request, &timing), 0);
    assert_true(timing.d2h_bytes > 0);
    request.may_copy = false;
    assert_int_equal(graphs_plan(spw_plan_hrevolve, &request, &timing), 0);
    assert_int_equal(timing.d2h_bytes, 0);
    assert_int_equal(graphs_plan(spw_plan_async_revolve, &request, &timing), -ENOTSUP);
    request.may_copy = true;
    request.may_replay = false;
    for (int i = 0; i < PLANNERS; i++)
        assert_int_equal(graphs_plan(planners[i], &request, &timing), -ENOTSUP);
    request.may_replay = true;
    request.device_bytes = 15;
    for (int i = 0; i < PLANNERS; i++)
        assert_int_equal(graphs_plan(planners[i], &request, &timing), -ENOSPC);
    spw_graph_destroy(graph);
}

/* What comes from outside is read by the first layer alone, and not by its backward; that layer is run again all the same.
 */
static void what_can_not_be_made_again_is_kept_for_replays(void **state)
{
    enum { LAYERS = 12 };
    struct spw_graph *graph = graphs_new();
    uint32_t made[LAYERS + 1];
    made[0] = graphs_tensor(graph, 10 << 20);
    const uint32_t mask = graphs_tensor(graph, 1 << 20);
    const uint32_t copy = graphs_op(graph, 1, NOTHING, LIST(made[0], mask));
    graph->ops[copy].replayable = false;
    for (uint32_t i = 0; i < LAYERS; i++) {
        made[i + 1] = graphs_tensor(graph, 10 << 20);
        graphs_op(graph, 10, LIST(made[i], mask), LIST(made[i + 1]));
    }
    uint32_t gradient = graphs_tensor(graph, 10 << 20);
    graphs_op(graph, 1, LIST(made[LAYERS]), LIST(gradient));
    for (uint32_t i = LAYERS; i-- > 0;) {
        const uint32_t next = graphs_tensor(graph, 10 << 20);
        graphs_op(graph, 20, LIST(made[i + 1], gradient), LIST(next));
        gradient = next;
    }
    graphs_finish(graph);
    const struct spw_plan_request little = request_for(graph, 60 << 20), enough = request_for(graph, graph->peak_bytes);
    for (int i = 0; i < PLANNERS; i++) {
        struct spw_timing timing;
        assert_int_equal(graphs_plan(planners[i], &little, &timing), 0);
        assert_true(timing.replayed_us > 0);
        assert_int_equal(graphs_plan(planners[i], &enough, &timing), 0);
        assert_true(timing.replayed_us == 0);
    }
    spw_graph_destroy(graph);
}

/* `towers` chains of layers, each with an input of its own from outside; the loss reads the outputs of all. */
static struct spw_graph *make_towers(uint32_t towers, uint32_t layers)
{
    enum { MOST = 3, LONGEST = 40 };
    static uint32_t made[MOST][LONGEST + 1];
    struct spw_graph *graph = graphs_new();
    struct list outputs = {.count = towers}, gradients = {.count = towers};
    for (uint32_t b = 0; b < towers; b++) {
        made[b][0] = graphs_tensor(graph, 1 << 20);
        const uint32_t copy = graphs_op(graph, 1, NOTHING, LIST(made[b][0]));
        graph->ops[copy].replayable = false;
        for (uint32_t i = 0; i < layers; i++) {
            made[b][i + 1] = graphs_tensor(graph, 1 << 20);
            graphs_op(graph, 10, LIST(made[b][i]), LIST(made[b][i + 1]));
        }
        outputs.items[b] = made[b][layers];
    }
    const uint32_t loss = graphs_tensor(graph, 1 << 20);
    graphs_op(graph, 10, outputs, LIST(loss));
    for (uint32_t b = 0; b < towers; b++)
        gradients.items[b] = graphs_tensor(graph, 1 << 20);
    graphs_op(graph, 20, LIST(loss), gradients);
    for (uint32_t b = towers; b-- > 0;) {
        uint32_t gradient = gradients.items[b];
        for (uint32_t i = layers; i-- > 0;) {
            const uint32_t next = graphs_tensor(graph, 1 << 20);
            graphs_op(graph, 20, LIST(made[b][i], gradient), LIST(next));
            gradient = next;
        }
    }
    graphs_finish(graph);
    return graph;
}

/* Revolve as if the second tower came out of the first. */
static int reverse_as_one(const struct spw_uniform *uniform, struct spw_reversal *ret_reversal, double *ret_wait_us)
{
    *ret_wait_us = 0;
    return uniform->slots ? spw_revolve_append(ret_reversal, 0, uniform->steps, uniform->slots) : -ENOSPC;
}

static int plan_as_one(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    return spw_plan_uniform(request, reverse_as_one, SPW_UNIFORM_CHAINS, schedule);
}

static void towers_begin_anew_without_what_was_before_them(void **state)
{
    for (uint32_t towers = 2; towers <= 3; towers++) {
        struct spw_graph *graph = make_towers(towers, 14);
        for (uint64_t units = 2 * towers + 3; units <= 20; units++) {
            const struct spw_plan_request request = request_for(graph, units << 20);
            struct spw_timing joined, one;
            assert_int_equal(graphs_plan(spw_plan_revolve, &request, &joined), 0);
            assert_int_equal(graphs_plan(plan_as_one, &request, &one), 0);
            assert_true(joined.replayed_us <= one.replayed_us);
            if (units == 2 * towers + 4)
                assert_true(joined.replayed_us < 0.7 * one.replayed_us);
        }
        spw_graph_destroy(graph);
    }
}

static void plan_for_file(const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", GRAPHS_FOLDER, name);
    struct json_text text;
    struct json_problem problem;
    struct iteration iteration;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(json_text_read(path, file, &text, &problem), 0);
    assert_int_equal(iteration_take(&text, &iteration, &problem), 0);
    for (int i = 0; i < PLANNERS; i++) {
        for (uint64_t share = 50; share <= 80; share += 30) {
            const struct spw_plan_request request = request_for(iteration.graph, iteration.graph->peak_bytes / 100 * share);
            struct spw_timing timing;
            const int r = graphs_plan(planners[i], &request, &timing);
            assert_true(r == 0 || share == 50); /* vgg16: what has to stay is more than half */
            if (r == 0)
                assert_true(timing.time_us < 1.3 * iteration.graph->compute_us);
        }
    }
    iteration_finish(&iteration);
    (void)fclose(file);
}

static void models_are_planned_for(void **state)
{
    plan_for_file("vgg16-b64-v100-16g-fp32.json");
    plan_for_file("resnet50-b190-v100-16g-fp32.json");
    plan_for_file("gpt2-small-b8-s1024-a100-40g-tf32.json");
}

static void a_graph_that_does_not_come_back_is_no_chain(void **state)
{
    struct spw_graph *graph = graphs_new();
    const uint32_t a = graphs_tensor(graph, 10), b = graphs_tensor(graph, 10);
    graphs_op(graph, 1, NOTHING, LIST(a));
    graphs_op(graph, 1, LIST(a), LIST(b));
    graphs_finish(graph);
    const struct spw_plan_request request = request_for(graph, 15);
    for (int i = 0; i < PLANNERS; i++)
        assert_true(graphs_plan(planners[i], &request, NULL) < 0);
    spw_graph_destroy(graph);
}

static void where_memory_fails_it_is_said_and_nothing_is_kept(void **state)
{
    const struct chain_kind kind = {.layers = 5, .activation_bytes = 100, .forward_us = 100, .backward_us = 200};
    struct spw_graph *graph = graphs_chain(&kind);
    const struct spw_plan_request request = request_for(graph, 500);
    for (int i = 0; i < PLANNERS; i++) {
        int r = -ENOMEM, count = 0;
        for (; r < 0; count++) {
            struct spw_schedule schedule;
            assert_int_equal(r, -ENOMEM);
            const long before = memory_blocks();
            assert_int_equal(spw_schedule_init(&schedule, graph), 0);
            memory_fails_after(count);
            r = planners[i](&request, &schedule);
            memory_is_back();
            spw_schedule_finish(&schedule);
            assert_int_equal(memory_blocks(), before);
        }
        assert_true(count > 20);
    }
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_uniform_chain_is_run_again_no_more_than_revolve_says),
        cmocka_unit_test(every_plan_for_any_chain_is_valid_and_with_enough_memory_the_shortest),
        cmocka_unit_test(the_host_saves_replays_where_copies_are_fast),
        cmocka_unit_test(what_a_planner_may_not_do_it_does_without_or_declines),
        cmocka_unit_test(what_can_not_be_made_again_is_kept_for_replays),
        cmocka_unit_test(towers_begin_anew_without_what_was_before_them),
        cmocka_unit_test(models_are_planned_for),
        cmocka_unit_test(a_graph_that_does_not_come_back_is_no_chain),
        cmocka_unit_test(where_memory_fails_it_is_said_and_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("uniform", tests, NULL, NULL);
}
