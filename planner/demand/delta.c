/* delta.c - the planner with two rules: a filter picks the tensor to evict, a director decides in which way it comes back.
 *
 * Source: Tang et al., DELTA: Dynamically Optimizing GPU Memory beyond Tensor Recomputation, arXiv 2203.15980 (2022),
 * filter and director; ACM TACO 2024. Copies and recomputation. When room is short, the filter takes the tensor for which
 *     cost of bringing it back / (bytes * time since its last use)
 * is least, as in DTR. The cost is the lesser of two: the part of the copies' time that nothing hides, and the time of the
 * operation that makes the tensor and of all its evicted ancestors. The director takes the cheaper way. At the end, copies
 * in are moved to where they arrive in time (prefetching). Guaranteed: a schedule wherever `lru` finds one, since copies
 * alone are tried if replays for replays take too much room. Nothing is guaranteed about its time: the paper gives
 * measurements, no bounds.
 *
 * Reconstructed, since the paper does not say it: the formula of the filter beyond its similarity to DTR's; what hides a
 * copy (in: the operations up to the next use, minus all copies that are owed by then; out: the time of the lane since
 * the tensor was made); that both rules use one estimate. The later paper's form, a knapsack of bytes freed against time
 * added, is not implemented. As in `dtr`, only a sample of a large pool is examined. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "demand/demand.h"
#include "demand/evicted.h"
#include "demand/planners.h"
#include "search/prefetch.h"

enum {
    POOL_EXACT = 1024,
    SAMPLE = 128,
};

struct delta {
    struct spw_evicted *evicted;
    double *before_us;  /* for each operation: the time of all those before it */
    double owed_us;     /* copies in of all tensors that are on the host and needed again */
    double smallest_us; /* added to each cost, so that smaller costs do not matter */
    bool is_exact;
    uint64_t seed, random;
};

static int begin(void *context, struct spw_demand *demand)
{
    struct delta *delta = context;
    (void)demand;
    spw_evicted_clear(delta->evicted);
    delta->owed_us = 0;
    delta->random = delta->seed * 2 + 1;
    return 0;
}

static int note(void *context, struct spw_demand *demand, uint32_t tensor, enum spw_demand_event event)
{
    struct delta *delta = context;
    if (event == SPW_TENSOR_COPIED)
        delta->owed_us += demand->graph->tensors[tensor].h2d_us;
    else if (event == SPW_TENSOR_DROPPED)
        return spw_evicted_go(delta->evicted, tensor, demand->builder.places[tensor].next);
    else if (event == SPW_TENSOR_ENTERED && demand->builder.places[tensor].host != SPW_ABSENT)
        delta->owed_us -= demand->graph->tensors[tensor].h2d_us;
    if (event == SPW_TENSOR_ENTERED)
        spw_evicted_come(delta->evicted, tensor);
    return 0;
}

/* ---- the director ---- */

/* Returns the part of the copies' time that nothing hides. */
static double copy_us(const struct delta *delta, const struct spw_demand *d, uint32_t tensor)
{
    const struct spw_graph_tensor *t = &d->graph->tensors[tensor];
    const uint32_t next = spw_build_next_use(&d->builder, tensor);
    const double end_us = d->graph->compute_us, at_us = delta->before_us[d->builder.next_op];
    const double hidden_us = (next == SPW_NO_INDEX ? end_us : delta->before_us[next]) - at_us;
    double us = 0;
    if (!spw_demand_has_copy(d, tensor)) {
        const double done_us = fmax(d->out_us, d->made_us[tensor]) + t->d2h_us;
        us += fmax(0, done_us - d->now_us);
    }
    return us + fmin(t->h2d_us, fmax(0, delta->owed_us + t->h2d_us - hidden_us));
}

static double replay_us(struct delta *delta, struct spw_demand *d, uint32_t tensor)
{
    const double own_us = spw_evicted_own_us(delta->evicted, tensor, d->builder.places[tensor].next);
    return own_us + (delta->is_exact ? spw_evicted_above_us(delta->evicted, tensor, &d->work)
                                     : spw_evicted_class_us(delta->evicted, tensor, &d->work));
}

/* Returns the lower cost and its way; < 0: the tensor cannot be evicted. */
static double direct(struct delta *delta, struct spw_demand *d, uint32_t tensor, enum spw_demand_way *ret_way)
{
    double us = -1;
    if (spw_demand_may_leave(d, tensor, SPW_WAY_COPY)) {
        us = copy_us(delta, d, tensor);
        *ret_way = SPW_WAY_COPY;
    }
    if (us != 0 && spw_demand_may_leave(d, tensor, SPW_WAY_REPLAY)) {
        const double again_us = replay_us(delta, d, tensor);
        if (us < 0 || again_us < us) {
            us = again_us;
            *ret_way = SPW_WAY_REPLAY;
        }
    }
    return us;
}

/* ---- the filter ---- */

struct choice {
    uint32_t tensor;
    enum spw_demand_way way;
    double score;
};

static void consider(struct delta *delta, struct spw_demand *d, uint32_t tensor, struct choice *best)
{
    enum spw_demand_way way = SPW_WAY_COPY;
    d->work++;
    const double us = direct(delta, d, tensor, &way);
    if (us < 0)
        return;
    const double bytes_us = (double)d->graph->tensors[tensor].bytes * (d->now_us - d->used_us[tensor]);
    const double score = bytes_us > 0 ? (us + delta->smallest_us) / bytes_us : HUGE_VAL;
    if (best->tensor == SPW_NO_INDEX || score < best->score ||
        (score == best->score && d->entered[tensor] > d->entered[best->tensor]))
        *best = (struct choice){tensor, way, score};
}

static uint32_t draw(struct delta *delta, uint32_t below)
{
    delta->random = delta->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((delta->random >> 32) * below) >> 32);
}

static uint32_t choose(void *context, struct spw_demand *d, uint64_t wanted_bytes, enum spw_demand_way *ret_way)
{
    struct delta *delta = context;
    struct choice best = {SPW_NO_INDEX, SPW_WAY_COPY, HUGE_VAL};
    (void)wanted_bytes;
    if (d->resident_count > POOL_EXACT)
        for (int i = 0; i < SAMPLE; i++)
            consider(delta, d, d->resident[draw(delta, d->resident_count)], &best);
    for (uint32_t i = 0; i < d->resident_count && (d->resident_count <= POOL_EXACT || best.tensor == SPW_NO_INDEX); i++)
        consider(delta, d, d->resident[i], &best);
    *ret_way = best.way;
    return best.tensor;
}

/* ---- the plan ---- */

static int create(const struct spw_graph *graph, struct delta *delta)
{
    enum { OPS_EXACT = 2000 };
    delta->before_us = malloc(((size_t)graph->op_count + 1) * sizeof *delta->before_us);
    if (!delta->before_us)
        return -ENOMEM;
    delta->before_us[0] = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        delta->before_us[i + 1] = delta->before_us[i] + graph->ops[i].us;
    delta->smallest_us = graph->compute_us / graph->op_count / 1000;
    delta->is_exact = graph->op_count <= OPS_EXACT;
    return spw_evicted_create(graph, &delta->evicted);
}

/* Moves copies in to earlier places if that is faster. */
static int prefetch(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct spw_schedule earlier = {0};
    struct spw_prefetcher *prefetcher = NULL;
    struct spw_timing before, after;
    int r = spw_timeline(request->graph, schedule, &request->machine, request->device_bytes, NULL, &before, NULL);
    if (r == 0)
        r = spw_schedule_init(&earlier, request->graph);
    if (r == 0)
        r = spw_schedule_copy(&earlier, schedule, request->graph);
    if (r == 0)
        r = spw_prefetcher_create(request->graph, &prefetcher);
    if (r == 0)
        r = spw_prefetch(prefetcher, &earlier, request->device_bytes, NULL, 0);
    if (r == 0)
        r = spw_timeline(request->graph, &earlier, &request->machine, request->device_bytes, NULL, &after, NULL);
    if (r == 0 && after.time_us < before.time_us)
        r = spw_schedule_copy(schedule, &earlier, request->graph);
    spw_prefetcher_destroy(prefetcher);
    spw_schedule_finish(&earlier);
    return r == -ENOMEM ? r : 0; /* otherwise the schedule stays as it was */
}

int spw_plan_delta(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct delta delta = {.seed = request->seed};
    struct spw_demand_policy policy = {
        .context = &delta, .begin = begin, .choose = choose, .note = note, .copies = true, .replays = true};
    int r = create(request->graph, &delta);
    if (r == 0)
        r = spw_demand_make(request, &policy, schedule);
    if (r == -ENOSPC && request->may_copy && request->may_replay) { /* replays for replays took too much room */
        policy.replays = false;
        r = spw_demand_make(request, &policy, schedule);
    }
    if (r == 0)
        r = prefetch(request, schedule);
    spw_evicted_destroy(delta.evicted);
    free(delta.before_us);
    return r;
}
