/* test-compose-along.c - composing along an earlier composition gives what composing from nothing gives, to the last bit.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "search/compose.h"
#include "random-graph.h"

enum { GRAPHS = 2500, CHANGES = 12 };

/* One composer that goes along what it made before, and one that never does. */
struct pair {
    struct spw_plan_request request;
    struct spw_composer *follows, *begins_anew;
    struct spw_schedule followed, anew, kept; /* kept: with no steps, before there is one */
    size_t choice_count;
    uint8_t *choices, *probe, *expected;
    size_t composed;
};

static struct pair *pair_for(struct spw_graph *graph, uint64_t *random)
{
    struct pair *pair = calloc(1, sizeof *pair);
    assert_non_null(pair);
    const uint64_t range = graph->peak_bytes - graph->least_bytes;
    pair->request = (struct spw_plan_request){
        .graph = graph,
        .device_bytes = graph->least_bytes + range * (random_below(random, 4) ? 100 : random_below(random, 101)) / 100,
        .host_bytes = random_below(random, 4) ? UINT64_MAX : graph->peak_bytes / (1 + random_below(random, 8)),
        .may_copy = random_below(random, 8) > 0,
        .may_replay = random_below(random, 8) > 0,
        .machine = {.duplex = 1}};
    pair->choice_count = spw_choice_count(graph);
    pair->choices = malloc(pair->choice_count);
    pair->probe = malloc(pair->choice_count);
    pair->expected = malloc(pair->choice_count);
    assert_true(pair->choices && pair->probe && pair->expected);
    assert_int_equal(spw_schedule_init(&pair->followed, graph), 0);
    assert_int_equal(spw_schedule_init(&pair->anew, graph), 0);
    assert_int_equal(spw_schedule_init(&pair->kept, graph), 0);
    assert_int_equal(spw_composer_create(&pair->request, &pair->follows), 0);
    assert_int_equal(spw_composer_create(&pair->request, &pair->begins_anew), 0);
    return pair;
}

static void finish(struct pair *pair)
{
    spw_composer_destroy(pair->follows);
    spw_composer_destroy(pair->begins_anew);
    spw_schedule_finish(&pair->followed);
    spw_schedule_finish(&pair->anew);
    spw_schedule_finish(&pair->kept);
    free(pair->choices);
    free(pair->probe);
    free(pair->expected);
    free(pair);
}

static uint8_t some_choice(uint64_t *random)
{
    const uint32_t choice = random_below(random, 5);
    if (choice != SPW_DROP)
        return (uint8_t)choice;
    const uint32_t lead = random_below(random, 3) ? 0 : random_below(random, 16);
    return SPW_DROP_EARLY(lead) | (random_below(random, 2) ? SPW_BRIEF : 0);
}

static bool is_same(const struct pair *pair, const struct spw_schedule *a, const struct spw_schedule *b)
{
    return a->count == b->count && memcmp(a->steps, b->steps, a->count * sizeof *a->steps) == 0 &&
           memcmp(a->start, b->start, pair->request.graph->tensor_count) == 0;
}

/* Both compose `probe`; whether a schedule came of it. */
static bool compose_both(struct pair *pair, uint64_t seed, int change)
{
    struct spw_composed followed, anew;
    memcpy(pair->expected, pair->probe, pair->choice_count);
    spw_composer_forget(pair->begins_anew);
    const int r = spw_compose(pair->begins_anew, pair->expected, &pair->anew, &anew);
    if (spw_compose(pair->follows, pair->probe, &pair->followed, &followed) != r)
        fail_msg("seed %llu, change %d: not %d", (unsigned long long)seed, change, r);
    assert_true(r == 0 || r == -ENOSPC);
    assert_true(followed.repairs == anew.repairs && followed.op == anew.op && followed.replayed_us == anew.replayed_us);
    if (memcmp(pair->probe, pair->expected, pair->choice_count) != 0)
        fail_msg("seed %llu, change %d: other repairs", (unsigned long long)seed, change);
    if (r < 0)
        return false;
    if (!is_same(pair, &pair->followed, &pair->anew))
        fail_msg("seed %llu, change %d: another schedule", (unsigned long long)seed, change);
    assert_int_equal(followed.is_kept, pair->kept.count > 0 && is_same(pair, &pair->kept, &pair->anew));
    pair->composed++;
    return true;
}

/* A few choices become others; now and then many do, or the budget grows. */
static void change_some(struct pair *pair, uint64_t *random)
{
    const uint32_t most = random_below(random, 6) ? 4 : (uint32_t)pair->choice_count;
    memcpy(pair->probe, pair->choices, pair->choice_count);
    for (uint32_t i = random_below(random, most + 1); i > 0; i--)
        pair->probe[random_below(random, (uint32_t)pair->choice_count)] = some_choice(random);
    if (random_below(random, 12) == 0)
        pair->request.device_bytes += (pair->request.graph->peak_bytes - pair->request.device_bytes) / 2;
}

static size_t hold(uint64_t seed)
{
    uint64_t random = seed;
    struct spw_graph *graph = random_graph(seed);
    struct pair *pair = pair_for(graph, &random);
    const uint32_t options = 5 + random_below(&random, 40);
    for (size_t i = 0; i < pair->choice_count; i++)
        pair->probe[i] = random_below(&random, options) < 5 ? some_choice(&random) : SPW_KEEP;
    for (int change = 0; change < CHANGES; change++) {
        const bool is_composed = compose_both(pair, seed, change);
        if (change == 0 || (is_composed && random_below(&random, 3) == 0)) {
            memcpy(pair->choices, pair->probe, pair->choice_count);
            assert_int_equal(spw_composer_keep(pair->follows), is_composed);
            if (is_composed)
                assert_int_equal(spw_schedule_copy(&pair->kept, &pair->anew, graph), 0);
        }
        change_some(pair, &random);
    }
    const size_t composed = pair->composed;
    finish(pair);
    spw_graph_destroy(graph);
    return composed;
}

static void what_is_composed_along_an_earlier_one_is_what_is_composed_from_nothing(void **state)
{
    size_t composed = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        composed += hold(seed);
    print_message("%d compositions, %zu schedules\n", GRAPHS * CHANGES, composed);
    assert_true(composed > GRAPHS * CHANGES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_composed_along_an_earlier_one_is_what_is_composed_from_nothing),
    };
    return cmocka_run_group_tests_name("compose-along", tests, NULL, NULL);
}
