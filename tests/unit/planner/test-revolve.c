/* test-revolve.c - reversals of uniform chains: against dynamic programs and searches of the test's own, and at the limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "chains/async_revolve.h"
#include "chains/hrevolve.h"
#include "failing-memory.h"
#include "reversal-machine.h"
#include "chains/revolve.h"

/* ---- Revolve ---- */

enum { LONGEST = 120, MOST_SLOTS = 12 };

/* P(n, c) by the recurrence: advance j, reverse the rest with one slot less, then the head with all. */
static void the_closed_form_is_the_dynamic_program(void **state)
{
    static uint64_t table[LONGEST + 1][MOST_SLOTS + 1];
    for (uint64_t n = 1; n <= LONGEST; n++)
        for (uint64_t c = 1; c <= MOST_SLOTS; c++) {
            uint64_t least = n == 1 ? 0 : n * (n - 1) / 2, advances;
            for (uint64_t j = 1; j < n && c > 1; j++)
                if (j + table[n - j][c - 1] + table[j][c] < least)
                    least = j + table[n - j][c - 1] + table[j][c];
            table[n][c] = least;
            assert_int_equal(spw_revolve_advances(n, c, &advances), 0);
            assert_int_equal(advances, least);
        }
}

static void every_short_chain_is_reversed_with_as_few_advances(void **state)
{
    for (uint64_t n = 1; n <= LONGEST; n++)
        for (uint64_t c = 1; c <= MOST_SLOTS; c++) {
            struct spw_reversal reversal = {0};
            uint64_t advances;
            assert_int_equal(spw_revolve_advances(n, c, &advances), 0);
            assert_int_equal(spw_revolve_append(&reversal, 0, n, c), 0);
            assert_int_equal(machine_run(&reversal, n, &(struct machine_rules){.slots = {c}}).advances, advances);
            spw_reversal_finish(&reversal);
        }
}

/* What Python's big integers make of the closed form. */
static void numbers_of_long_chains_are_exact_or_refused(void **state)
{
    uint64_t advances;
    assert_int_equal(spw_revolve_longest(3, 2), 10);
    assert_true(spw_revolve_longest(64, 64) == UINT64_MAX);
    assert_true(spw_revolve_longest(UINT64_MAX, 1) == UINT64_MAX);
    assert_int_equal(spw_revolve_advances(1000000000000000, 20, &advances), 0);
    assert_true(advances == 34867620331270690u);
    assert_int_equal(spw_revolve_advances((uint64_t)1 << 63, (uint64_t)1 << 40, &advances), 0);
    assert_true(advances == 18446742974197923838u);
    assert_int_equal(spw_revolve_advances(1000000000000000000, 60, &advances), -ERANGE);
    assert_int_equal(spw_revolve_advances(UINT64_MAX, 64, &advances), -ERANGE);
    assert_int_equal(spw_revolve_advances(6074001000, 1, &advances), 0);
    assert_true(advances == 18446744070963499500u);
    assert_int_equal(spw_revolve_advances(6074001001, 1, &advances), -ERANGE);
}

/* Its memory is that of the slots in use, so the actions of a very long chain need not be written down. */
static void a_million_steps_are_reversed_action_by_action(void **state)
{
    struct spw_revolve revolve;
    struct spw_reversal_action action;
    uint64_t advanced = 0, least, reversed = 0;
    spw_revolve_init(&revolve, 1000000, 10);
    while (spw_revolve_next(&revolve, &action) > 0) {
        if (action.kind == SPW_ACTION_ADVANCE)
            advanced += action.to - action.state;
        if (action.kind == SPW_ACTION_REVERSE)
            assert_int_equal(action.state, 1000000 - ++reversed);
    }
    assert_int_equal(reversed, 1000000);
    assert_int_equal(spw_revolve_advances(1000000, 10, &least), 0);
    assert_int_equal(advanced, least);
    spw_revolve_finish(&revolve);
}

/* ---- levels: every schedule there is, searched for the least cost ---- */

enum { STEPS = 5, LEVELS = 3, STATES = 1 << (6 + STEPS * LEVELS), NOWHERE = 7 };

struct search {
    struct machine_rules rules;
    uint32_t level_count;
    double *cost;    /* of each state: work buffer (3 bits), steps left (3), then which states each level holds */
    uint32_t *queue; /* of states whose cost has fallen; a ring */
    bool *queued;
    uint32_t first, count;
};

static uint32_t pack(uint32_t work, uint32_t left, const uint32_t held[LEVELS])
{
    return work | left << 3 | held[0] << 6 | held[1] << (6 + STEPS) | held[2] << (6 + 2 * STEPS);
}

static void offer(struct search *s, uint32_t to, double cost)
{
    if (cost >= s->cost[to])
        return;
    s->cost[to] = cost;
    if (!s->queued[to])
        s->queue[(s->first + s->count++) % STATES] = to;
    s->queued[to] = true;
}

/* The work buffer's state into level k, in place of any state that is there, or of none. */
static void offer_stores(struct search *s, uint32_t work, uint32_t left, const uint32_t held[LEVELS], uint32_t k,
                         double cost)
{
    for (uint32_t out = 0; out <= STEPS; out++) {
        uint32_t then[LEVELS] = {held[0], held[1], held[2]};
        then[k] = (held[k] & ~(out < STEPS ? 1u << out : 0)) | 1u << work;
        if ((uint64_t)__builtin_popcount(then[k]) <= s->rules.slots[k])
            offer(s, pack(work, left, then), cost + s->rules.write[k]);
    }
}

static void offer_all(struct search *s, uint32_t from)
{
    const double cost = s->cost[from];
    const uint32_t work = from & 7, left = from >> 3 & 7, mask = (1u << STEPS) - 1;
    const uint32_t held[LEVELS] = {from >> 6 & mask, from >> (6 + STEPS) & mask, from >> (6 + 2 * STEPS) & mask};
    if (work + 1 < left)
        offer(s, pack(work + 1, left, held), cost + s->rules.forward);
    if (work + 1 == left)
        offer(s, pack(NOWHERE, left - 1, held), cost + s->rules.backward);
    for (uint32_t k = 0; k < s->level_count; k++) {
        for (uint32_t x = 0; x < left; x++)
            if (held[k] & 1u << x)
                offer(s, pack(x, left, held), cost + s->rules.read[k]);
        if (work < left)
            offer_stores(s, work, left, held, k, cost);
    }
}

static double search_all(struct search *s, uint32_t steps)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < STATES; i++)
        s->cost[i] = INFINITY;
    offer(s, pack(0, steps, (uint32_t[LEVELS]){0}), 0);
    while (s->count > 0) {
        const uint32_t state = s->queue[s->first];
        s->first = (s->first + 1) % STATES;
        s->count--;
        s->queued[state] = false;
        if ((state >> 3 & 7) > 0)
            offer_all(s, state);
        else if (s->cost[state] < least)
            least = s->cost[state];
    }
    return least;
}

static uint32_t random_state = 1;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static void compare_with_search(struct search *s, uint32_t level_count, bool free_of_charge)
{
    const uint32_t steps = STEPS - random_below(STEPS - 1);
    struct spw_hrevolve_level levels[LEVELS] = {0};
    s->rules = (struct machine_rules){.forward = 1 + random_below(4), .backward = 1 + random_below(6)};
    s->level_count = level_count;
    for (uint32_t k = 0; k < level_count; k++) {
        const double write = random_below(5), read = random_below(5); /* more than that of the level before */
        levels[k] = (struct spw_hrevolve_level){.slots = random_below(3),
                                                .write = k > 0 ? levels[k - 1].write + write : write,
                                                .read = k > 0 ? levels[k - 1].read + read : read};
        if (k == 0 && free_of_charge)
            levels[k].write = levels[k].read = 0;
        s->rules.slots[k] = levels[k].slots;
        s->rules.write[k] = levels[k].write;
        s->rules.read[k] = levels[k].read;
    }
    struct spw_hrevolve *tables;
    struct spw_reversal reversal = {0};
    assert_int_equal(spw_hrevolve_create(steps, levels, level_count, s->rules.forward, s->rules.backward, &tables), 0);
    const double cost = spw_hrevolve_cost(tables, steps), least = search_all(s, steps);
    assert_true(cost == least);
    assert_int_equal(spw_hrevolve_append(tables, steps, &reversal), isinf(least) ? -ENOSPC : 0);
    if (!isinf(least))
        assert_true(machine_run(&reversal, steps, &s->rules).time == least);
    spw_reversal_finish(&reversal);
    spw_hrevolve_destroy(tables);
}

static void no_schedule_costs_less_than_hrevolve(void **state)
{
    struct search s = {.cost = malloc(STATES * sizeof *s.cost),
                       .queue = malloc(STATES * sizeof *s.queue),
                       .queued = calloc(STATES, sizeof *s.queued)};
    for (int i = 0; i < 600; i++)
        compare_with_search(&s, 1 + (uint32_t)i % LEVELS, i % 2 == 0);
    free(s.cost);
    free(s.queue);
    free(s.queued);
}

static void a_level_without_slots_is_as_good_as_none(void **state)
{
    const struct spw_hrevolve_level levels[] = {{.slots = 3}, {.slots = 0, .write = 1, .read = 1}};
    struct spw_hrevolve *tables;
    uint64_t advances;
    assert_int_equal(spw_hrevolve_create(300, levels, 2, 2, 5, &tables), 0);
    for (uint32_t steps = 1; steps <= 300; steps++) {
        assert_int_equal(spw_revolve_advances(steps, 3, &advances), 0);
        assert_true(spw_hrevolve_cost(tables, steps) == 2.0 * (double)advances + 5.0 * steps);
    }
    spw_hrevolve_destroy(tables);
}

static void tables_that_no_memory_holds_are_refused(void **state)
{
    const struct spw_hrevolve_level level = {.slots = 1u << 31};
    struct spw_hrevolve *tables;
    assert_int_equal(spw_hrevolve_create(UINT32_MAX, &level, 1, 1, 1, &tables), -ENOMEM);
}

/* ---- all of them ---- */

static int make_all(void)
{
    const struct spw_hrevolve_level levels[] = {{.slots = 2}, {.slots = SPW_SLOTS_UNLIMITED, .write = 2, .read = 1}};
    const struct spw_async_chain chain = {200, 3, .forward = 1, .backward = 2, .store = 5, .load = 5};
    struct spw_hrevolve *tables = NULL;
    struct spw_reversal reversal = {0};
    int r = spw_revolve_append(&reversal, 0, 200, 40);
    if (r == 0)
        r = spw_async_revolve_append(&chain, &reversal);
    if (r == 0)
        r = spw_hrevolve_create(200, levels, 2, 1, 2, &tables);
    if (r == 0)
        r = spw_hrevolve_append(tables, 200, &reversal);
    spw_hrevolve_destroy(tables);
    spw_reversal_finish(&reversal);
    return r;
}

static void where_memory_fails_it_is_said_and_nothing_is_kept(void **state)
{
    int r = -ENOMEM, count = 0;
    const long before = memory_blocks();
    for (; r < 0; count++) {
        assert_true(count < 1000);
        assert_int_equal(r, -ENOMEM);
        memory_fails_after(count);
        r = make_all();
        memory_is_back();
        assert_int_equal(memory_blocks(), before);
    }
    assert_true(count > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_closed_form_is_the_dynamic_program),
        cmocka_unit_test(every_short_chain_is_reversed_with_as_few_advances),
        cmocka_unit_test(numbers_of_long_chains_are_exact_or_refused),
        cmocka_unit_test(a_million_steps_are_reversed_action_by_action),
        cmocka_unit_test(no_schedule_costs_less_than_hrevolve),
        cmocka_unit_test(a_level_without_slots_is_as_good_as_none),
        cmocka_unit_test(tables_that_no_memory_holds_are_refused),
        cmocka_unit_test(where_memory_fails_it_is_said_and_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("revolve", tests, NULL, NULL);
}
