/* pofo_plan.c - the planner `pofo`: offloading and recomputation together, on the graph as a chain of stages, by pofo.h.
 *
 * Beaumont, Eyraud-Dubois, Shilova, NeurIPS 2021. The decisions of the dynamic program, for fluid copies and a grid, are
 * executed with whole tensors, timed, and repaired by giving the program less memory until the budget holds. Guaranteed:
 * a valid schedule that is no slower than rotor's, in which persistent tensors stay. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "stages/best.h"
#include "grow.h"
#include "stages/planners.h"
#include "stages/pofo.h"
#include "stages/stage_menu.h"
#include "stages/stages.h"

enum { STAGES = 32, SLOTS = 20, QUEUE_SLOTS = 10, REDO_SLOTS = 200 };

struct work {
    const struct spw_plan_request *request;
    struct spw_chain *chain;
    struct spw_stage_menu menu;
    struct spw_pofo_choice *choices;
    uint32_t *begins; /* the stages at which decisions are made, in order */
    struct spw_stage_action *actions;
    size_t count, room;
    struct spw_best best;
};

/* ---- from choices to actions ---- */

static int add(struct work *w, struct spw_stage_action action)
{
    if (SPW_GROW(w->actions, w->room, w->count + 1) < 0)
        return -ENOMEM;
    w->actions[w->count++] = action;
    return 0;
}

static int act(struct work *w, enum spw_stage_act act, uint32_t stage)
{
    return add(w, (struct spw_stage_action){act, stage, 0});
}

/* Acts on both parts of the item before the stage: its input, and the record of the previous stage if that was saved. */
static int act_on_item(struct work *w, enum spw_stage_act on_input, enum spw_stage_act on_record, uint32_t stage,
                       bool record)
{
    int r = record ? act(w, on_record, stage - 1) : 0;
    return r == 0 ? act(w, on_input, stage) : r;
}

static int go_forward(struct work *w, uint32_t stage, bool record)
{
    const struct spw_pofo_choice *choice = &w->choices[stage];
    int r = 0;
    if (choice->offload)
        r = act_on_item(w, SPW_ACT_OUT, SPW_ACT_OUT_RECORD, stage, record);
    if (r == 0)
        r = act(w, choice->save ? SPW_ACT_SAVE : SPW_ACT_KEEP, stage);
    for (uint32_t i = stage + 1; i <= choice->last && r == 0; i++)
        r = act(w, SPW_ACT_WALK, i);
    if (r == 0 && choice->offload)
        r = act_on_item(w, SPW_ACT_FORGET, SPW_ACT_FORGET_RECORD, stage, record);
    return r;
}

static int redo(struct work *w, const struct spw_rotor *rotor, uint32_t stage)
{
    struct spw_rotor_actions actions = {0};
    int r = spw_rotor_append(rotor, stage, w->choices[stage].last, w->choices[stage].redo_bytes, &actions);
    for (size_t i = 0; i < actions.count && r == 0; i++)
        r = add(w, spw_stage_action_of(&actions.list[i]));
    spw_rotor_actions_finish(&actions);
    return r;
}

static int go_backward(struct work *w, const struct spw_rotor *rotor, uint32_t stage, bool record)
{
    int r = 0;
    if (w->choices[stage].offload)
        r = act_on_item(w, SPW_ACT_IN, SPW_ACT_IN_RECORD, stage, record);
    if (r == 0)
        r = w->choices[stage].save ? act(w, SPW_ACT_BACK, stage) : redo(w, rotor, stage);
    return r == 0 ? act(w, SPW_ACT_FORGET, stage) : r;
}

static int list_actions(struct work *w, const struct spw_rotor *rotor)
{
    uint32_t decisions = 0;
    bool record = false;
    int r = 0;
    w->count = 0;
    for (uint32_t stage = 0; stage < w->chain->count && r == 0; stage = w->choices[stage].last + 1) {
        w->begins[decisions++] = stage;
        r = go_forward(w, stage, record);
        record = w->choices[stage].save;
    }
    while (decisions-- > 0 && r == 0) {
        const uint32_t stage = w->begins[decisions];
        r = go_backward(w, rotor, stage, decisions > 0 && w->choices[w->begins[decisions - 1]].save);
    }
    return r;
}

/* ---- tries ---- */

static int carry_out(struct work *w)
{
    struct spw_builder builder;
    int r = spw_builder_init(&builder, w->request->graph, &w->best.tried, w->request->device_bytes, w->request->host_bytes);
    if (r < 0)
        return r;
    r = spw_stages_run(w->chain, &builder, w->actions, w->count, NULL);
    spw_builder_finish(&builder);
    return r == 0 ? spw_best_offer(&w->best) : r;
}

/* Returns 0 if the program's result for that much memory fits, or -ENOSPC. */
static int try_with(struct work *w, uint64_t bytes)
{
    const struct spw_graph *graph = w->request->graph;
    const struct spw_pofo_request request = {.stages = w->menu.stages,
                                             .count = w->chain->count,
                                             .bytes = bytes,
                                             .d2h_bytes_per_us = w->request->may_copy ? graph->d2h_bytes_per_us : 0,
                                             .h2d_bytes_per_us = w->request->may_copy ? graph->h2d_bytes_per_us : 0,
                                             .may_replay = w->request->may_replay,
                                             .slots = SLOTS,
                                             .queue_slots = QUEUE_SLOTS};
    struct spw_rotor *rotor;
    double us;
    int r = spw_rotor_create(w->menu.stages, w->chain->count, bytes, REDO_SLOTS, &rotor);
    if (r < 0)
        return r;
    r = spw_pofo(&request, rotor, w->choices, &us);
    if (r == 0)
        r = list_actions(w, rotor);
    if (r == 0)
        r = carry_out(w);
    spw_rotor_destroy(rotor);
    return r == -EINVAL ? -ENOSPC : r;
}

/* Tries the most memory first, and after the first fit two more values, since less memory for the program is sometimes
 * faster. */
static int try_all(struct work *w)
{
    static const double shares[] = {1.1, 1, 0.93, 0.86, 0.8, 0.7, 0.6};
    const uint64_t resident = w->chain->resident_bytes, budget = w->request->device_bytes;
    int more = 3, r = 0;
    if (budget <= resident)
        return 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares && more > 0 && r != -ENOMEM; i++) {
        r = try_with(w, (uint64_t)((double)(budget - resident) * shares[i]));
        more -= r == 0 || more < 3;
    }
    return r == -ENOMEM ? r : 0;
}

static int work(struct work *w)
{
    int r = spw_stage_menu_init(&w->menu, w->chain);
    w->choices = calloc(w->chain->count, sizeof *w->choices);
    w->begins = calloc(w->chain->count, sizeof *w->begins);
    if (r == 0 && (!w->choices || !w->begins))
        r = -ENOMEM;
    if (r == 0) {
        r = spw_best_ask(&w->best, spw_plan_rotor);
        r = r == -ENOMEM ? r : 0;
    }
    if (r == 0)
        r = try_all(w);
    return r < 0 ? r : isinf(w->best.us) ? -ENOSPC : 0;
}

int spw_plan_pofo(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct work w = {.request = request};
    int r = spw_plan_none(request, schedule);
    if (r != -ENOSPC)
        return r;
    r = spw_chain_create(request->graph, STAGES, &w.chain);
    if (r < 0)
        return r;
    r = spw_best_init(&w.best, request, schedule);
    if (r == 0)
        r = work(&w);
    spw_best_finish(&w.best);
    spw_stage_menu_finish(&w.menu);
    free(w.choices);
    free(w.begins);
    free(w.actions);
    spw_chain_destroy(w.chain);
    return r;
}
