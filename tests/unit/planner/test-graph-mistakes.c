/* test-graph-mistakes.c - what a graph refuses and in which words, and that it fails cleanly. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "failing-memory.h"
#include "tiny.h"

/* ---- what is refused ---- */

static struct spw_graph_tensor broken_tensor; /* tensor 2 of the graphs below */
static struct spw_graph_op broken_op;         /* operation 1 */
static uint32_t broken_reads[3], broken_writes[3], broken_read_count, broken_write_count;
static double broken_out, broken_in;

/* 0 is persistent, 1 written by operation 0; both fit for operation 1, which reads 1 and writes 2. */
static void make_it_whole(void)
{
    broken_tensor =
        (struct spw_graph_tensor){.id = 42, .bytes = 1, .d2h_us = -1, .h2d_us = -1, .alloc_before = 1, .free_after = 1};
    broken_op = (struct spw_graph_op){.us = 1};
    broken_reads[0] = 1;
    broken_writes[0] = 2;
    broken_read_count = broken_write_count = 1;
    broken_out = broken_in = 1;
}

static void expect(int expected, const char *path, const char *text)
{
    const struct spw_graph_tensor whole[] = {{.id = 40, .bytes = 1, .d2h_us = -1, .h2d_us = -1, .persistent = true},
                                             {.id = 41, .bytes = 1, .d2h_us = -1, .h2d_us = -1, .free_after = 1}};
    const uint32_t zero = 0, one = 1;
    struct spw_graph_problem problem = {"", ""};
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(broken_out, broken_in, &graph), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &whole[0]), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &whole[1]), 0);
    assert_int_equal(spw_graph_add_tensor(graph, &broken_tensor), 0);
    assert_int_equal(spw_graph_add_op(graph, &(struct spw_graph_op){.us = 1}, &zero, 1, &one, 1), 0);
    assert_int_equal(spw_graph_add_op(graph, &broken_op, broken_reads, broken_read_count, broken_writes, broken_write_count),
                     0);
    assert_int_equal(spw_graph_finish(graph, &problem), expected);
    assert_string_equal(problem.path, path);
    assert_string_equal(problem.expected, text);
    spw_graph_destroy(graph);
    make_it_whole();
}

#define REFUSED(change, path, text) \
    do { \
        make_it_whole(); \
        change; \
        expect(-EINVAL, path, text); \
    } while (0)

static void graph_that_is_whole_is_taken(void **state)
{
    make_it_whole();
    expect(0, "", "");
    broken_read_count = broken_write_count = 0; /* an operation may touch nothing, and a tensor not be used */
    expect(0, "", "");
}

static void bandwidths_have_to_be_numbers_above_0(void **state)
{
    static const double wrong[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        REFUSED(broken_out = wrong[i], "copy_bytes_per_us.d2h", "a finite number above 0");
        REFUSED(broken_in = wrong[i], "copy_bytes_per_us.h2d", "a finite number above 0");
    }
}

static void tensors_that_make_no_sense_are_refused_by_field(void **state)
{
    static const char *const bytes = "a number of bytes that a machine can have", *const us =
                                                                                      "a finite number of microseconds";
    REFUSED(broken_tensor.bytes = INT64_MAX / 1024 + 1, "tensors[2].bytes", bytes);
    REFUSED(broken_tensor.bytes = UINT64_MAX, "tensors[2].bytes", bytes);
    REFUSED(broken_tensor.d2h_us = NAN, "tensors[2].d2h_us", us);
    REFUSED(broken_tensor.d2h_us = 1e16, "tensors[2].d2h_us", us);
    REFUSED(broken_tensor.h2d_us = INFINITY, "tensors[2].h2d_us", us);
    REFUSED(broken_tensor.alloc_before = 2, "tensors[2].alloc_before", "the index of an operation");
    REFUSED(broken_tensor.free_after = UINT32_MAX, "tensors[2].free_after", "the index of an operation");
    REFUSED(broken_tensor.free_after = 0, "tensors[2].free_after", "an operation that is not before alloc_before");
}

static void operations_that_make_no_sense_are_refused_by_place(void **state)
{
    static const char *const us = "a finite number of microseconds, not negative";
    REFUSED(broken_op.us = -1, "ops[1].us", us);
    REFUSED(broken_op.us = NAN, "ops[1].us", us);
    REFUSED(broken_reads[0] = 3, "ops[1].reads[0]", "the id of a tensor that is there");
    REFUSED(broken_writes[0] = UINT32_MAX, "ops[1].writes[0]", "the id of a tensor that is there");
    REFUSED((broken_reads[1] = 1, broken_read_count = 2), "ops[1].reads[1]", "each tensor once");
    REFUSED((broken_writes[1] = 2, broken_write_count = 2), "ops[1].writes[1]", "each tensor once");
    REFUSED((broken_reads[1] = 2, broken_read_count = 2), "ops[1].reads[1]",
            "a tensor that was written before, or is persistent, or initial");
}

static void tensors_are_touched_while_they_are_allocated(void **state)
{
    uint32_t list[] = {0};
    const struct spw_graph_op op = {.us = 1};
    const struct spw_graph_tensor tensor = {.id = 77, .bytes = 1, .alloc_before = 1, .free_after = 1, .initial = true};
    static const char *const early = "a tensor that is allocated by then: tensor 77 is allocated before ops[1]",
                             *const late = "a tensor that is still allocated: tensor 77 is freed after ops[1]";
    for (uint32_t index = 0; index < 3; index++)
        for (int writes = 0; writes < 2; writes++) {
            struct spw_graph_problem problem = {"", ""};
            struct spw_graph *graph;
            assert_int_equal(spw_graph_create(1, 1, &graph), 0);
            assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
            for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(spw_graph_add_op(graph, &op, list, i == index && !writes, list, i == index && writes), 0);
            assert_int_equal(spw_graph_finish(graph, &problem), index == 1 ? 0 : -EINVAL);
            assert_string_equal(problem.expected, index == 0 ? early : index == 2 ? late : "");
            if (index != 1) {
                const char path[] = {'o', 'p', 's', '[', (char)('0' + index), ']', '.', 0};
                assert_memory_equal(problem.path, path, 7);
                assert_string_equal(problem.path + 7, writes ? "writes[0]" : "reads[0]");
            }
            spw_graph_destroy(graph);
        }
}

static void iteration_without_operations_and_sizes_beyond_all_sums_are_refused(void **state)
{
    const struct spw_graph_tensor huge = {.bytes = INT64_MAX / 1024, .d2h_us = -1, .h2d_us = -1, .persistent = true};
    struct spw_graph_problem problem;
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1e9, 1e9, &graph), 0);
    assert_int_equal(spw_graph_finish(graph, &problem), -EINVAL);
    assert_string_equal(problem.path, "ops");
    assert_string_equal(problem.expected, "at least one operation");
    assert_int_equal(spw_graph_add_op(graph, &(struct spw_graph_op){.us = 1}, NULL, 0, NULL, 0), 0);
    for (int i = 0; i < 513; i++)
        assert_int_equal(spw_graph_add_tensor(graph, &huge), 0);
    assert_int_equal(spw_graph_finish(graph, &problem), -EINVAL);
    assert_string_equal(problem.path, "tensors[512].bytes");
    assert_string_equal(problem.expected, "sizes whose sum is a number of bytes that a machine can have");
    spw_graph_destroy(graph);
}

/* ---- without memory ---- */

/* A graph and a schedule, from the first call to the last; stops at the first that fails. */
static int make_all(uint32_t ops)
{
    const struct spw_graph_tensor tensor = {.bytes = 1, .d2h_us = -1, .h2d_us = -1, .persistent = true};
    struct spw_schedule schedule = {0}, copy = {0};
    struct spw_graph_problem problem;
    struct spw_graph *graph = NULL;
    int r = spw_graph_create(1, 1, &graph);
    for (uint32_t i = 0; i < ops && r == 0; i++) {
        r = spw_graph_add_tensor(graph, &tensor);
        if (r == 0)
            r = spw_graph_add_op(graph, &(struct spw_graph_op){.us = 1}, &i, 1, NULL, 0);
        if (r < 0) /* it is as it was */
            assert_true(graph->op_count == i && graph->touched_count == i && graph->tensor_count - i <= 1);
    }
    r = r ? r : spw_graph_finish(graph, &problem);
    r = r ? r : spw_graph_round_up(graph, 16, 0);
    r = r ? r : spw_schedule_init(&schedule, graph);
    for (uint32_t i = 0; i < ops && r == 0; i++)
        r = spw_schedule_add(&schedule, SPW_STEP_OP, i);
    r = r ? r : spw_schedule_init(&copy, graph);
    r = r ? r : spw_schedule_copy(&copy, &schedule, graph);
    spw_schedule_finish(&copy);
    spw_schedule_finish(&schedule);
    spw_graph_destroy(graph);
    return r;
}

static void lack_of_memory_is_said_and_nothing_is_lost(void **state)
{
    int r = -ENOMEM, tries = 0;
    while (r != 0 && tries < 60) {
        memory_fails_after(tries++);
        r = make_all(100);
        memory_is_back();
        assert_true(r == 0 || r == -ENOMEM);
    }
    assert_int_equal(r, 0);
    assert_in_range(tries, 15, 59);
}

static void lists_longer_than_any_memory_are_refused(void **state)
{
    struct spw_graph *graph;
    const struct spw_graph_op op = {.us = 1};
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    assert_int_equal(spw_graph_add_op(graph, &op, NULL, UINT32_MAX, NULL, 1), -ENOMEM);
    assert_int_equal(spw_graph_add_op(graph, &op, NULL, 0, NULL, UINT32_MAX / 2), -ENOMEM);
    assert_int_equal(graph->op_count, 0);
    spw_graph_destroy(graph);
    spw_graph_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graph_that_is_whole_is_taken),
        cmocka_unit_test(bandwidths_have_to_be_numbers_above_0),
        cmocka_unit_test(tensors_that_make_no_sense_are_refused_by_field),
        cmocka_unit_test(operations_that_make_no_sense_are_refused_by_place),
        cmocka_unit_test(tensors_are_touched_while_they_are_allocated),
        cmocka_unit_test(iteration_without_operations_and_sizes_beyond_all_sums_are_refused),
        cmocka_unit_test(lack_of_memory_is_said_and_nothing_is_lost),
        cmocka_unit_test(lists_longer_than_any_memory_are_refused),
    };
    return cmocka_run_group_tests_name("graph-mistakes", tests, NULL, NULL);
}
