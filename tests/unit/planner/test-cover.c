/* test-cover.c - which gaps there are and what they cost, on small graphs; that covers cover, and no more than that, on any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "search/cover.h"
#include "random-graph.h"
#include "tiny.h"

enum { CASES = 2000 };

static struct spw_plan_request request_for(const struct spw_graph *graph, uint64_t device_bytes)
{
    return (struct spw_plan_request){.graph = graph,
                                     .device_bytes = device_bytes,
                                     .host_bytes = UINT64_MAX,
                                     .may_copy = true,
                                     .may_replay = true,
                                     .machine = {.duplex = 1}};
}

/* The gap of the tensor from that operation on; the test fails where there is none. */
static const struct spw_gap *gap_of(const struct spw_cover *cover, uint32_t tensor, uint32_t from)
{
    const struct spw_gap *gaps;
    const size_t count = spw_cover_gaps(cover, &gaps);
    for (size_t i = 0; i < count; i++)
        if (gaps[i].tensor == tensor && gaps[i].from == from)
            return &gaps[i];
    fail_msg("tensor %u has no gap from operation %u on", tensor, from);
    return NULL;
}

/* ---- gaps ---- */

/* Tensor 1 waits for 3 x 10 us, and takes 5 us to recompute; 0 is the input, which nothing makes. */
static struct spw_graph *there_and_back(uint64_t bytes, bool input_stays)
{
    const struct tiny_tensor tensors[] = {{1, .initial = true}, {bytes}, {10}};
    const struct tiny_op ops[] = {{5, T(0), T(1)}, {10, T(1), T(2)}, {10, T(2), 0},
                                  {10, T(2), 0},   {10, T(2), 0},    {10, T(1) | (input_stays ? T(0) : 0), 0}};
    return TINY_GRAPH(tensors, ops);
}

static void a_gap_says_when_the_tensor_is_absent_and_what_that_costs(void **state)
{
    struct spw_graph *graph = there_and_back(20, true);
    const struct spw_plan_request request = request_for(graph, 30);
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    const struct spw_gap *gap = gap_of(cover, 1, 2);
    assert_int_equal(gap->to, 5);
    assert_int_equal(gap->choice, graph->tensors[1].first_use + 1);
    assert_true(gap->copy_us == 40 && gap->exposed_us == 10 && gap->replay_us == 5);
    assert_true(gap->is_useful && !gap->is_end && !gap->is_leaf && !gap->is_boundary);
    assert_int_equal(gap->retained_count, 0);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void gaps_are_useful_where_memory_is_short(void **state)
{
    struct spw_graph *graph = there_and_back(20, true); /* 31 bytes from operation 1 to operation 4 */
    struct spw_plan_request request = request_for(graph, 31);
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_false(gap_of(cover, 1, 2)->is_useful);
    spw_cover_destroy(cover);
    request.device_bytes = 30;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_true(gap_of(cover, 1, 2)->is_useful);
    assert_false(gap_of(cover, 1, 6)->is_useful); /* its end */
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void what_is_not_allowed_has_no_price(void **state)
{
    struct spw_graph *graph = there_and_back(20, true);
    struct spw_plan_request request = request_for(graph, 30);
    struct spw_cover *cover;
    request.may_replay = false;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_true(gap_of(cover, 1, 2)->replay_us < 0 && gap_of(cover, 1, 2)->copy_us == 40);
    spw_cover_destroy(cover);
    request.may_replay = true;
    request.may_copy = false;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_true(gap_of(cover, 1, 2)->copy_us < 0 && gap_of(cover, 1, 2)->replay_us == 5);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void what_a_replay_needs_is_retained_with_it(void **state)
{
    struct spw_graph *graph = there_and_back(20, false);
    const struct spw_plan_request request = request_for(graph, 30);
    uint8_t choices[32] = {0};
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    const struct spw_gap *gap = gap_of(cover, 1, 2), *input = gap_of(cover, 0, 1);
    assert_true(input->is_end && input->is_leaf);
    assert_int_equal(gap->retained_count, 1);
    spw_cover_set(cover, gap, SPW_SWAP, choices);
    assert_int_equal(choices[input->choice], SPW_KEEP);
    spw_cover_set(cover, gap, SPW_DROP, choices);
    assert_int_equal(choices[gap->choice], SPW_DROP);
    assert_int_equal(choices[input->choice], SPW_RETAIN);
    choices[input->choice] = SPW_STORE;
    spw_cover_set(cover, gap, SPW_DROP, choices);
    assert_int_equal(choices[input->choice], SPW_STORE);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void what_one_replay_makes_are_siblings(void **state)
{
    static const struct tiny_tensor tensors[] = {{1, .initial = true}, {20}, {20}, {20}, {10}};
    static const struct tiny_op ops[] = {{5, T(0), T(1) | T(2) | T(3)},
                                         {10, T(1) | T(2) | T(3), T(4)},
                                         {10, T(4), 0},
                                         {10, T(2), 0},
                                         {10, T(0) | T(1) | T(3), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const struct spw_plan_request request = request_for(graph, 30);
    const struct spw_cover_terms terms = {.lane_price = 100};
    uint8_t choices[32] = {0};
    const struct spw_gap *gaps;
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_true(spw_cover_gaps(cover, &gaps) > 0);
    uint32_t met = 0; /* a ring: whoever begins comes back to where it began */
    for (const struct spw_gap *gap = gap_of(cover, 1, 2); !(met & T(gap->tensor)); gap = &gaps[gap->sibling]) {
        met |= T(gap->tensor);
        assert_int_equal(gap->from, 2);
    }
    assert_int_equal(met, T(1) | T(2) | T(3));
    spw_cover_complete(cover, &terms, choices);
    for (uint32_t tensor = 1; tensor <= 3; tensor++)
        assert_int_equal(choices[gap_of(cover, tensor, 2)->choice], SPW_DROP);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void what_is_overwritten_unread_takes_no_memory_before(void **state)
{
    static const struct tiny_tensor tensors[] = {{20, .persistent = true}, {10, .initial = true}, {1, .initial = true}};
    static const struct tiny_op ops[] = {{10, T(0), 0}, {10, T(1), 0}, {10, T(2), 0},
                                         {10, T(1), 0}, {10, 0, T(0)}, {10, T(1), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const struct spw_plan_request request = request_for(graph, 29);
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    assert_false(gap_of(cover, 1, 2)->is_useful);
    assert_true(gap_of(cover, 1, 4)->is_useful);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

static void what_carries_over_may_be_absent_at_the_start_or_around_the_end(void **state)
{
    static const struct tiny_tensor tensors[] = {{10, .persistent = true}, {10, .persistent = true}, {10}};
    static const struct tiny_op ops[] = {{4, 0, T(2)}, {10, T(0) | T(1) | T(2), T(0)}, {3, T(2), 0}};
    struct spw_graph *graph = TINY_GRAPH(tensors, ops);
    const struct spw_plan_request request = request_for(graph, 30);
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    const struct spw_gap *head = gap_of(cover, 0, 0), *around = gap_of(cover, 0, 2), *unwritten = gap_of(cover, 1, 2);
    assert_int_equal(head->choice, graph->use_count + 0);
    assert_true(head->to == 1 && head->copy_us == 20 && head->exposed_us == 16 && !head->is_boundary);
    assert_true(around->is_boundary && around->to == 1 && around->copy_us == 20 && around->exposed_us == 6 + 7);
    assert_int_equal(around->choice, graph->tensors[0].first_use + graph->tensors[0].use_count - 1);
    assert_true(unwritten->is_boundary && unwritten->copy_us == 10 && unwritten->exposed_us == 6);
    assert_true(head->replay_us < 0 && around->replay_us < 0);
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
}

/* ---- prices ---- */

static uint8_t choice_at(uint64_t bytes, double lane_price)
{
    struct spw_graph *graph = there_and_back(bytes, true);
    const struct spw_plan_request request = request_for(graph, bytes + 5);
    const struct spw_cover_terms terms = {.lane_price = lane_price};
    uint8_t choices[32] = {0};
    struct spw_cover *cover;
    assert_int_equal(spw_cover_create(&request, &cover), 0);
    spw_cover_complete(cover, &terms, choices);
    const uint8_t choice = choices[gap_of(cover, 1, 2)->choice];
    spw_cover_destroy(cover);
    spw_graph_destroy(graph);
    return choice;
}

static void the_price_of_the_lanes_decides_between_copies_and_replays(void **state)
{
    assert_int_equal(choice_at(15, 0), SPW_SWAP);    /* 30 us of copies hide in 30 us */
    assert_int_equal(choice_at(15, 0.33), SPW_SWAP); /* 15 x 0.33 < 5 */
    assert_int_equal(choice_at(15, 0.34), SPW_DROP);
    assert_int_equal(choice_at(20, 0), SPW_DROP); /* 10 us cannot be hidden */
}

/* ---- covers ---- */

/* Adds to each operation in [from, to). */
static void add(int64_t *demand, uint32_t from, uint32_t to, int64_t bytes)
{
    for (uint32_t op = from; op < to; op++)
        demand[op] += bytes;
}

static bool is_written_unread(const struct spw_graph *graph, const struct spw_graph_tensor *t, uint32_t op)
{
    for (uint32_t i = 0; i + 1 < t->use_count && t->evictable; i++) {
        const struct spw_use *use = &graph->uses[t->first_use + i];
        if (use[0].op < op && op < use[1].op)
            return !use[1].reads;
    }
    return false;
}

/* Bytes that are too many during each operation: tensor by tensor, operation by operation. For free(). */
static int64_t *demand_of(const struct spw_plan_request *request)
{
    const struct spw_graph *graph = request->graph;
    int64_t *demand = calloc(graph->op_count + 1, sizeof *demand);
    assert_non_null(demand);
    for (uint32_t op = 0; op < graph->op_count; op++) {
        demand[op] = -(int64_t)request->device_bytes;
        for (uint32_t i = 0; i < graph->tensor_count; i++) {
            const struct spw_graph_tensor *t = &graph->tensors[i];
            const struct spw_use *uses = &graph->uses[t->first_use];
            const bool has_come = t->persistent || t->initial || (t->use_count && uses[0].op <= op);
            const bool is_wanted = t->persistent || (t->use_count && op <= uses[t->use_count - 1].op);
            if (has_come && is_wanted && !is_written_unread(graph, t, op))
                demand[op] += (int64_t)t->bytes;
        }
    }
    return demand;
}

static void take_away(const struct spw_graph *graph, const struct spw_gap *gap, int64_t *demand, int sign)
{
    const int64_t bytes = sign * (int64_t)graph->tensors[gap->tensor].bytes;
    if (gap->is_boundary) {
        add(demand, 0, gap->to, -bytes);
        add(demand, gap->from, graph->op_count, -bytes);
    } else {
        add(demand, gap->from, gap->to, -bytes);
    }
}

static bool is_short_in(const struct spw_graph *graph, const struct spw_gap *gap, const int64_t *demand)
{
    for (uint32_t op = 0; op < graph->op_count; op++) {
        const bool is_in = gap->is_boundary ? op < gap->to || op >= gap->from : op >= gap->from && op < gap->to;
        if (is_in && demand[op] > 0)
            return true;
    }
    return false;
}

/* A persistent tensor that leaves at the start does not leave around the end too, nor the other way round. */
static bool is_excluded(const struct spw_graph *graph, const struct spw_gap *gap, const uint8_t *choices)
{
    const struct spw_graph_tensor *t = &graph->tensors[gap->tensor];
    const size_t head = (size_t)graph->use_count + gap->tensor;
    if (!t->persistent || !t->use_count || !(gap->is_boundary || gap->choice == head))
        return false;
    return choices[gap->is_boundary ? head : (size_t)t->first_use + t->use_count - 1] == SPW_SWAP;
}

/* Nothing is left to be evicted where memory is short, and what is evicted is needed, unless a sibling is its reason. */
static void hold_cover(const struct spw_plan_request *request, const struct spw_cover *cover, const uint8_t *choices,
                       uint64_t seed)
{
    const struct spw_graph *graph = request->graph;
    int64_t *demand = demand_of(request);
    const struct spw_gap *gaps;
    const size_t count = spw_cover_gaps(cover, &gaps);
    for (size_t i = 0; i < count; i++)
        if (!gaps[i].is_end && choices[gaps[i].choice] != SPW_KEEP)
            take_away(graph, &gaps[i], demand, 1);
    for (size_t i = 0; i < count; i++) {
        const struct spw_gap *gap = &gaps[i];
        if (gap->is_end)
            continue;
        if (choices[gap->choice] == SPW_KEEP) {
            const bool stood_back = gap->is_boundary && gap->to > 0; /* for a head that turned out not to be needed */
            if (!stood_back && !is_excluded(graph, gap, choices) && is_short_in(graph, gap, demand))
                fail_msg("seed %llu: tensor %u could leave from operation %u to %u", (unsigned long long)seed, gap->tensor,
                         gap->from, gap->to);
            continue;
        }
        assert_false(is_excluded(graph, gap, choices));
        assert_true(choices[gap->choice] == SPW_SWAP ? gap->copy_us >= 0 : gap->replay_us >= 0);
        take_away(graph, gap, demand, -1);
        if (gap->sibling == i && !is_short_in(graph, gap, demand))
            fail_msg("seed %llu: tensor %u need not leave", (unsigned long long)seed, gap->tensor);
        take_away(graph, gap, demand, 1);
    }
    free(demand);
}

static void covers_cover_and_take_nothing_that_is_not_needed(void **state)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        uint64_t random = seed, other = seed;
        struct spw_graph *graph = random_graph(seed);
        const uint64_t range = graph->peak_bytes - graph->least_bytes;
        struct spw_plan_request request = request_for(graph, graph->least_bytes + range * random_below(&random, 100) / 100);
        request.may_copy = random_below(&random, 4) > 0;
        request.may_replay = !request.may_copy || random_below(&random, 4) > 0;
        const double lane_price = random_below(&random, 30) / 10.0, spread = random_below(&random, 2) ? 0.6 : 0;
        const size_t count = spw_choice_count(graph);
        uint8_t *choices = calloc(count + 1, 1), *again = calloc(count + 1, 1);
        struct spw_cover *cover;
        assert_true(choices && again);
        assert_int_equal(spw_cover_create(&request, &cover), 0);
        spw_cover_complete(cover, &(struct spw_cover_terms){lane_price, spread, &random}, choices);
        hold_cover(&request, cover, choices, seed);
        memcpy(again, choices, count);
        spw_cover_complete(cover, &(struct spw_cover_terms){lane_price, 0, &other}, again);
        for (size_t i = 0; i < count; i++)
            assert_true(choices[i] == SPW_KEEP || again[i] == choices[i]); /* completing takes nothing back */
        free(again);
        free(choices);
        spw_cover_destroy(cover);
        spw_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gap_says_when_the_tensor_is_absent_and_what_that_costs),
        cmocka_unit_test(gaps_are_useful_where_memory_is_short),
        cmocka_unit_test(what_is_not_allowed_has_no_price),
        cmocka_unit_test(what_a_replay_needs_is_retained_with_it),
        cmocka_unit_test(what_one_replay_makes_are_siblings),
        cmocka_unit_test(what_is_overwritten_unread_takes_no_memory_before),
        cmocka_unit_test(what_carries_over_may_be_absent_at_the_start_or_around_the_end),
        cmocka_unit_test(the_price_of_the_lanes_decides_between_copies_and_replays),
        cmocka_unit_test(covers_cover_and_take_nothing_that_is_not_needed),
    };
    return cmocka_run_group_tests_name("cover", tests, NULL, NULL);
}
