/* test-fluid.c - the linear program's bounds against those that others computed, exact optima, and the closed form. */
#include "vectors/vectors.h"

#include <math.h>

#include "bounds/bounds.h"
#include "fluid.h"

static const struct mode {
    const char *name;
    bool may_copy, may_replay;
} modes[] = {{"offload", true, false}, {"recompute", false, true}, {"both", true, true}};

/* INFINITY where there is no solution. */
static double solve_above(uint64_t smallest_bytes, const struct spw_graph *graph, uint64_t budget, const struct mode *mode,
                          uint32_t operations)
{
    const struct fluid_request request = {.graph = graph,
                                          .device_bytes = budget,
                                          .smallest_bytes = smallest_bytes,
                                          .may_copy = mode->may_copy,
                                          .may_replay = mode->may_replay};
    struct fluid *fluid = fluid_create(&request, operations);
    const struct program *program = fluid_program(fluid);
    double *prices = fluid_room(program->rows, sizeof *prices);
    const enum program_outcome outcome = program_solve(program, 60, prices);
    const double us = program_proven(program, prices) * graph->compute_us;
    free(prices);
    fluid_destroy(fluid);
    assert_int_not_equal(outcome, STOPPED);
    return outcome == NO_SOLUTION ? INFINITY : us;
}

static double solve(const struct spw_graph *graph, uint64_t budget, const struct mode *mode, uint32_t operations)
{
    return solve_above(1, graph, budget, mode, operations);
}

/* Where one operation has to have more than there is, no program is made of it. */
static bool fits(const struct spw_graph *graph, uint64_t budget)
{
    return graph->least_bytes <= budget;
}

static void all_operations_give_the_linear_program_s_bounds_and_none_above_an_optimum(void **state)
{
    json_t *vectors = vectors_load("offload_chain.json"), *instance;
    size_t index, compared = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        const uint64_t budget = (uint64_t)vectors_integer(instance, "mem_limit");
        for (size_t m = 0; m < 3; m++) {
            json_t *result = json_object_get(json_object_get(instance, "results"), modes[m].name);
            if (!json_is_object(result) || !fits(graph, budget))
                continue;
            const double us = solve(graph, budget, &modes[m], graph->op_count);
            assert_true(us >= vectors_number(result, "lb_lp_real") - 1e-3);
            assert_true(ceil(us - 1e-6) <= vectors_number(result, "optimum"));
            compared++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(compared > 200);
    json_decref(vectors);
}

static void fewer_operations_give_a_bound_that_is_no_larger(void **state)
{
    json_t *vectors = vectors_load("offload_chain.json"), *instance;
    size_t index;
    double all = 0, half = 0, none = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        struct spw_graph *graph = vectors_graph(instance);
        const uint64_t budget = (uint64_t)vectors_integer(instance, "mem_limit");
        if (json_is_object(json_object_get(json_object_get(instance, "results"), "both"))) {
            const double most = solve(graph, budget, &modes[2], graph->op_count);
            const double some = solve(graph, budget, &modes[2], graph->op_count / 2);
            assert_true(some <= most + 1e-6);
            all += most;
            half += some;
            none += graph->compute_us;
        }
        spw_graph_destroy(graph);
    }
    assert_true(none < half && half < all);
    json_decref(vectors);
}

static void larger_traces_have_the_bounds_of_the_linear_program(void **state)
{
    json_t *vectors = vectors_load("bounds.json"), *instance, *limits;
    size_t index, at, compared = 0;
    json_array_foreach(json_object_get(vectors, "instances"), index, instance)
    {
        if (index % 5 != 1)
            continue;
        struct spw_graph *graph = vectors_graph(instance);
        json_array_foreach(json_object_get(instance, "bounds"), at, limits)
        {
            json_t *expected = json_object_get(limits, "offload");
            const uint64_t budget = (uint64_t)vectors_integer(limits, "mem_limit");
            const double us = solve(graph, budget, &modes[0], graph->op_count);
            struct spw_bounds bounds;
            assert_true(us >= vectors_number(expected, "lb_lp_real") - 1e-3);
            assert_int_equal(spw_bounds_find(graph, budget, true, false, &bounds), 0);
            assert_true(us >= bounds.best_us - 1e-3);
            compared++;
        }
        spw_graph_destroy(graph);
    }
    assert_true(compared > 0);
    json_decref(vectors);
}

/* Weights of 10 bytes that take 1 us each to move, and a buffer of 20 that operation number 1 needs: 3 us for each
 * operation. */
static struct spw_graph *weights_and_buffer(bool written, uint32_t ops)
{
    struct spw_graph *graph;
    const struct spw_graph_tensor weights = {.bytes = 10, .d2h_us = -1, .h2d_us = -1, .persistent = true, .evictable = true};
    const struct spw_graph_tensor buffer = {
        .id = 1, .bytes = 20, .d2h_us = -1, .h2d_us = -1, .alloc_before = 1, .free_after = 1, .evictable = true};
    const uint32_t first = 0, second = 1;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &weights), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &buffer), 0);
    for (uint32_t i = 0; i < ops; i++) {
        const struct spw_graph_op op = {.us = 3};
        assert_int_equal(i == 1 ? spw_graph_add_op(graph, &op, NULL, 0, &second, 1)
                                : spw_graph_add_op(graph, &op, &first, 1, &first, written && i == 0),
                         0);
    }
    struct spw_graph_problem problem;
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    return graph;
}

static void persistent_tensors_move_around_what_they_make_room_for(void **state)
{
    struct spw_graph *graph = weights_and_buffer(true, 3);
    assert_true(fabs(solve(graph, 20, &modes[2], 3) - (3 + 10 + 3 + 10 + 3)) < 1e-5);
    assert_true(fabs(solve(graph, 30, &modes[2], 3) - 9) < 1e-5);
    assert_true(isinf(solve(graph, 20, &modes[1], 3)));
    spw_graph_destroy(graph);
}

/* They are read first and have to leave for the buffer: in before, or after, in each iteration. */
static void persistent_tensors_end_as_they_began(void **state)
{
    struct spw_graph *graph = weights_and_buffer(false, 2);
    assert_true(fabs(solve(graph, 20, &modes[2], 2) - (10 + 3 + 3)) < 1e-5);
    assert_true(fabs(solve(graph, 30, &modes[2], 2) - 6) < 1e-5);
    spw_graph_destroy(graph);
}

/* The weights may begin on the host and come in while the first operation runs, whatever small tensor is read beside them.
 */
static void tensors_that_are_too_small_to_count_change_nothing(void **state)
{
    struct spw_graph *graph;
    const struct spw_graph_tensor tensors[] = {
        {.bytes = 10, .d2h_us = -1, .h2d_us = -1, .persistent = true, .evictable = true},
        {.bytes = 20, .d2h_us = -1, .h2d_us = -1, .alloc_before = 2, .free_after = 2, .evictable = true},
        {.bytes = 4, .d2h_us = -1, .h2d_us = -1, .persistent = true, .evictable = true}};
    const uint32_t read[] = {0, 2}, written[] = {1};
    const struct spw_graph_op op = {.us = 15};
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(spw_graph_add_tensor(graph, &tensors[i]), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, NULL, 0, NULL, 0), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, read, 2, NULL, 0), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, NULL, 0, written, 1), 0);
    struct spw_graph_problem problem;
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    assert_true(fabs(solve_above(5, graph, 20, &modes[2], 3) - 45) < 1e-5);
    spw_graph_destroy(graph);
}

/* Least x + y with x + 2 y >= 4 and y <= 1.5: 2.5, at x = 1. */
static void any_prices_prove_a_bound(void **state)
{
    struct program program = {0};
    const int x = program_column(&program, 0, INFINITY, 1), y = program_column(&program, 0, 1.5, 1);
    program_row(&program, 4, INFINITY);
    program_term(&program, x, 1);
    program_term(&program, y, 2);
    double prices[1];
    assert_int_equal(program_solve(&program, 10, prices), SOLVED);
    assert_true(fabs(program_proven(&program, prices) - 2.5) < 1e-9);
    for (double price = -2; price < 3; price += 0.125) {
        prices[0] = price;
        assert_true(program_proven(&program, prices) <= 2.5 + 1e-9);
    }
    prices[0] = 0.5;
    assert_true(fabs(program_proven(&program, prices) - 2) < 1e-9);
    program_finish(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_prices_prove_a_bound),
        cmocka_unit_test(all_operations_give_the_linear_program_s_bounds_and_none_above_an_optimum),
        cmocka_unit_test(fewer_operations_give_a_bound_that_is_no_larger),
        cmocka_unit_test(larger_traces_have_the_bounds_of_the_linear_program),
        cmocka_unit_test(persistent_tensors_move_around_what_they_make_room_for),
        cmocka_unit_test(persistent_tensors_end_as_they_began),
        cmocka_unit_test(tensors_that_are_too_small_to_count_change_nothing),
    };
    return cmocka_run_group_tests_name("fluid", tests, NULL, NULL);
}
