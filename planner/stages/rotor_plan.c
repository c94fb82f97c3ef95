/* rotor_plan.c - the planner `rotor`: recomputation on the graph as a chain of stages, by the dynamic program of rotor.h.
 *
 * Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova, TOMS (2024), section 4. Guaranteed: a valid schedule without copies
 * in which persistent tensors stay; the persistent optimum if the graph is a chain of its stages, up to the rounding to
 * slots. Only sums of the stages' working memory are known, so the planner searches for the largest memory to give to
 * the program with which the program's result fits into the budget. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/plan.h"
#include "stages/planners.h"
#include "stages/stage_menu.h"

enum { SLOTS = 500, TRIES = 12 };

struct search {
    const struct spw_plan_request *request;
    struct spw_chain *chain;
    struct spw_stage_menu menu;
    struct spw_rotor *rotor;
    struct spw_schedule tried, *best;
    double best_us; /* INFINITY: none yet */
};

/* ---- one try ---- */

static struct spw_stage_action *translate(const struct spw_rotor_actions *actions)
{
    struct spw_stage_action *list = calloc(actions->count + 1, sizeof *list);
    for (size_t i = 0; list && i < actions->count; i++)
        list[i] = spw_stage_action_of(&actions->list[i]);
    return list;
}

static int build(struct search *s, const struct spw_rotor_actions *actions)
{
    struct spw_stage_action *list = translate(actions);
    if (!list)
        return -ENOMEM;
    struct spw_builder builder;
    int r = spw_builder_init(&builder, s->request->graph, &s->tried, s->request->device_bytes, s->request->host_bytes);
    if (r == 0) {
        r = spw_stages_run(s->chain, &builder, list, actions->count, NULL);
        spw_builder_finish(&builder);
    }
    free(list);
    return r;
}

static double compute_us(const struct search *s)
{
    double us = 0;
    for (size_t i = 0; i < s->tried.count; i++) {
        if (s->tried.steps[i].kind == SPW_STEP_OP || s->tried.steps[i].kind == SPW_STEP_REPLAY)
            us += s->request->graph->ops[s->tried.steps[i].id].us;
    }
    return us;
}

/* Executes the program's result for `bytes` of memory. Returns 0 if it fits; -ENOSPC: it does not, or there is no result. */
static int try_with(struct search *s, uint64_t bytes)
{
    struct spw_rotor_actions actions = {0};
    int r = spw_rotor_append(s->rotor, 0, s->chain->count - 1, bytes, &actions);
    if (r == 0)
        r = build(s, &actions);
    spw_rotor_actions_finish(&actions);
    if (r < 0)
        return r == -ENOMEM ? r : -ENOSPC;
    const double us = compute_us(s);
    if (us >= s->best_us)
        return 0;
    s->best_us = us;
    return spw_schedule_copy(s->best, &s->tried, s->request->graph);
}

/* ---- how much memory to give ---- */

/* Returns the least memory for which the program has a result. */
static uint64_t find_least(const struct search *s, uint64_t most)
{
    uint64_t low = 0, high = most;
    for (int i = 0; i < 24 && low < high; i++) {
        const uint64_t middle = low + (high - low) / 2;
        if (isinf(spw_rotor_time(s->rotor, 0, s->chain->count - 1, middle)))
            low = middle + 1;
        else
            high = middle;
    }
    return high;
}

static int search(struct search *s)
{
    const uint64_t resident = s->chain->resident_bytes, budget = s->request->device_bytes;
    if (budget < resident)
        return -ENOSPC;
    /* what the sums overstate can be given to the program, up to everything that moves */
    uint64_t most = budget - resident + (budget - resident) / 4;
    const uint64_t all = s->request->graph->peak_bytes - resident / 2;
    most = most < all ? most : all;
    int r = spw_rotor_create(s->menu.stages, s->chain->count, most, SLOTS, &s->rotor);
    if (r < 0)
        return r;
    uint64_t low = find_least(s, most), high = most;
    r = try_with(s, high);
    if (r != -ENOSPC)
        return r;
    r = try_with(s, low);
    for (int i = 0; i < TRIES && r != -ENOMEM && high - low > most / SLOTS; i++) {
        const uint64_t middle = low + (high - low) / 2;
        r = try_with(s, middle);
        *(r == 0 ? &low : &high) = middle;
    }
    return r == -ENOMEM ? r : isinf(s->best_us) ? -ENOSPC : 0;
}

int spw_plan_rotor(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct search s = {.request = request, .best = schedule, .best_us = INFINITY};
    int r = spw_plan_none(request, schedule);
    if (r != -ENOSPC || !request->may_replay)
        return r;
    r = spw_chain_create(request->graph, SPW_STAGES_DEFAULT, &s.chain);
    if (r < 0)
        return r;
    r = spw_schedule_init(&s.tried, request->graph);
    if (r == 0)
        r = spw_stage_menu_init(&s.menu, s.chain);
    if (r == 0)
        r = search(&s);
    spw_rotor_destroy(s.rotor);
    spw_schedule_finish(&s.tried);
    spw_stage_menu_finish(&s.menu);
    spw_chain_destroy(s.chain);
    return r;
}
