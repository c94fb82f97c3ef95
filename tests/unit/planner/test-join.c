/* test-join.c - chains that meet at their ends: against a search of all schedules, and carried out action by action. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "chains/join.h"
#include "chains/revolve.h"
#include "failing-memory.h"

/* ---- every schedule there is ---- */

/* A state of the search: the work buffer (4 bits, NOWHERE: empty), the turn (1 bit), steps left of two branches (3 bits
 * each), and which of the states are in slots (10 bits). */
enum { MOST_STATES = 10, NOWHERE = 15, SEARCHED = 1 << 21 };

struct search {
    const struct spw_join *join;
    uint32_t *advances; /* of each state; UINT32_MAX: not reached */
    uint32_t *queue;    /* a ring; what costs nothing goes to its front */
    uint32_t front, count;
};

struct situation {
    uint32_t work, turned, left[2], held;
};

static uint32_t pack(const struct situation *s)
{
    return s->work | s->turned << 4 | s->left[0] << 5 | s->left[1] << 8 | s->held << 11;
}

static struct situation unpack(uint32_t code)
{
    return (struct situation){code & 15, code >> 4 & 1, {code >> 5 & 7, code >> 8 & 7}, code >> 11};
}

static void offer(struct search *search, const struct situation *s, uint32_t advances, bool free_of_charge)
{
    const uint32_t code = pack(s);
    if (advances >= search->advances[code])
        return;
    search->advances[code] = advances;
    search->count++;
    if (free_of_charge) {
        search->front = (search->front + SEARCHED - 1) % SEARCHED;
        search->queue[search->front] = code;
    } else {
        search->queue[(search->front + search->count - 1) % SEARCHED] = code;
    }
}

/* Which branch the state is of, and which of its states. */
static uint32_t branch_of(const struct spw_join *join, uint32_t state, uint32_t *ret_index)
{
    const uint32_t branch = join->branches > 1 && state >= spw_join_state(join, 1);
    *ret_index = state - (uint32_t)spw_join_state(join, branch);
    return branch;
}

static bool may_turn(const struct search *search, const struct situation *s)
{
    for (uint32_t b = 0; b < search->join->branches; b++) {
        const uint32_t end = (uint32_t)spw_join_state(search->join, b) + search->join->steps[b];
        if (s->work != end && !(s->held & 1u << end))
            return false;
    }
    return !s->turned;
}

static void offer_runs(struct search *search, const struct situation *s, uint32_t advances)
{
    struct situation next = *s;
    uint32_t index;
    if (may_turn(search, s)) {
        next.turned = 1;
        offer(search, &next, advances, true);
    }
    if (s->work == NOWHERE)
        return;
    const uint32_t branch = branch_of(search->join, s->work, &index);
    next = *s;
    next.work = s->work + 1;
    if (index < search->join->steps[branch])
        offer(search, &next, advances + 1, false);
    next = *s;
    next.work = NOWHERE;
    next.left[branch] = index;
    const bool in_turn = !search->join->in_order || branch == 1 || s->left[1] == 0;
    if (s->turned && index + 1 == s->left[branch] && in_turn)
        offer(search, &next, advances, true);
}

static void offer_all(struct search *search, uint32_t code)
{
    const struct situation s = unpack(code);
    const uint32_t advances = search->advances[code];
    const uint32_t states = (uint32_t)spw_join_state(search->join, search->join->branches);
    offer_runs(search, &s, advances);
    for (uint32_t x = 0; x < states; x++) {
        struct situation next = s;
        if (s.held & 1u << x) {
            next.work = x;
            offer(search, &next, advances, true);
            next = s;
            next.held &= ~(1u << x);
            offer(search, &next, advances, true);
        } else if (s.work == x && (uint32_t)__builtin_popcount(s.held) < search->join->slots) {
            next.held |= 1u << x;
            offer(search, &next, advances, true);
        }
    }
}

static uint32_t search_all(struct search *search, const struct spw_join *join)
{
    struct situation start = {.work = NOWHERE, .left = {join->steps[0], join->branches > 1 ? join->steps[1] : 0}};
    for (uint32_t b = 0; b < join->branches; b++)
        start.held |= 1u << spw_join_state(join, b);
    memset(search->advances, 0xff, SEARCHED * sizeof *search->advances);
    search->join = join;
    search->front = search->count = 0;
    offer(search, &start, 0, true);
    while (search->count > 0) {
        const uint32_t code = search->queue[search->front];
        search->front = (search->front + 1) % SEARCHED;
        search->count--;
        const struct situation s = unpack(code);
        if (s.turned && s.left[0] + s.left[1] == 0)
            return search->advances[code];
        offer_all(search, code);
    }
    return UINT32_MAX;
}

/* ---- action by action ---- */

enum { ROOM = 4096 };

struct machine {
    const struct spw_join *join;
    uint64_t slots[ROOM]; /* UINT64_MAX: empty */
    uint64_t work, advances;
    uint32_t left[SPW_JOIN_MOST_BRANCHES];
    bool turned;
};

static void assert_may_turn(const struct machine *m)
{
    assert_false(m->turned);
    for (uint32_t b = 0; b < m->join->branches; b++) {
        const uint64_t end = spw_join_state(m->join, b) + m->join->steps[b];
        bool there = m->work == end;
        for (uint32_t i = 0; i < m->join->slots; i++)
            there = there || m->slots[i] == end;
        assert_true(there);
    }
}

static void reverse_step(struct machine *m, uint64_t state)
{
    uint32_t b = m->join->branches - 1;
    while (spw_join_state(m->join, b) > state)
        b--;
    assert_true(m->turned && m->work == state);
    assert_true(state == spw_join_state(m->join, b) + m->left[b] - 1);
    for (uint32_t later = b + 1; m->join->in_order && later < m->join->branches; later++)
        assert_int_equal(m->left[later], 0);
    m->left[b]--;
    m->work = UINT64_MAX;
}

static void carry_out(struct machine *m, const struct spw_reversal_action *action)
{
    assert_true(action->slot < m->join->slots);
    uint64_t *slot = &m->slots[action->slot];
    switch (action->kind) {
    case SPW_ACTION_STORE:
        assert_true(*slot == UINT64_MAX && m->work == action->state);
        *slot = m->work;
        return;
    case SPW_ACTION_RESTORE:
        assert_true(*slot == action->state);
        m->work = *slot;
        return;
    case SPW_ACTION_DISCARD:
        assert_true(*slot == action->state);
        *slot = UINT64_MAX;
        return;
    case SPW_ACTION_ADVANCE:
        assert_true(m->work == action->state && action->to > action->state);
        m->advances += action->to - action->state;
        m->work = action->to;
        return;
    case SPW_ACTION_TURN:
        assert_may_turn(m);
        m->turned = true;
        return;
    default:
        assert_int_equal(action->kind, SPW_ACTION_REVERSE);
        reverse_step(m, action->state);
    }
}

static uint64_t run(const struct spw_join *join)
{
    static struct machine m;
    struct spw_reversal reversal = {0};
    uint64_t advances;
    assert_int_equal(spw_join_reverse(join, &advances, &reversal), 0);
    m = (struct machine){.join = join, .work = UINT64_MAX};
    memset(m.slots, 0xff, sizeof m.slots);
    for (uint32_t b = 0; b < join->branches; b++) {
        m.slots[b] = spw_join_state(join, b);
        m.left[b] = join->steps[b];
    }
    for (size_t i = 0; i < reversal.count; i++)
        carry_out(&m, &reversal.actions[i]);
    for (uint32_t b = 0; b < join->branches; b++)
        assert_int_equal(m.left[b], 0);
    for (uint32_t i = 0; i < join->slots; i++)
        assert_true(m.slots[i] == UINT64_MAX);
    assert_true(m.advances == advances);
    spw_reversal_finish(&reversal);
    return advances;
}

/* ---- sentences ---- */

static void no_schedule_of_two_branches_advances_less(void **state)
{
    struct search search = {.advances = malloc(SEARCHED * sizeof *search.advances),
                            .queue = malloc(SEARCHED * sizeof *search.queue)};
    struct spw_join join = {.branches = 2};
    for (join.steps[0] = 1; join.steps[0] <= 7; join.steps[0]++)
        for (join.steps[1] = 1; join.steps[0] + join.steps[1] + 2 <= MOST_STATES; join.steps[1]++)
            for (join.slots = 3; join.slots <= 6; join.slots++)
                for (int order = 0; order < 2; order++) {
                    join.in_order = order == 1;
                    assert_int_equal(run(&join), search_all(&search, &join));
                }
    free(search.advances);
    free(search.queue);
}

/* One step more than Revolve counts: where the branches meet. */
static void a_single_branch_is_revolve(void **state)
{
    struct spw_join join = {.branches = 1};
    for (join.steps[0] = 1; join.steps[0] <= 60; join.steps[0]++)
        for (join.slots = 1; join.slots <= 8; join.slots++) {
            uint64_t advances;
            assert_int_equal(spw_revolve_advances(join.steps[0] + 1, join.slots, &advances), 0);
            assert_int_equal(run(&join), advances);
        }
}

static void with_a_slot_for_each_state_every_step_is_advanced_once(void **state)
{
    const struct spw_join join = {.branches = 3, .steps = {9, 5, 7}, .slots = 9 + 5 + 7 + 2};
    assert_int_equal(run(&join), 9 + 5 + 7);
}

static void four_branches_are_reversed_too(void **state)
{
    struct spw_join join = {.branches = 4, .steps = {9, 8, 7, 6}};
    uint64_t before = UINT64_MAX;
    for (join.slots = 7; join.slots <= 14; join.slots++) {
        join.in_order = false;
        const uint64_t advances = run(&join);
        assert_true(advances <= before);
        before = advances;
        join.in_order = true;
        assert_true(run(&join) >= advances);
    }
}

static void too_few_slots_and_too_many_combinations_are_refused(void **state)
{
    uint64_t advances;
    struct spw_join join = {.branches = 3, .steps = {4, 4, 4}, .slots = 4};
    assert_int_equal(spw_join_reverse(&join, &advances, NULL), -ENOSPC);
    join = (struct spw_join){.branches = 4, .steps = {100, 100, 100, 100}, .slots = 10};
    assert_int_equal(spw_join_reverse(&join, &advances, NULL), -E2BIG);
    join = (struct spw_join){.branches = 1, .steps = {UINT32_MAX}, .slots = 1};
    assert_int_equal(spw_join_reverse(&join, &advances, NULL), -E2BIG);
}

static void where_memory_fails_it_is_said_and_nothing_is_kept(void **state)
{
    const struct spw_join join = {.branches = 2, .steps = {30, 20}, .slots = 5};
    const long before = memory_blocks();
    int r = -ENOMEM, count = 0;
    for (; r < 0; count++) {
        struct spw_reversal reversal = {0};
        uint64_t advances;
        assert_int_equal(r, -ENOMEM);
        memory_fails_after(count);
        r = spw_join_reverse(&join, &advances, &reversal);
        memory_is_back();
        spw_reversal_finish(&reversal);
        assert_int_equal(memory_blocks(), before);
    }
    assert_true(count > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_schedule_of_two_branches_advances_less),
        cmocka_unit_test(a_single_branch_is_revolve),
        cmocka_unit_test(with_a_slot_for_each_state_every_step_is_advanced_once),
        cmocka_unit_test(four_branches_are_reversed_too),
        cmocka_unit_test(too_few_slots_and_too_many_combinations_are_refused),
        cmocka_unit_test(where_memory_fails_it_is_said_and_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
