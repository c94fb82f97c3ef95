/* hrevolve.c - fills tables over chain length, level and free slots, and follows them to a schedule.
 *
 * Herrmann and Pallez, "H-Revolve", ACM TOMS 46 (2020), the recurrences of Opt and Opt'. For l steps to be reversed after
 * the current one, l + 1 in all, with m free slots at level k and all slots free below:
 *   stored(k, l, m), the cost where the initial state is in one of the m slots (and in the work buffer),
 *     = min(fresh(k-1, l, all), min over j = 1..l of j forward + fresh(k, l-j, m-1) + read + stored(k, j-1, m))
 *   fresh(k, l, m), the cost where it is in the work buffer alone,
 *     = min(fresh(k-1, l, all), write + stored(k, l, m))
 * and both are one reversal for l = 0. The paper's table begins at l = 1 with a copy at level 0. If level 0 has a price,
 * that can cost more than reading an outer level once more; here the recurrence holds from l = 1 on. */
#include "chains/hrevolve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "grow.h"

struct entry {
    double fresh, stored;
    uint32_t split; /* of `stored`: j; 0: the levels below do it */
    bool write;     /* of `fresh`: it is stored at this level */
};

struct level {
    struct spw_hrevolve_level is;
    uint32_t columns; /* for m = 0 .. columns - 1; of an unlimited level: one column stands for every m */
    struct entry *entries;
};

struct spw_hrevolve {
    double forward, backward;
    uint32_t steps, level_count;
    struct level levels[];
};

static struct entry *entry(const struct spw_hrevolve *tables, uint32_t k, uint32_t l, uint32_t m)
{
    const struct level *level = &tables->levels[k];
    return &level->entries[(size_t)l * level->columns + m];
}

static uint32_t all_slots(const struct spw_hrevolve *tables, uint32_t k)
{
    return tables->levels[k].columns - 1;
}

/* Returns the column after one of the m free slots has been taken. */
static uint32_t one_less(const struct level *level, uint32_t m)
{
    return level->is.slots == SPW_SLOTS_UNLIMITED ? m : m - 1;
}

static bool has_slot(const struct level *level, uint32_t m)
{
    return level->is.slots == SPW_SLOTS_UNLIMITED || m > 0;
}

static double fresh_below(const struct spw_hrevolve *tables, uint32_t k, uint32_t l)
{
    return k > 0 ? entry(tables, k - 1, l, all_slots(tables, k - 1))->fresh : INFINITY;
}

static void fill_stored(const struct spw_hrevolve *tables, uint32_t k, uint32_t l, uint32_t m)
{
    const struct level *level = &tables->levels[k];
    struct entry *e = entry(tables, k, l, m);
    e->stored = fresh_below(tables, k, l);
    e->split = 0;
    for (uint32_t j = 1; j <= l; j++) {
        const double head = level->is.one_read && j > 1 ? fresh_below(tables, k, j - 1) : entry(tables, k, j - 1, m)->stored;
        const double cost = j * tables->forward + entry(tables, k, l - j, one_less(level, m))->fresh + level->is.read + head;
        if (cost < e->stored) {
            e->stored = cost;
            e->split = j;
        }
    }
}

static void fill(const struct spw_hrevolve *tables, uint32_t k, uint32_t l, uint32_t m)
{
    const struct level *level = &tables->levels[k];
    struct entry *e = entry(tables, k, l, m);
    if (l == 0) {
        *e = (struct entry){.fresh = tables->backward, .stored = tables->backward};
        return;
    }
    *e = (struct entry){.fresh = fresh_below(tables, k, l), .stored = INFINITY};
    if (!has_slot(level, m))
        return;
    fill_stored(tables, k, l, m);
    e->write = level->is.write + e->stored < e->fresh;
    if (e->write)
        e->fresh = level->is.write + e->stored;
}

int spw_hrevolve_create(uint32_t steps, const struct spw_hrevolve_level *levels, uint32_t level_count, double forward,
                        double backward, struct spw_hrevolve **ret_tables)
{
    const size_t most_entries = ((size_t)1 << 40) / sizeof(struct entry);
    struct spw_hrevolve *tables = calloc(1, sizeof *tables + level_count * sizeof *tables->levels);
    if (!tables)
        return -ENOMEM;
    *tables = (struct spw_hrevolve){.forward = forward, .backward = backward, .steps = steps, .level_count = level_count};
    for (uint32_t k = 0; k < level_count; k++) {
        struct level *level = &tables->levels[k];
        level->is = levels[k];
        const bool unlimited = level->is.slots == SPW_SLOTS_UNLIMITED;
        if (!unlimited && level->is.slots > steps)
            level->is.slots = steps; /* there are not more states */
        level->columns = unlimited ? 1 : level->is.slots + 1;
        if (level->columns <= most_entries / steps)
            level->entries = calloc((size_t)steps * level->columns, sizeof *level->entries);
        if (!level->entries) {
            spw_hrevolve_destroy(tables);
            return -ENOMEM;
        }
        for (uint32_t l = 0; l < steps; l++)
            for (uint32_t m = 0; m < level->columns; m++)
                fill(tables, k, l, m);
    }
    *ret_tables = tables;
    return 0;
}

void spw_hrevolve_destroy(struct spw_hrevolve *tables)
{
    if (!tables)
        return;
    for (uint32_t k = 0; k < tables->level_count; k++)
        free(tables->levels[k].entries);
    free(tables);
}

double spw_hrevolve_cost(const struct spw_hrevolve *tables, uint32_t steps)
{
    const uint32_t top = tables->level_count - 1;
    return entry(tables, top, steps - 1, all_slots(tables, top))->fresh;
}

/* ---- from the tables to actions ---- */

/* Steps [first, first + l] have to be reversed, with state `first` in the work buffer or, if it is stored, in the slot of
 * level k that was taken last. The tasks are a stack, since the tables' recursion is as deep as there are slots. */
struct task {
    enum { FRESH, STORED, AGAIN /* stored, and to be read */ } kind;
    uint32_t k, first, l, m; /* k, l, m: as in the tables */
};

struct writer {
    const struct spw_hrevolve *tables;
    struct spw_reversal *reversal;
    /* Number of slots in use at each level: states are discarded in the reverse order of storing. */
    uint32_t *used;
    struct task *tasks;
    size_t count, room;
};

static int act(const struct writer *w, enum spw_action_kind kind, uint32_t level, uint32_t state, uint32_t to)
{
    struct spw_reversal_action action = {.kind = kind, .level = level, .state = state, .to = to};
    if (kind == SPW_ACTION_STORE)
        action.slot = w->used[level]++;
    else if (kind == SPW_ACTION_DISCARD)
        action.slot = --w->used[level];
    else if (kind == SPW_ACTION_RESTORE)
        action.slot = w->used[level] - 1;
    return spw_reversal_add(w->reversal, &action);
}

static int push(struct writer *w, struct task task)
{
    if (SPW_GROW(w->tasks, w->room, w->count + 1) < 0)
        return -ENOMEM;
    w->tasks[w->count++] = task;
    return 0;
}

static int push_below(struct writer *w, const struct task *t)
{
    return push(w, (struct task){FRESH, t->k - 1, t->first, t->l, all_slots(w->tables, t->k - 1)});
}

static int do_fresh(struct writer *w, const struct task *t)
{
    if (t->l == 0)
        return act(w, SPW_ACTION_REVERSE, 0, t->first, 0);
    if (!entry(w->tables, t->k, t->l, t->m)->write)
        return push_below(w, t);
    const int r = act(w, SPW_ACTION_STORE, t->k, t->first, 0);
    return r == 0 ? push(w, (struct task){STORED, t->k, t->first, t->l, t->m}) : r;
}

static int do_stored(struct writer *w, const struct task *t)
{
    const struct level *level = &w->tables->levels[t->k];
    int r = t->kind == AGAIN ? act(w, SPW_ACTION_RESTORE, t->k, t->first, 0) : 0;
    if (r < 0)
        return r;
    const bool may_read = t->kind != AGAIN || !level->is.one_read;
    const uint32_t j = t->l > 0 && may_read ? entry(w->tables, t->k, t->l, t->m)->split : 0;
    if (j == 0) { /* it is not read again from here */
        r = act(w, SPW_ACTION_DISCARD, t->k, t->first, 0);
        if (r < 0)
            return r;
        return t->l > 0 ? push_below(w, t) : act(w, SPW_ACTION_REVERSE, 0, t->first, 0);
    }
    r = act(w, SPW_ACTION_ADVANCE, 0, t->first, t->first + j);
    if (r == 0)
        r = push(w, (struct task){AGAIN, t->k, t->first, j - 1, t->m});
    if (r == 0)
        r = push(w, (struct task){FRESH, t->k, t->first + j, t->l - j, one_less(level, t->m)});
    return r;
}

int spw_hrevolve_append(const struct spw_hrevolve *tables, uint32_t steps, struct spw_reversal *reversal)
{
    if (isinf(spw_hrevolve_cost(tables, steps)))
        return -ENOSPC;
    struct writer w = {tables, reversal, .used = calloc(tables->level_count, sizeof *w.used)};
    const uint32_t top = tables->level_count - 1;
    int r = w.used ? push(&w, (struct task){FRESH, top, 0, steps - 1, all_slots(tables, top)}) : -ENOMEM;
    while (r == 0 && w.count > 0) {
        const struct task task = w.tasks[--w.count];
        r = task.kind == FRESH ? do_fresh(&w, &task) : do_stored(&w, &task);
    }
    free(w.tasks);
    free(w.used);
    return r;
}
