/* dtr.c - the planner that drops tensors that are cheap to recompute, large, and unused for long.
 *
 * Source: Kirisame, Lyubomirsky, Haan, Brennan, He, Roesch, Chen, Tatlock: Dynamic Tensor Rematerialization, ICLR 2021,
 * section 2 (h*), and appendix C of the same for the approximation by classes. Recomputation only. Whenever room is short,
 * it drops the tensor for which
 *     (its own cost + the cost of its evicted neighbourhood) / (bytes * time since its last use)
 * is least. A missing tensor is recomputed when it is read, recursively, and the inputs of a replay stay meanwhile.
 * Guaranteed (by the paper, for chains of equal layers): O(n) operations in all for n layers and memory for about sqrt(n)
 * tensors. On other graphs nothing: an adversary can make any such rule n/M times as slow as the best schedule.
 *
 * Tensors are dropped as soon as the program has no more use for them, and count as evicted from then on (the paper's
 * eager eviction). A tensor that is recomputed for a replay although it is dead stays until it is the cheapest to drop.
 * Of a pool of more than POOL_EXACT tensors only a sample is examined, chosen by the seed, as in the authors' prototype;
 * all of it only where no tensor in the sample can be dropped. */
#include "demand/dtr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "demand/demand.h"
#include "demand/evicted.h"
#include "demand/planners.h"

enum {
    POOL_EXACT = 1024,
    SAMPLE = 128,
    OPS_EXACT = 2000, /* the exact neighbourhood is not tried in larger graphs */
};

struct dtr {
    struct spw_evicted *evicted;
    enum spw_dtr_cost cost;
    uint64_t seed, random;
};

static int begin(void *context, struct spw_demand *demand)
{
    struct dtr *dtr = context;
    (void)demand;
    spw_evicted_clear(dtr->evicted);
    dtr->random = dtr->seed * 2 + 1;
    return 0;
}

static int note(void *context, struct spw_demand *demand, uint32_t tensor, enum spw_demand_event event)
{
    struct dtr *dtr = context;
    if (event == SPW_TENSOR_DROPPED)
        return spw_evicted_go(dtr->evicted, tensor, demand->builder.places[tensor].next);
    if (event == SPW_TENSOR_ENTERED)
        spw_evicted_come(dtr->evicted, tensor);
    return 0;
}

static double score(struct dtr *dtr, struct spw_demand *d, uint32_t tensor)
{
    double us = spw_evicted_own_us(dtr->evicted, tensor, d->builder.places[tensor].next);
    double used_us = d->used_us[tensor];
    if (dtr->cost == SPW_DTR_EXACT)
        us += spw_evicted_around_us(dtr->evicted, tensor, d->used_us, &used_us, &d->work);
    else if (dtr->cost == SPW_DTR_CLASSES)
        us += spw_evicted_class_us(dtr->evicted, tensor, &d->work);
    const double bytes_us = (double)d->graph->tensors[tensor].bytes * (d->now_us - used_us);
    return bytes_us > 0 ? us / bytes_us : HUGE_VAL;
}

struct choice {
    uint32_t tensor;
    double score;
};

/* Compares the tensor with the best so far. Of two equal ones the later one wins. */
static void consider(struct dtr *dtr, struct spw_demand *d, uint32_t tensor, struct choice *best)
{
    d->work++;
    if (!spw_demand_may_leave(d, tensor, SPW_WAY_REPLAY))
        return;
    const double s = score(dtr, d, tensor);
    if (best->tensor == SPW_NO_INDEX || s < best->score ||
        (s == best->score && d->entered[tensor] > d->entered[best->tensor]))
        *best = (struct choice){tensor, s};
}

static uint32_t draw(struct dtr *dtr, uint32_t below)
{
    dtr->random = dtr->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(((dtr->random >> 32) * below) >> 32);
}

static uint32_t choose(void *context, struct spw_demand *d, uint64_t wanted_bytes, enum spw_demand_way *ret_way)
{
    struct dtr *dtr = context;
    struct choice best = {SPW_NO_INDEX, HUGE_VAL};
    (void)wanted_bytes;
    *ret_way = SPW_WAY_REPLAY;
    if (d->resident_count > POOL_EXACT)
        for (int i = 0; i < SAMPLE; i++)
            consider(dtr, d, d->resident[draw(dtr, d->resident_count)], &best);
    for (uint32_t i = 0; i < d->resident_count && (d->resident_count <= POOL_EXACT || best.tensor == SPW_NO_INDEX); i++)
        consider(dtr, d, d->resident[i], &best);
    return best.tensor;
}

int spw_plan_dtr_by(const struct spw_plan_request *request, enum spw_dtr_cost cost, struct spw_schedule *schedule)
{
    struct dtr dtr = {.cost = cost, .seed = request->seed};
    const struct spw_demand_policy policy = {
        .context = &dtr, .begin = begin, .choose = choose, .note = note, .replays = true};
    int r = spw_evicted_create(request->graph, &dtr.evicted);
    if (r < 0)
        return r;
    r = spw_demand_make(request, &policy, schedule);
    spw_evicted_destroy(dtr.evicted);
    return r;
}

static double replayed_us(const struct spw_graph *graph, const struct spw_schedule *schedule)
{
    double us = 0;
    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->steps[i].kind == SPW_STEP_REPLAY)
            us += graph->ops[schedule->steps[i].id].us;
    return us;
}

int spw_plan_dtr(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    const struct spw_graph *graph = request->graph;
    struct spw_schedule other;
    const int by_classes = spw_plan_dtr_by(request, SPW_DTR_CLASSES, schedule);
    if (by_classes == -ENOMEM || graph->op_count > OPS_EXACT)
        return by_classes;
    int r = spw_schedule_init(&other, graph);
    if (r < 0)
        return r;
    r = spw_plan_dtr_by(request, SPW_DTR_EXACT, &other);
    if (r == 0 && (by_classes < 0 || replayed_us(graph, &other) < replayed_us(graph, schedule)))
        r = spw_schedule_copy(schedule, &other, graph);
    else if (r == -ENOSPC)
        r = by_classes;
    spw_schedule_finish(&other);
    return r;
}
