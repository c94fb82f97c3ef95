/* uniform.c - sorts candidates by their estimated time, and builds and times the first that fit. */
#include "chains/uniform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chains/chain_run.h"
#include "chains/groups.h"

/* Values tried for the number of steps, of stages in the last step, and of slots. */
static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct candidate {
    uint32_t steps; /* before the last one */
    uint32_t last;  /* stages in the last one */
    uint32_t slots;
    bool towers;    /* several chains that meet; `last` is the part common to all */
    double us;      /* estimated time of replays and waiting */
    uint64_t bytes; /* estimated peak on the device */
    bool tried;
};

/* The state of a group during an estimate. */
struct passed {
    bool has_run, stored, fetched;
};

struct finder {
    const struct spw_plan_request *request;
    const struct spw_chain *chain;
    spw_uniform_function *reverse;
    enum spw_uniform_means means;
    struct candidate *candidates;
    size_t count;
    struct spw_groups groups;
    struct passed *passed; /* for each group */
};

/* Cuts the groups, and describes them for a uniform planner. */
static struct spw_uniform see(struct finder *f, const struct candidate *c)
{
    const struct spw_graph *graph = f->chain->graph;
    struct spw_groups *groups = &f->groups;
    if (c->towers)
        spw_groups_cut_towers(groups, c->steps);
    else
        spw_groups_cut(groups, c->steps, c->last);
    /* The last one counts only if there is no other. */
    const uint32_t count = groups->count, means = count > 1 ? count - 1 : 1;
    struct spw_uniform uniform = {.steps = count, .slots = c->slots, .branches = c->towers ? groups->towers : 1};
    for (uint32_t b = 0; b < uniform.branches; b++)
        uniform.branch_steps[b] = c->towers ? groups->tower_steps[b] : count - 1;
    uint64_t states = 0, largest = 1;
    double backward_us = 0, forward_us = 0;
    for (uint32_t g = 0; g < count; g++) {
        const struct spw_group *group = &groups->groups[g];
        backward_us += group->backward_us;
        forward_us += g < means ? group->forward_us : 0;
        states += group->state_bytes;
        largest = group->state_bytes > largest ? group->state_bytes : largest;
    }
    uniform.forward_us = forward_us / means;
    uniform.backward_us = backward_us / count + uniform.forward_us;
    uniform.store_us = (double)states / graph->d2h_bytes_per_us / means;
    uniform.load_us = (double)states / graph->h2d_bytes_per_us / means;
    const uint64_t host_slots = f->means == SPW_UNIFORM_COPIES ? f->request->host_bytes / largest : 0;
    uniform.host_slots = host_slots < UINT32_MAX ? (uint32_t)host_slots : UINT32_MAX;
    return uniform;
}

/* ---- estimates ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the time to run a group; the first run is no replay. */
static double run_group(struct passed *passed, double again_us)
{
    const double us = passed->has_run ? again_us : 0;
    passed->has_run = true;
    return us;
}

/* Estimates the cost of the actions, with each group's own time and size. */
static void estimate(struct finder *f, const struct spw_reversal *reversal, struct candidate *c)
{
    uint64_t stored = 0, most = 0; /* bytes of states in slots or being copied in */
    memset(f->passed, 0, f->groups.count * sizeof *f->passed);
    for (size_t i = 0; i < reversal->count; i++) {
        const struct spw_reversal_action *action = &reversal->actions[i];
        const struct spw_group *group = &f->groups.groups[action->state];
        struct passed *passed = &f->passed[action->state];
        const uint64_t before = passed->stored || passed->fetched ? group->state_bytes : 0;
        if (action->kind == SPW_ACTION_STORE && action->level == 0)
            passed->stored = true;
        else if (action->kind == SPW_ACTION_DISCARD && action->level == 0)
            passed->stored = false;
        else if (action->kind == SPW_ACTION_FETCH || action->kind == SPW_ACTION_RESTORE)
            passed->fetched = action->kind == SPW_ACTION_FETCH;
        stored += (passed->stored || passed->fetched ? group->state_bytes : 0) - before;
        const uint64_t beside = passed->stored ? stored : stored + group->state_bytes;
        if (action->kind == SPW_ACTION_ADVANCE) {
            for (uint64_t g = action->state; g < action->to; g++) {
                const struct spw_group *next = &f->groups.groups[g];
                c->us += run_group(&f->passed[g], next->walk_us);
                most = larger(most, (next == group ? beside : stored + next->state_bytes) + next->walk_bytes);
            }
        } else if (action->kind == SPW_ACTION_REVERSE) {
            c->us += run_group(passed, group->record_us);
            most = larger(most, larger(beside + group->first_bytes, stored + group->reverse_bytes));
        }
    }
    c->bytes = larger(f->chain->resident_bytes + most, f->chain->tail_bytes);
    if (c->steps == 0)
        c->bytes = f->chain->graph->peak_bytes;
}

/* Adds a candidate if there is a reversal for it. */
static int consider(struct finder *f, struct candidate c)
{
    const struct spw_uniform uniform = see(f, &c);
    struct spw_reversal reversal = {0};
    const int r = f->reverse(&uniform, &reversal, &c.us);
    if (r == 0) {
        estimate(f, &reversal, &c);
        f->candidates[f->count++] = c;
    }
    spw_reversal_finish(&reversal);
    return r == -ENOSPC ? 0 : r;
}

static int consider_steps(struct finder *f, uint32_t steps, uint32_t last)
{
    int r = 0;
    for (int k = 0; k < NUMBERS && numbers[k] <= (steps ? steps : 1) && r == 0; k++)
        r = consider(f, (struct candidate){.steps = steps, .last = last, .slots = numbers[k]});
    return r;
}

static int consider_all(struct finder *f)
{
    const uint32_t stages = f->chain->count;
    int r = consider_steps(f, 0, stages);
    for (int j = 1; j < NUMBERS && numbers[j] < stages && r == 0; j++) {
        const uint32_t most = stages - numbers[j];
        for (int i = 1; i < NUMBERS && numbers[i] < most && r == 0; i++)
            r = consider_steps(f, numbers[i], numbers[j]);
        if (r == 0)
            r = consider_steps(f, most, numbers[j]);
    }
    return r;
}

static int consider_towers(struct finder *f)
{
    const uint32_t all = f->groups.tower_ends[f->groups.towers - 1];
    int r = 0;
    for (int i = 1; i < NUMBERS && r == 0; i++) {
        const uint32_t steps = numbers[i] < all ? numbers[i] : all;
        for (int k = 1; k < NUMBERS && numbers[k] <= steps + f->groups.towers && steps >= f->groups.towers && r == 0; k++)
            r = consider(f, (struct candidate){.steps = steps, .slots = numbers[k], .towers = true});
        if (steps == all)
            break;
    }
    return r;
}

/* ---- building ---- */

static int by_time(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int by_bytes(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->us < b->us ? -1 : a->us > b->us;
}

struct best {
    struct spw_schedule *schedule, tried;
    double us; /* < 0: none yet */
    uint32_t found;
};

/* Builds and times a candidate. Returns 0, whether it fits or not, or -ENOMEM. */
static int try(struct finder *f, struct candidate *c, struct best *best)
{
    const struct spw_plan_request *request = f->request;
    const struct spw_uniform uniform = see(f, c);
    struct spw_reversal reversal = {0};
    struct spw_timing timing;
    double wait_us = 0;
    c->tried = true;
    int r = f->reverse(&uniform, &reversal, &wait_us);
    if (r == 0)
        r = spw_chain_run(f->chain, f->groups.cuts, &reversal, request, &best->tried);
    if (r == 0)
        r = spw_timeline(request->graph, &best->tried, &request->machine, request->device_bytes, NULL, &timing, NULL);
    spw_reversal_finish(&reversal);
    if (r == 0) {
        best->found++;
        if (best->us < 0 || timing.time_us < best->us) {
            best->us = timing.time_us;
            r = spw_schedule_copy(best->schedule, &best->tried, request->graph);
        }
    }
    return r == -ENOMEM ? r : 0;
}

/* Tries the candidates whose estimate may fit, the fastest first, until enough have fitted; if none has, the smallest.
 * Estimates are too high by up to a quarter; the fewer tries are left, the less of that is assumed. */
static int try_in_order(struct finder *f, struct best *best)
{
    const uint32_t enough = f->means == SPW_UNIFORM_COPIES ? 12 : 3;
    const uint64_t most = larger(100, 10000000 / (f->chain->graph->op_count + 1));
    const double bytes = (double)f->request->device_bytes;
    uint64_t tries = 0;
    int r = 0;
    qsort(f->candidates, f->count, sizeof *f->candidates, by_time);
    for (size_t i = 0; i < f->count && r == 0 && best->found < enough && tries < most; i++) {
        if ((double)f->candidates[i].bytes > bytes + bytes / 4 * (double)(most - tries) / (double)most)
            continue;
        r = try(f, &f->candidates[i], best);
        tries++;
    }
    qsort(f->candidates, f->count, sizeof *f->candidates, by_bytes);
    for (size_t i = 0; i < f->count && r == 0 && best->found == 0 && i < 24; i++) {
        if (!f->candidates[i].tried)
            r = try(f, &f->candidates[i], best);
    }
    return r;
}

static int find(struct finder *f, struct spw_schedule *schedule)
{
    struct best best = {.schedule = schedule, .us = -1};
    f->candidates = calloc((size_t)(NUMBERS + 2) * NUMBERS * NUMBERS, sizeof *f->candidates);
    f->passed = calloc((size_t)f->chain->count + 1, sizeof *f->passed);
    int r = spw_groups_init(&f->groups, f->chain);
    if (r == 0)
        r = spw_schedule_init(&best.tried, f->request->graph);
    if (r == 0)
        r = f->candidates && f->passed ? consider_all(f) : -ENOMEM;
    if (r == 0 && f->groups.towers > 1 && f->means == SPW_UNIFORM_JOINS)
        r = consider_towers(f);
    if (r == 0)
        r = try_in_order(f, &best);
    if (r == 0 && best.found == 0)
        r = -ENOSPC;
    spw_schedule_finish(&best.tried);
    spw_groups_finish(&f->groups);
    free(f->candidates);
    free(f->passed);
    return r;
}

int spw_plan_uniform(const struct spw_plan_request *request, spw_uniform_function *reverse, enum spw_uniform_means means,
                     struct spw_schedule *schedule)
{
    struct spw_chain *chain;
    int r = spw_chain_create(request->graph, SPW_STAGES_DEFAULT, &chain);
    if (r < 0)
        return r;
    struct finder finder = {.request = request, .chain = chain, .reverse = reverse, .means = means};
    r = find(&finder, schedule);
    spw_chain_destroy(chain);
    return r;
}
