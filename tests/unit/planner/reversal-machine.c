/* reversal-machine.c - a work buffer, slots and a clock; it knows nothing of how the actions were chosen. */
#include "reversal-machine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define EMPTY UINT64_MAX

struct machine {
    const struct machine_rules *rules;
    struct machine_sums sums;
    uint64_t slots[MACHINE_LEVELS];    /* how many there are */
    uint64_t *content[MACHINE_LEVELS]; /* the state in each slot, or EMPTY */
    double *there[MACHINE_LEVELS];     /* when the copy out of or into the slot is complete */
    double out_free, in_free;          /* when the lanes beside the computation are */
    uint64_t work;
    uint64_t left;    /* steps not yet reversed */
    uint64_t *passed; /* how often each step was advanced over */
};

static uint64_t *slot_of(struct machine *m, const struct spw_reversal_action *action)
{
    assert_true(action->level < MACHINE_LEVELS);
    assert_true(action->slot < m->slots[action->level]);
    return &m->content[action->level][action->slot];
}

static void wait_until(struct machine *m, double time)
{
    if (time > m->sums.time) {
        m->sums.stall += time - m->sums.time;
        m->sums.time = time;
    }
}

static void store(struct machine *m, const struct spw_reversal_action *action)
{
    uint64_t *slot = slot_of(m, action);
    const double write = m->rules->write[action->level];
    assert_true(m->work == action->state);
    assert_true(*slot == EMPTY);
    *slot = m->work;
    m->sums.stores[action->level]++;
    if (m->rules->beside && action->level == 1) {
        wait_until(m, m->out_free);
        m->out_free = m->sums.time + write;
        m->there[1][action->slot] = m->out_free;
    } else {
        m->sums.time += write;
    }
}

static void fetch(struct machine *m, const struct spw_reversal_action *action)
{
    assert_true(m->rules->beside && action->level == 1);
    assert_true(*slot_of(m, action) == action->state);
    const double start = fmax(fmax(m->sums.time, m->in_free), m->there[1][action->slot]);
    m->in_free = start + m->rules->read[1];
    m->there[1][action->slot] = m->in_free;
}

static void restore(struct machine *m, const struct spw_reversal_action *action)
{
    assert_true(*slot_of(m, action) == action->state);
    m->work = action->state;
    m->sums.restores[action->level]++;
    if (m->rules->beside && action->level == 1)
        wait_until(m, m->there[1][action->slot]);
    else
        m->sums.time += m->rules->read[action->level];
}

static void advance(struct machine *m, const struct spw_reversal_action *action)
{
    assert_true(m->work == action->state);
    assert_true(action->to > action->state && action->to < m->left);
    for (uint64_t step = action->state; step < action->to; step++)
        if (++m->passed[step] > m->sums.most_repeated)
            m->sums.most_repeated = m->passed[step];
    m->sums.advances += action->to - action->state;
    m->sums.time += (double)(action->to - action->state) * m->rules->forward;
    m->work = action->to;
}

static void run_action(struct machine *m, const struct spw_reversal_action *action)
{
    switch (action->kind) {
    case SPW_ACTION_STORE:
        return store(m, action);
    case SPW_ACTION_RESTORE:
        return restore(m, action);
    case SPW_ACTION_FETCH:
        return fetch(m, action);
    case SPW_ACTION_ADVANCE:
        return advance(m, action);
    case SPW_ACTION_DISCARD:
        assert_true(*slot_of(m, action) == action->state);
        *slot_of(m, action) = EMPTY;
        return;
    case SPW_ACTION_REVERSE:
        assert_true(m->left > 0 && m->work == m->left - 1 && action->state == m->work);
        m->left--;
        m->work = EMPTY;
        m->sums.time += m->rules->backward;
        return;
    default:
        fail_msg("action of kind %u", action->kind);
    }
}

struct machine_sums machine_run(const struct spw_reversal *reversal, uint64_t steps, const struct machine_rules *rules)
{
    struct machine m = {.rules = rules, .left = steps, .passed = calloc(steps, sizeof *m.passed)};
    for (uint32_t k = 0; k < MACHINE_LEVELS; k++) {
        m.slots[k] = rules->slots[k] < steps ? rules->slots[k] : steps;
        m.content[k] = malloc((m.slots[k] + 1) * sizeof *m.content[k]);
        m.there[k] = calloc(m.slots[k] + 1, sizeof *m.there[k]);
        for (uint64_t i = 0; i < m.slots[k]; i++)
            m.content[k][i] = EMPTY;
    }
    for (size_t i = 0; i < reversal->count; i++)
        run_action(&m, &reversal->actions[i]);
    assert_true(m.left == 0);
    for (uint32_t k = 0; k < MACHINE_LEVELS; k++) {
        for (uint64_t i = 0; i < m.slots[k]; i++)
            assert_true(m.content[k][i] == EMPTY);
        free(m.content[k]);
        free(m.there[k]);
    }
    free(m.passed);
    return m.sums;
}
