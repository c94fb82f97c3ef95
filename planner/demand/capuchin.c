/* capuchin.c - the planner that swaps where there is time for it, and elsewhere weighs swapping against recomputing.
 *
 * Source: Peng et al.: Capuchin, Tensor-based GPU Memory Management for Deep Learning, ASPLOS 2020, sections 4 and 5.
 * Copies and recomputation, decided beforehand from one measured iteration: the list of all uses of tensors. For two
 * successive uses of a tensor, the free time is what is left between them after both copies:
 *     FT = (next use - time of the copy in) - (end of the previous use + time of the copy out)
 * 1. While memory is short somewhere: swap where FT is greatest, if it is not negative and the swap relieves the shortage.
 * 2. While memory is still short: take the swap that adds the least time, -FT, or the replay that saves the most bytes per
 *    second (MSPS), whichever adds less for what it saves. Choosing a replay changes others: a tensor that has the chosen
 *    one as a source needs the sources of that one too, and a source of chosen ones, if it is chosen later, is recomputed
 *    once for each of them.
 * 3. Copies in start at a trigger before the use: as early as the lane requires, then earlier in steps of 5 % of their
 *    time, as long as that helps. Replays have no trigger: they happen on demand. Where more room turns out to be needed
 *    than expected, for what replays bring back, the choices are made again for a little less memory.
 * Guarantees no more than a valid schedule; the paper gives measurements, no bounds. O(gaps * log gaps) picks, each of
 * which looks at a lane and at the sources of a replay.
 *
 * Reconstructed: what breaks ties (the order in the graph); that the copies' lanes fill up as swaps are chosen (the
 * paper moves triggers when copies collide); that step 2 compares time per byte; that persistent tensors may be away
 * over the end of the iteration, which the paper does not consider; that for large graphs a ranking may be 1 % out of
 * date. Where the choices do not suffice, the composer adds some (compose.h). */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "demand/capuchin_choose.h"
#include "demand/planners.h"
#include "search/compose.h"
#include "search/prefetch.h"

enum { MOST_REPAIRS = 4, MOST_LEADS = 6, MOST_MARGINS = 4, MANY_OPS = 5000 };

/* The state of the feedback from one iteration to the next. */
struct feedback {
    const struct spw_plan_request *request;
    struct spw_composer *composer;
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    struct spw_schedule tried;
    uint8_t *choices;
    double best_us;
};

/* Runs one iteration with triggers that are earlier by `lead`. Returns 0 and whether it was faster than all before. */
static int iterate(struct feedback *f, double lead, struct spw_schedule *best, size_t *ret_repairs, bool *ret_quicker)
{
    struct spw_timing timing;
    struct spw_composed composed;
    int r = spw_compose(f->composer, f->choices, &f->tried, &composed);
    *ret_repairs = composed.repairs;
    if (r == 0)
        r = spw_prefetch(f->prefetcher, &f->tried, f->request->device_bytes, NULL, lead);
    if (r == 0 || r == -EINVAL) /* the copies stay where the composer put them */
        r = spw_timer_run(f->timer, &f->tried, f->request->device_bytes, NULL, &timing, NULL);
    *ret_quicker = r == 0 && timing.time_us < f->best_us;
    if (*ret_quicker) {
        f->best_us = timing.time_us;
        r = spw_schedule_copy(best, &f->tried, f->request->graph);
    }
    return r;
}

/* Repeats the iteration until nothing has to be repaired, then with earlier and earlier triggers as long as that helps. */
static int settle(struct feedback *f, struct spw_schedule *best)
{
    size_t repairs = 1;
    bool is_quicker = true;
    int r = 0;
    for (int i = 0; i < MOST_REPAIRS && repairs && r == 0; i++)
        r = iterate(f, 0, best, &repairs, &is_quicker);
    is_quicker = true;
    for (int i = 1; i <= MOST_LEADS && is_quicker && r == 0; i++)
        r = iterate(f, 0.05 * i, best, &repairs, &is_quicker);
    return r == -ENOSPC ? 0 : r; /* there may be an earlier schedule */
}

static void finish(struct feedback *f)
{
    spw_schedule_finish(&f->tried);
    spw_timer_destroy(f->timer);
    spw_prefetcher_destroy(f->prefetcher);
    spw_composer_destroy(f->composer);
    free(f->choices);
}

static int init(struct feedback *f, const struct spw_plan_request *request)
{
    const struct spw_graph *graph = request->graph;
    *f = (struct feedback){.request = request, .best_us = HUGE_VAL};
    f->choices = malloc(spw_choice_count(graph) + 1);
    int r = f->choices ? spw_composer_create(request, &f->composer) : -ENOMEM;
    if (r == 0)
        r = spw_prefetcher_create(graph, &f->prefetcher);
    if (r == 0)
        r = spw_timer_create(graph, &request->machine, &f->timer);
    if (r == 0)
        r = spw_schedule_init(&f->tried, graph);
    if (r < 0)
        finish(f);
    return r;
}

static int plan(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct spw_capuchin *capuchin;
    struct feedback f;
    int r = spw_capuchin_create(request, &capuchin);
    if (r < 0)
        return r;
    r = init(&f, request);
    if (r == 0) {
        const int margins = request->graph->op_count > MANY_OPS ? 1 : MOST_MARGINS;
        for (int i = 0; i < margins && r == 0; i++) { /* each takes 3 % of the budget away */
            r = spw_capuchin_choose(capuchin, request->device_bytes - request->device_bytes / 32 * (uint64_t)i, f.choices);
            if (r == 0)
                r = settle(&f, schedule);
        }
        r = r == 0 && f.best_us == HUGE_VAL ? -ENOSPC : r;
        finish(&f);
    }
    spw_capuchin_destroy(capuchin);
    return r;
}

int spw_plan_capuchin(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    int r = plan(request, schedule);
    if (r == -ENOSPC && request->may_copy && request->may_replay) { /* replays for replays took too much room */
        struct spw_plan_request copies = *request;
        copies.may_replay = false;
        r = plan(&copies, schedule);
    }
    return r;
}
