/* test-bounds.c - what no schedule can beat, on graphs so small that the best schedule is known by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "bounds/bounds.h"
#include "plan/graph.h"
#include "failing-memory.h"

#define KIB        1024u
#define COUNT(a)   (sizeof(a) / sizeof *(a))
#define SIDE_BYTES SPW_SIDE_BUFFER_BYTES

/* Bytes, and what else is not 0. They live throughout, which bounds do not look at. */
struct tensor {
    uint64_t bytes;
    bool persistent, initial, fixed, fast_in; /* fast_in: comes in at once */
};

/* Lists of tensors by letter: "ab" are the first two. An operation in capitals may not be replayed. */
struct op {
    const char *name;
    double us;
    const char *reads, *writes;
};

static uint32_t letters(const char *list, uint32_t *indices)
{
    const uint32_t count = (uint32_t)strlen(list);
    for (uint32_t i = 0; i < count; i++)
        indices[i] = (uint32_t)(list[i] - 'a');
    return count;
}

/* One byte takes one microsecond, either way. */
static struct spw_graph *make(const struct tensor *tensors, size_t tensor_count, const struct op *ops, size_t op_count)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 1, &graph), 0);
    for (size_t i = 0; i < tensor_count; i++) {
        const struct spw_graph_tensor tensor = {.id = i,
                                                .bytes = tensors[i].bytes,
                                                .d2h_us = -1,
                                                .h2d_us = tensors[i].fast_in ? 0 : -1,
                                                .free_after = (uint32_t)op_count - 1,
                                                .persistent = tensors[i].persistent,
                                                .initial = tensors[i].initial,
                                                .evictable = !tensors[i].fixed};
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
    for (size_t i = 0; i < op_count; i++) {
        uint32_t reads[8], writes[8];
        const struct spw_graph_op op = {.us = ops[i].us, .replayable = ops[i].name[0] >= 'a'};
        const uint32_t read_count = letters(ops[i].reads, reads), write_count = letters(ops[i].writes, writes);
        assert_int_equal(spw_graph_add_op(graph, &op, reads, read_count, writes, write_count), 0);
    }
    struct spw_graph_problem problem;
    if (spw_graph_finish(graph, &problem) < 0)
        fail_msg("%s: expected %s", problem.path, problem.expected);
    return graph;
}
#define MAKE(tensors, ops) make(tensors, COUNT(tensors), ops, COUNT(ops))

enum { COPY = 1, REPLAY = 2 };

/* The bounds, within the usual rounding; the graph is given back. */
static struct spw_bounds bounds_of(struct spw_graph *graph, uint64_t budget, unsigned means)
{
    struct spw_bounds bounds;
    assert_int_equal(spw_bounds_find(graph, budget, means & COPY, means & REPLAY, &bounds), 0);
    spw_graph_destroy(graph);
    return bounds;
}

static void expect(struct spw_graph *graph, uint64_t budget, unsigned means, const char *best, double best_us)
{
    const struct spw_bounds bounds = bounds_of(graph, budget, means);
    assert_true(bounds.feasible);
    assert_true(fabs(bounds.best_us - best_us) <= 1e-6 * best_us);
    assert_string_equal(bounds.best, best);
}

static void expect_infeasible(struct spw_graph *graph, uint64_t budget, unsigned means)
{
    assert_false(bounds_of(graph, budget, means).feasible);
}

/* a is made first, and read again when b and c, which fill the device, are gone. */
static const struct tensor sandwich_tensors[] = {{10}, {10}, {10}};
static const struct op sandwich[] = {
    {"make a", 4, "", "a"}, {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}, {"read a", 7, "a", ""}};

static struct spw_graph *make_sandwich(void)
{
    return MAKE(sandwich_tensors, sandwich);
}

static void what_fits_takes_the_time_of_its_operations(void **state)
{
    expect(make_sandwich(), 30, COPY | REPLAY, "time", 22);
}

static void an_operation_larger_than_the_budget_is_infeasible(void **state)
{
    expect_infeasible(make_sandwich(), 19, COPY | REPLAY);
}

/* a leaves while b is made, which is 5 us shorter, and is back 10 us after b and c have gone. */
static void what_does_not_fit_goes_out_and_comes_back(void **state)
{
    expect(make_sandwich(), 20, COPY, "cut", 4 + 10 + 6 + 10 + 7);
}

/* a has left before the first of two operations for which it has to be absent, and comes back behind the second. */
static void what_is_absent_in_two_operations_waits_for_all_between_them(void **state)
{
    const struct op ops[] = {{"make a", 4, "", "a"},
                             {"make b", 5, "", "b"},
                             {"b to c", 6, "b", "c"},
                             {"again", 6, "b", "c"},
                             {"read a", 7, "a", ""}};
    expect(MAKE(sandwich_tensors, ops), 20, COPY, "span", 4 + 10 + 6 + 6 + 10 + 7);
}

/* Two states leave room for b: they begin on the host, come in behind it, and go out when they are updated. At less than
 * half the speed it is faster not to copy both ways at once. */
static void copies_both_ways_take_as_long_as_they_hinder_each_other(void **state)
{
    static const struct tensor tensors[] = {{20, .persistent = true}, {20, .persistent = true}, {40}};
    static const struct op ops[] = {
        {"MAKE C", 5, "", "c"}, {"READ C", 1, "c", ""}, {"UPDATE A", 1, "a", "a"}, {"UPDATE B", 1, "b", "b"}};
    static const struct {
        double duplex, us;
    } cases[] = {{0, 47}, {1, 47}, {0.75, 60}, {0.5, 86}, {0.25, 86}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct spw_graph *graph = MAKE(tensors, ops);
        const struct spw_bounds_terms terms = {.duplex = cases[i].duplex};
        struct spw_bounds bounds;
        assert_int_equal(spw_bounds_within(graph, 40, true, false, &terms, &bounds), 0);
        assert_true(fabs(bounds.best_us - cases[i].us) < 1e-6 * cases[i].us);
        spw_graph_destroy(graph);
    }
}

/* All of b can be copied unseen. Making a, of one byte, again would take as long as all the rest: not even a sliver of it.
 */
static void what_is_dear_to_replay_is_not_replayed_in_part(void **state)
{
    static const struct tensor tensors[] = {{1}, {1000000}, {1000000}};
    static const struct op ops[] = {{"make a", 1e7, "", "a"}, {"MAKE B", 1, "", "b"}, {"WAIT", 1e7, "a", ""},
                                    {"MAKE C", 1, "", "c"},   {"WAIT", 1e7, "", ""},  {"READ", 1, "ab", ""}};
    for (uint64_t budget = 1000000; budget < 2000001; budget += 100000) {
        const struct spw_bounds bounds = bounds_of(MAKE(tensors, ops), budget + 1, COPY | REPLAY);
        assert_true(bounds.feasible && bounds.best_us <= 3e7 + 3);
    }
}

static void what_does_not_fit_is_made_once_more(void **state)
{
    expect(make_sandwich(), 20, REPLAY, "cut", 22 + 4);
    /* The bound takes a byte by byte: y of 10 come in while the others are made again, y = (10 - y) * 4 / 10. */
    expect(make_sandwich(), 20, COPY | REPLAY, "cut", 22 + 20.0 / 7);
}

static void what_can_be_neither_copied_nor_replayed_has_to_stay(void **state)
{
    const struct op ops[] = {{"MAKE", 4, "", "a"}, {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}, {"read a", 7, "a", ""}};
    expect_infeasible(MAKE(sandwich_tensors, ops), 20, REPLAY);
    expect_infeasible(make_sandwich(), 20, 0);
    expect(make_sandwich(), 30, 0, "time", 22);
}

static void what_may_not_leave_counts_up_to_its_last_use(void **state)
{
    const struct tensor tensors[] = {{10, .fixed = true}, {10}, {10}};
    expect_infeasible(MAKE(tensors, sandwich), 29, COPY | REPLAY);
    expect(MAKE(tensors, sandwich), 30, COPY | REPLAY, "time", 22);
}

static void one_replay_brings_all_back_that_it_makes(void **state)
{
    const struct tensor tensors[] = {{10}, {10}, {10}, {10}};
    const struct op ops[] = {
        {"make a d", 4, "", "ad"}, {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}, {"read a d", 7, "ad", ""}};
    expect(MAKE(tensors, ops), 20, REPLAY, "cut", 22 + 4);
}

/* Without copies, what was updated twice has to be made and updated twice again. */
static void an_update_is_replayed_from_the_beginning(void **state)
{
    const struct tensor tensors[] = {{100 * KIB}, {100 * KIB}, {100 * KIB}};
    const struct op ops[] = {{"make a", 4, "", "a"}, {"update a", 3, "a", "a"}, {"update a", 2, "a", "a"},
                             {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"},   {"read a", 7, "a", ""}};
    expect(MAKE(tensors, ops), 200 * KIB, REPLAY, "cut", 27 + 9);
    /* With copies the version before may be on the host; of 2 us, the copies of a few bytes are saved. */
    const struct spw_bounds bounds = bounds_of(MAKE(tensors, ops), 200 * KIB, COPY | REPLAY);
    assert_true(bounds.best_us > 27 + 1.999 && bounds.best_us < 27 + 2);
}

static void side_buffers_do_not_come_back_by_a_replay(void **state)
{
    const struct tensor tensors[] = {{SIDE_BYTES}, {SIDE_BYTES}, {SIDE_BYTES}};
    const struct op ops[] = {{"make a", 4, "", "a"},
                             {"update a", 3, "a", "a"},
                             {"make b", 5, "", "b"},
                             {"b to c", 6, "b", "c"},
                             {"read a", 7, "a", ""}};
    expect_infeasible(MAKE(tensors, ops), 2 * SIDE_BYTES, REPLAY);
}

static void the_first_content_of_an_initial_tensor_has_to_be_copied(void **state)
{
    const struct tensor tensors[] = {{10, .initial = true}, {10}, {10}};
    const struct op ops[] = {{"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}, {"read a", 7, "a", ""}};
    expect(MAKE(tensors, ops), 20, COPY | REPLAY, "cut", 10 + 6 + 10 + 7); /* 5 us of the way out are hidden behind b */
    expect_infeasible(MAKE(tensors, ops), 20, REPLAY);
}

/* Weights that nothing writes may begin and end on the host. */
static void persistent_tensors_come_in_without_having_gone_out(void **state)
{
    const struct tensor tensors[] = {{10, .persistent = true}, {10}, {10}};
    const struct op ops[] = {{"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}, {"read a", 7, "a", ""}};
    expect(MAKE(tensors, ops), 20, COPY, "cut", 5 + 6 + 10 + 7);
}

/* a and b are updated in each iteration and there is room for one of them and the third tensor. */
static void persistent_tensors_that_do_not_fit_move_in_each_iteration(void **state)
{
    const struct tensor tensors[] = {{400 * KIB, .persistent = true}, {300 * KIB, .persistent = true}, {0}};
    const struct op ops[] = {{"update a", 1, "a", "a"}, {"update b", 1, "b", "b"}};
    const struct spw_bounds bounds = bounds_of(MAKE(tensors, ops), 400 * KIB, COPY);
    assert_true(bounds.feasible);
    assert_true(bounds.persistent_us >= 300 * KIB);           /* at the end one of the two is absent */
    assert_true(bounds.best_us <= 2 * (400 + 300) * KIB + 2); /* each in and out, one after the other, does it */
    expect_infeasible(MAKE(tensors, ops), 400 * KIB, REPLAY);
}

static void persistent_tensors_may_be_written_but_not_updated_once_more(void **state)
{
    const struct tensor tensors[] = {{100 * KIB, .persistent = true}, {100 * KIB}, {100 * KIB}};
    const struct op writes[] = {{"make a", 4, "", "a"}, {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}};
    const struct op updates[] = {
        {"make a", 4, "", "a"}, {"update a", 3, "a", "a"}, {"make b", 5, "", "b"}, {"b to c", 6, "b", "c"}};
    expect(MAKE(tensors, writes), 200 * KIB, REPLAY, "cut", 15 + 4);
    expect_infeasible(MAKE(tensors, updates), 200 * KIB, REPLAY);
}

/* A state of 20 bytes has to be absent while b is made. It goes out before, or after its update if it began on the host. */
static void persistent_tensors_go_out_before_they_are_absent_or_after_they_are_written(void **state)
{
    const struct tensor tensors[] = {{20, .persistent = true, .fast_in = true}, {40}};
    const struct op at_the_end[] = {{"MAKE B", 5, "", "b"}, {"read b", 6, "b", ""}, {"UPDATE", 7, "a", "a"}};
    expect(MAKE(tensors, at_the_end), 40, COPY, "cut", 20 + 5 + 6 + 7);
    const struct op before_the_end[] = {
        {"MAKE B", 5, "", "b"}, {"read b", 6, "b", ""}, {"UPDATE", 7, "a", "a"}, {"more", 100, "", ""}};
    expect(MAKE(tensors, before_the_end), 40, COPY, "time", 118);
}

/* It is read first now. It comes in after b has gone, or before it is read if it began on the host. */
static void persistent_tensors_come_in_before_they_are_read_or_after_they_were_absent(void **state)
{
    const struct tensor tensors[] = {{20, .persistent = true}, {40}};
    const struct op at_the_start[] = {{"READ A", 7, "a", ""}, {"MAKE B", 5, "", "b"}, {"read b", 6, "b", ""}};
    expect(MAKE(tensors, at_the_start), 40, COPY, "cut", 20 + 7 + 5 + 6);
    const struct op after_the_start[] = {
        {"more", 100, "", ""}, {"READ A", 7, "a", ""}, {"MAKE B", 5, "", "b"}, {"read b", 6, "b", ""}};
    expect(MAKE(tensors, after_the_start), 40, COPY, "time", 118);
}

static void persistent_tensors_that_nothing_uses_may_stay_on_the_host(void **state)
{
    const struct tensor tensors[] = {{10}, {10}, {10}, {1000, .persistent = true}};
    expect(MAKE(tensors, sandwich), 30, COPY | REPLAY, "time", 22);
}

static void contents_that_are_overwritten_unread_need_not_be_kept(void **state)
{
    const struct tensor tensors[] = {{10}, {10}, {10}};
    const struct op ops[] = {{"make a", 4, "", "a"},
                             {"make b", 5, "", "b"},
                             {"b to c", 6, "b", "c"},
                             {"overwrite a", 7, "", "a"},
                             {"read a", 1, "a", ""}};
    expect(MAKE(tensors, ops), 20, COPY, "time", 23);
}

static void each_operation_has_its_own_bound(void **state)
{
    struct spw_graph *graph = make_sandwich();
    double us[4];
    assert_int_equal(spw_bounds_of_ops(graph, 20, true, false, us), 0);
    assert_true(us[0] == 0 && us[1] == 0 && us[3] == 0);
    assert_true(fabs(us[2] - 37) < 1e-6);
    assert_int_equal(spw_bounds_of_ops(graph, 20, false, false, us), 0);
    assert_true(isinf(us[2]));
    spw_graph_destroy(graph);
}

/* A chain of layers: each makes its output from that of the one before, and on the way back reads it again. */
static struct spw_graph *make_chain(uint32_t layers)
{
    struct spw_graph *graph;
    assert_int_equal(spw_graph_create(1, 2, &graph), 0);
    for (uint32_t i = 0; i < layers; i++) {
        const struct spw_graph_tensor tensor = {.id = i,
                                                .bytes = 10 + i % 7,
                                                .d2h_us = -1,
                                                .h2d_us = -1,
                                                .alloc_before = i,
                                                .free_after = 2 * layers - 1 - i,
                                                .evictable = true};
        assert_int_equal(spw_graph_add_tensor(graph, &tensor), 0);
    }
    for (uint32_t i = 0; i < 2 * layers; i++) {
        const uint32_t layer = i < layers ? i : 2 * layers - 1 - i, input = layer - 1;
        const struct spw_graph_op op = {.us = 1 + i % 5, .replayable = i < layers};
        const uint32_t reads = i < layers && i > 0;
        assert_int_equal(i < layers ? spw_graph_add_op(graph, &op, &input, reads, &layer, 1)
                                    : spw_graph_add_op(graph, &op, &layer, 1, NULL, 0),
                         0);
    }
    struct spw_graph_problem problem;
    assert_int_equal(spw_graph_finish(graph, &problem), 0);
    return graph;
}

static void less_memory_and_fewer_means_are_never_faster(void **state)
{
    double before[4] = {0};
    for (uint64_t budget = 530; budget >= 40; budget -= 10) {
        double now[4];
        for (unsigned means = 1; means < 4; means++)
            now[means] = bounds_of(make_chain(40), budget, means).best_us;
        assert_true(now[COPY | REPLAY] <= now[COPY] && now[COPY | REPLAY] <= now[REPLAY]);
        for (unsigned means = 1; means < 4; means++)
            assert_true(now[means] >= before[means]);
        memcpy(before, now, sizeof before);
    }
    assert_true(before[COPY] > before[REPLAY] && before[REPLAY] > before[COPY | REPLAY]);
}

/* Only some of its operations are looked at, and the bound is still that of the middle, where most is absent. */
static void a_hundred_thousand_operations_take_seconds(void **state)
{
    struct spw_graph *graph = make_chain(50000);
    struct spw_bounds bounds;
    const clock_t start = clock();
    assert_int_equal(spw_bounds_find(graph, graph->peak_bytes / 2, true, false, &bounds), 0);
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 20);
    assert_true(bounds.best_us > 0.99 * (double)graph->peak_bytes / 2 * 1.5); /* out at 1 byte per us, in at 2 */
    spw_graph_destroy(graph);
}

struct clock {
    long asked, ends_after;
    double latest_s, longest_s; /* of this thread's own time, from one question to the next */
};

static double thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double ask(void *context)
{
    struct clock *c = context;
    const double now_s = thread_s();
    c->longest_s = fmax(c->longest_s, now_s - c->latest_s);
    c->latest_s = now_s;
    return ++c->asked > c->ends_after ? INFINITY : now_s;
}

static void a_bound_that_is_not_wanted_any_more_is_left_at_once(void **state)
{
    struct spw_graph *graph = make_chain(2000);
    struct spw_bounds bounds;
    for (long ends_after = 0; ends_after < 2000; ends_after = 3 * ends_after + 1) {
        struct clock clock = {.ends_after = ends_after, .latest_s = thread_s()};
        const struct spw_bounds_terms terms = {.now_s = ask, .now_context = &clock};
        assert_int_equal(spw_bounds_within(graph, graph->peak_bytes / 2, true, false, &terms, &bounds), -ECANCELED);
        clock.longest_s = fmax(clock.longest_s, thread_s() - clock.latest_s);
        assert_int_equal(clock.asked, ends_after + 1);
        assert_true(clock.longest_s < 0.05);
    }
    spw_graph_destroy(graph);
}

static void with_less_effort_the_bound_is_sooner_there_and_no_higher(void **state)
{
    struct spw_graph *graph = make_chain(2000);
    struct spw_bounds all;
    assert_int_equal(spw_bounds_find(graph, graph->peak_bytes / 2, true, false, &all), 0);
    for (double limit_s = 1; limit_s > 1e-4; limit_s /= 10) {
        const struct spw_bounds_terms terms = {.limit_s = limit_s};
        struct spw_bounds bounds;
        const double began_s = thread_s();
        assert_int_equal(spw_bounds_within(graph, graph->peak_bytes / 2, true, false, &terms, &bounds), 0);
        assert_true(thread_s() - began_s < 10 * limit_s + 0.02);
        assert_true(bounds.best_us <= all.best_us && bounds.best_us >= 0.9 * all.best_us);
    }
    spw_graph_destroy(graph);
}

static void a_failed_allocation_is_told(void **state)
{
    struct spw_graph *graph = make_sandwich();
    struct spw_bounds bounds;
    int failures = 0;
    for (int i = 0; i < 20; i++) {
        memory_fails_after(i);
        const int r = spw_bounds_find(graph, 20, true, true, &bounds);
        memory_is_back();
        if (r == 0)
            break;
        assert_int_equal(r, -ENOMEM);
        failures++;
    }
    assert_in_range(failures, 3, 19);
    spw_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_takes_the_time_of_its_operations),
        cmocka_unit_test(an_operation_larger_than_the_budget_is_infeasible),
        cmocka_unit_test(what_does_not_fit_goes_out_and_comes_back),
        cmocka_unit_test(what_is_absent_in_two_operations_waits_for_all_between_them),
        cmocka_unit_test(copies_both_ways_take_as_long_as_they_hinder_each_other),
        cmocka_unit_test(what_is_dear_to_replay_is_not_replayed_in_part),
        cmocka_unit_test(what_does_not_fit_is_made_once_more),
        cmocka_unit_test(what_can_be_neither_copied_nor_replayed_has_to_stay),
        cmocka_unit_test(what_may_not_leave_counts_up_to_its_last_use),
        cmocka_unit_test(one_replay_brings_all_back_that_it_makes),
        cmocka_unit_test(an_update_is_replayed_from_the_beginning),
        cmocka_unit_test(side_buffers_do_not_come_back_by_a_replay),
        cmocka_unit_test(the_first_content_of_an_initial_tensor_has_to_be_copied),
        cmocka_unit_test(persistent_tensors_come_in_without_having_gone_out),
        cmocka_unit_test(persistent_tensors_that_do_not_fit_move_in_each_iteration),
        cmocka_unit_test(persistent_tensors_may_be_written_but_not_updated_once_more),
        cmocka_unit_test(persistent_tensors_go_out_before_they_are_absent_or_after_they_are_written),
        cmocka_unit_test(persistent_tensors_come_in_before_they_are_read_or_after_they_were_absent),
        cmocka_unit_test(persistent_tensors_that_nothing_uses_may_stay_on_the_host),
        cmocka_unit_test(contents_that_are_overwritten_unread_need_not_be_kept),
        cmocka_unit_test(each_operation_has_its_own_bound),
        cmocka_unit_test(less_memory_and_fewer_means_are_never_faster),
        cmocka_unit_test(a_hundred_thousand_operations_take_seconds),
        cmocka_unit_test(a_bound_that_is_not_wanted_any_more_is_left_at_once),
        cmocka_unit_test(with_less_effort_the_bound_is_sooner_there_and_no_higher),
        cmocka_unit_test(a_failed_allocation_is_told),
    };
    return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
