/* offload_plan.c - the planner `offload`: copies of whole tensors alone, on any graph; the best of several choices of
 * tensors.
 *
 * Beaumont, Eyraud-Dubois, Shilova, Euro-Par 2020: the volume of the fluid relaxation rounded to whole tensors, greedy
 * in the order in which tensors are made, and the dynamic program over (stage, bytes that stay, bytes queued), which is
 * that of pofo.h without recomputation. In addition: greedy by the longest rest, and with persistent tensors first. The
 * time line decides which is best. Guaranteed: a valid schedule without replays; only tensors chosen for it start on the
 * host. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/best.h"
#include "search/compose.h"
#include "stages/offload.h"
#include "stages/planners.h"
#include "stages/pofo.h"
#include "stages/stage_menu.h"

enum { SLOTS = 30, QUEUE_SLOTS = 14 };

struct work {
    const struct spw_graph *graph;
    struct spw_plan_request request; /* without replays */
    struct spw_leave *leaves, *ordered;
    uint32_t count;
    bool *taken;
    uint8_t *choices;
    struct spw_composer *composer;
    struct spw_best best;
};

/* Composes a schedule of the leaves that are taken, and offers it. */
static int offer(struct work *w, const struct spw_leave *leaves)
{
    struct spw_composed composed;
    memset(w->choices, SPW_KEEP, spw_choice_count(w->graph));
    for (uint32_t i = 0; i < w->count; i++) {
        if (w->taken[i])
            w->choices[leaves[i].use] = SPW_SWAP;
    }
    /* the choices then contain what had to be evicted on the way, so the second round evicts it in good time */
    for (int round = 0; round < 2; round++) {
        int r = spw_compose(w->composer, w->choices, &w->best.tried, &composed);
        if (r == 0)
            r = spw_best_offer(&w->best);
        if (r == -ENOMEM)
            return r;
        if (r < 0 || composed.repairs == 0)
            break;
    }
    return 0;
}

static int offer_greedy(struct work *w, const struct spw_leave *leaves)
{
    const int r = spw_offload_greedy(w->graph, w->request.device_bytes, leaves, w->count, w->taken);
    return r == 0 ? offer(w, leaves) : r;
}

/* ---- the orders ---- */

static int by_order_of_making(struct work *w)
{
    memset(w->taken, 0, w->count);
    return offer_greedy(w, w->leaves);
}

/* Takes as many of the first made tensors as the relaxation has away at once. */
static int by_fluid_volume(struct work *w)
{
    struct spw_fluid fluid;
    const uint64_t budget = w->request.device_bytes, persistent = w->graph->persistent_bytes;
    const int r = spw_offload_fluid(w->graph, budget > persistent ? budget - persistent : 0, &fluid);
    if (r < 0 || isinf(fluid.us))
        return r;
    double volume = fmax(fluid.forward_bytes, fluid.backward_bytes);
    memset(w->taken, 0, w->count);
    for (uint32_t i = 0; i < w->count && volume > 0; i++) {
        w->taken[i] = !w->graph->tensors[w->leaves[i].tensor].persistent;
        volume -= (double)w->graph->tensors[w->leaves[i].tensor].bytes;
    }
    return offer_greedy(w, w->leaves);
}

static int compare_rest(const void *left, const void *right)
{
    const struct spw_leave *a = left, *b = right;
    if (a->idle_us != b->idle_us)
        return a->idle_us > b->idle_us ? -1 : 1;
    return a->tensor < b->tensor ? -1 : a->tensor > b->tensor;
}

static int by_longest_rest(struct work *w)
{
    memcpy(w->ordered, w->leaves, w->count * sizeof *w->ordered);
    qsort(w->ordered, w->count, sizeof *w->ordered, compare_rest);
    memset(w->taken, 0, w->count);
    return offer_greedy(w, w->ordered);
}

static int persistent_first(struct work *w)
{
    uint32_t first = 0;
    while (first < w->count && !w->graph->tensors[w->leaves[first].tensor].persistent)
        first++;
    if (first == w->count)
        return 0;
    memcpy(w->ordered, w->leaves + first, (w->count - first) * sizeof *w->ordered);
    memcpy(w->ordered + (w->count - first), w->leaves, first * sizeof *w->ordered);
    memset(w->taken, 0, w->count);
    return offer_greedy(w, w->ordered);
}

/* ---- the dynamic program ---- */

/* Takes what lies before stage `stage`: its input, and the record of the previous stage. */
static void take_item(const struct spw_chain *chain, uint32_t stage, bool *is_taken)
{
    const struct spw_stage *s = &chain->stages[stage];
    for (uint32_t i = 0; i < s->input_count; i++)
        is_taken[chain->listed[s->first_input + i]] = true;
    for (uint32_t i = 0; stage > 0 && i < s[-1].record_count; i++)
        is_taken[chain->listed[s[-1].first_record + i]] = true;
}

static int decide(struct work *w, const struct spw_chain *chain, struct spw_stage_menu *menu,
                  struct spw_pofo_choice *choices)
{
    const struct spw_pofo_request request = {.stages = menu->stages,
                                             .count = chain->count,
                                             .bytes = w->request.device_bytes - chain->resident_bytes,
                                             .d2h_bytes_per_us = w->graph->d2h_bytes_per_us,
                                             .h2d_bytes_per_us = w->graph->h2d_bytes_per_us,
                                             .slots = SLOTS,
                                             .queue_slots = QUEUE_SLOTS};
    double us;
    return spw_pofo(&request, NULL, choices, &us);
}

static int take_decided(struct work *w, const struct spw_chain *chain, const struct spw_pofo_choice *choices)
{
    bool *is_taken = calloc((size_t)w->graph->tensor_count + 1, sizeof *is_taken);
    if (!is_taken)
        return -ENOMEM;
    for (uint32_t i = 0; i < chain->count; i++) {
        if (choices[i].offload)
            take_item(chain, i, is_taken);
    }
    for (uint32_t i = 0; i < w->count; i++)
        w->taken[i] = is_taken[w->leaves[i].tensor];
    free(is_taken);
    return offer(w, w->leaves);
}

static int by_program(struct work *w)
{
    struct spw_chain *chain;
    struct spw_stage_menu menu = {0};
    int r = spw_chain_create(w->graph, SPW_STAGES_DEFAULT, &chain);
    if (r < 0)
        return r == -ENOMEM ? r : 0; /* it is no chain */
    struct spw_pofo_choice *choices = calloc(chain->count, sizeof *choices);
    r = choices ? spw_stage_menu_init(&menu, chain) : -ENOMEM;
    if (r == 0 && w->request.device_bytes > chain->resident_bytes) {
        r = decide(w, chain, &menu, choices);
        if (r == 0)
            r = take_decided(w, chain, choices);
    }
    free(choices);
    spw_stage_menu_finish(&menu);
    spw_chain_destroy(chain);
    return r == -ENOSPC ? 0 : r;
}

/* ---- */

static int set_up(struct work *w)
{
    int r = spw_offload_leaves(w->graph, &w->leaves, &w->count);
    if (r < 0)
        return r;
    w->ordered = malloc(((size_t)w->count + 1) * sizeof *w->ordered);
    w->taken = calloc((size_t)w->count + 1, sizeof *w->taken);
    w->choices = malloc(spw_choice_count(w->graph) + 1);
    if (!w->ordered || !w->taken || !w->choices)
        return -ENOMEM;
    return spw_composer_create(&w->request, &w->composer);
}

int spw_plan_offload(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    static int (*const ways[])(struct work *) = {by_order_of_making, by_fluid_volume, by_longest_rest, persistent_first,
                                                 by_program};
    struct work w = {.graph = request->graph, .request = *request};
    w.request.may_replay = false;
    int r = spw_plan_none(request, schedule);
    if (r != -ENOSPC || !request->may_copy)
        return r;
    r = spw_best_init(&w.best, &w.request, schedule);
    if (r == 0)
        r = set_up(&w);
    for (size_t i = 0; i < sizeof ways / sizeof *ways && r == 0; i++)
        r = ways[i](&w);
    if (r == 0 && isinf(w.best.us))
        r = -ENOSPC;
    spw_best_finish(&w.best);
    spw_composer_destroy(w.composer);
    free(w.leaves);
    free(w.ordered);
    free(w.taken);
    free(w.choices);
    return r;
}
