/* uniform.c - candidates in order of their estimated time, of which the first that fit are built and timed. */
#include "uniform.h"

#include <errno.h>
#include <stdlib.h>

#include "again.h"
#include "chain_run.h"
#include "linear.h"

/* Numbers of steps, of stages in the last step, and of slots that are tried. */
static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

struct candidate {
    uint32_t steps; /* before the last one */
    uint32_t last;  /* stages in the last one */
    uint32_t slots;
    double us;      /* estimated: of replays and waiting */
    uint64_t bytes; /* estimated: most at once on the device */
    bool tried;
};

struct group {
    double forward_us;         /* as recorded */
    double walk_us, record_us; /* again, for the next one's state, and for its records */
    uint64_t state_bytes;      /* of the input of its first stage */
    uint64_t walk_bytes;       /* most beside that while it is run and leaves its output */
    uint64_t first_bytes;      /* most beside that while its first stage is run and leaves its record */
    uint64_t reverse_bytes;    /* most behind that, until it is reversed */
    bool has_run, stored, fetched;
};

struct finder {
    const struct spw_plan_request *request;
    const struct spw_chain *chain;
    spw_uniform_function *reverse;
    bool copies;
    struct candidate *candidates;
    size_t count;
    uint32_t *cuts; /* the first stage of each group; behind the last the number of stages */
    struct group *groups;
    uint64_t *kept; /* for each stage */
    struct spw_again *again;
};

/* ---- a chain in groups ---- */

/* The stages before the last step, in `steps` groups of about equal time. */
static void cut_groups(const struct finder *f, const struct candidate *c)
{
    const uint32_t stages = f->chain->count - c->last;
    double total = 0, passed = 0;
    for (uint32_t s = 0; s < stages; s++)
        total += f->chain->stages[s].forward_us;
    uint32_t group = 0;
    for (uint32_t s = 0; s < stages; s++) {
        const bool due = passed + f->chain->stages[s].forward_us / 2 >= total * group / c->steps;
        const bool possible = group < c->steps, last_chance = c->steps - group == stages - s;
        if (group == 0 || (possible && (due || last_chance)))
            f->cuts[group++] = s;
        passed += f->chain->stages[s].forward_us;
    }
    f->cuts[group] = stages;
    f->cuts[group + 1] = f->chain->count;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t output_bytes(const struct spw_chain *chain, uint32_t stage)
{
    return stage + 1 < chain->count ? chain->stages[stage + 1].input_bytes : 0;
}

/* Bytes that its backward is the last to read. */
static uint64_t kept_bytes(const struct spw_chain *chain, uint32_t index)
{
    const struct spw_stage *stage = &chain->stages[index];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < stage->record_count; i++)
        bytes += chain->graph->tensors[chain->listed[stage->first_record + i]].bytes;
    for (uint32_t i = 0; i < stage->input_count; i++) {
        const uint32_t tensor = chain->listed[stage->first_input + i];
        const struct spw_graph_tensor *t = &chain->graph->tensors[tensor];
        const struct spw_use *last = &chain->graph->uses[t->first_use + t->use_count - 1];
        if (last->op >= stage->first_back && last->op < stage->end_back)
            bytes += t->bytes;
    }
    return bytes;
}

static void measure_group(const struct finder *f, uint32_t index, uint64_t left_bytes)
{
    struct group *group = &f->groups[index];
    const uint32_t first = f->cuts[index], end = f->cuts[index + 1];
    *group = (struct group){.state_bytes = f->chain->stages[first].input_bytes};
    uint64_t kept = 0;
    for (uint32_t s = first; s < end; s++) {
        const struct spw_stage *stage = &f->chain->stages[s];
        const uint64_t in = s > first ? stage->input_bytes : 0;
        const uint64_t now = kept + stage->record_bytes + stage->forward_extra_bytes + left_bytes;
        group->forward_us += stage->forward_us;
        group->walk_us += f->again[s].walk_us;
        group->record_us += s + 1 < end ? f->again[s].both_us : f->again[s].record_us;
        group->walk_bytes = larger(group->walk_bytes, in + output_bytes(f->chain, s) + stage->walk_extra_bytes);
        if (s == first)
            group->first_bytes = now;
        else
            group->reverse_bytes = larger(group->reverse_bytes, now);
        kept += f->kept[s];
    }
    for (uint32_t s = end; s-- > first;) {
        const struct spw_stage *stage = &f->chain->stages[s];
        const uint64_t gradient = s + 1 < f->chain->count ? f->chain->stages[s + 1].gradient_bytes : 0;
        group->reverse_bytes = larger(group->reverse_bytes, kept + gradient + stage->backward_extra_bytes + left_bytes);
        kept -= f->kept[s];
        left_bytes += stage->left_bytes;
    }
}

/* Groups, and what a uniform planner is told of them. */
static struct spw_uniform measure(const struct finder *f, const struct candidate *c)
{
    const struct spw_graph *graph = f->chain->graph;
    const uint32_t count = c->steps + 1;
    struct spw_uniform uniform = {.steps = count, .slots = c->slots, .host_slots = UINT32_MAX};
    cut_groups(f, c);
    uint64_t left = 0, states = 0, largest = 1;
    double backward_us = 0, forward_us = 0;
    for (uint32_t g = count; g-- > 0;) {
        measure_group(f, g, left);
        for (uint32_t s = f->cuts[g]; s < f->cuts[g + 1]; s++) {
            left += f->chain->stages[s].left_bytes;
            backward_us += f->chain->stages[s].backward_us;
        }
        forward_us += f->groups[g].forward_us;
        states += f->groups[g].state_bytes;
        largest = larger(largest, f->groups[g].state_bytes);
    }
    uniform.forward_us = (c->steps ? forward_us - f->groups[c->steps].forward_us : forward_us) / (c->steps ? c->steps : 1);
    uniform.backward_us = backward_us / count + uniform.forward_us;
    uniform.store_us = (double)states / graph->d2h_bytes_per_us / (c->steps ? c->steps : 1);
    uniform.load_us = (double)states / graph->h2d_bytes_per_us / (c->steps ? c->steps : 1);
    if (f->request->host_bytes / largest < uniform.host_slots)
        uniform.host_slots = (uint32_t)(f->request->host_bytes / largest);
    if (!f->copies)
        uniform.host_slots = 0;
    return uniform;
}

/* ---- estimates ---- */

/* The first time it is no replay. */
static double run_group(struct group *group, double again_us)
{
    const double us = group->has_run ? again_us : 0;
    group->has_run = true;
    return us;
}

/* What the actions come to, each group at its own time and size. */
static void estimate(const struct finder *f, const struct spw_reversal *reversal, struct candidate *c)
{
    uint64_t stored = 0, most = 0; /* states in slots, and on their way in */
    for (size_t i = 0; i < reversal->count; i++) {
        const struct spw_action *action = &reversal->actions[i];
        struct group *group = &f->groups[action->state];
        const uint64_t before = group->stored || group->fetched ? group->state_bytes : 0;
        if (action->kind == SPW_ACTION_STORE && action->level == 0)
            group->stored = true;
        else if (action->kind == SPW_ACTION_DISCARD && action->level == 0)
            group->stored = false;
        else if (action->kind == SPW_ACTION_FETCH || action->kind == SPW_ACTION_RESTORE)
            group->fetched = action->kind == SPW_ACTION_FETCH;
        stored += (group->stored || group->fetched ? group->state_bytes : 0) - before;
        const uint64_t beside = group->stored ? stored : stored + group->state_bytes;
        if (action->kind == SPW_ACTION_ADVANCE) {
            for (struct group *g = group; g < &f->groups[action->to]; g++) {
                c->us += run_group(g, g->walk_us);
                most = larger(most, (g == group ? beside : stored + g->state_bytes) + g->walk_bytes);
            }
        } else if (action->kind == SPW_ACTION_REVERSE) {
            c->us += run_group(group, group->record_us);
            most = larger(most, larger(beside + group->first_bytes, stored + group->reverse_bytes));
        }
    }
    c->bytes = larger(f->chain->resident_bytes + most, f->chain->tail_bytes);
    if (c->steps == 0)
        c->bytes = f->chain->graph->peak_bytes;
}

/* Another candidate, if there is a reversal for it. */
static int consider(struct finder *f, struct candidate c)
{
    const struct spw_uniform uniform = measure(f, &c);
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
    double us; /* < 0: there is none */
    uint32_t found;
};

/* 0, whether it fits or not; -ENOMEM. */
static int try(struct finder *f, struct candidate *c, struct best *best)
{
    const struct spw_plan_request *request = f->request;
    const struct spw_uniform uniform = measure(f, c);
    struct spw_reversal reversal = {0};
    struct spw_timing timing;
    double wait_us = 0;
    c->tried = true;
    int r = f->reverse(&uniform, &reversal, &wait_us);
    if (r == 0)
        r = spw_chain_run(f->chain, f->cuts, &reversal, request, &best->tried);
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

/* Those whose estimate leaves hope, the shortest first, until enough have fitted; then, if none has, the smallest. */
static int try_in_order(struct finder *f, struct best *best)
{
    const uint32_t enough = f->copies ? 12 : 3;
    const uint32_t most = larger(24, 3000000 / (f->chain->graph->op_count + 1));
    const uint64_t hope = f->request->device_bytes + f->request->device_bytes / 4;
    uint32_t tries = 0;
    int r = 0;
    qsort(f->candidates, f->count, sizeof *f->candidates, by_time);
    for (size_t i = 0; i < f->count && r == 0 && best->found < enough && tries < most; i++) {
        if (f->candidates[i].bytes > hope)
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
    f->candidates = calloc((size_t)(NUMBERS + 1) * NUMBERS * NUMBERS, sizeof *f->candidates);
    f->cuts = calloc((size_t)f->chain->count + 2, sizeof *f->cuts);
    f->groups = calloc((size_t)f->chain->count + 1, sizeof *f->groups);
    f->again = calloc((size_t)f->chain->count + 1, sizeof *f->again);
    f->kept = calloc((size_t)f->chain->count + 1, sizeof *f->kept);
    int r = spw_schedule_init(&best.tried, f->request->graph);
    if (r == 0 && !(f->candidates && f->cuts && f->groups && f->kept && f->again))
        r = -ENOMEM;
    if (r == 0)
        r = spw_chain_again(f->chain, f->again);
    for (uint32_t s = 0; s < f->chain->count && r == 0; s++)
        f->kept[s] = kept_bytes(f->chain, s);
    if (r == 0)
        r = consider_all(f);
    if (r == 0)
        r = try_in_order(f, &best);
    if (r == 0 && best.found == 0)
        r = -ENOSPC;
    spw_schedule_finish(&best.tried);
    free(f->candidates);
    free(f->cuts);
    free(f->groups);
    free(f->kept);
    free(f->again);
    return r;
}

int spw_plan_uniform(const struct spw_plan_request *request, spw_uniform_function *reverse, bool copies,
                     struct spw_schedule *schedule)
{
    struct spw_chain *chain;
    int r = spw_chain_create(request->graph, SPW_STAGES_DEFAULT, &chain);
    if (r < 0)
        return r;
    struct finder finder = {.request = request, .chain = chain, .reverse = reverse, .copies = copies};
    r = find(&finder, schedule);
    spw_chain_destroy(chain);
    return r;
}
