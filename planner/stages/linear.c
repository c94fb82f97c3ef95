/* linear.c - cuts the forward part of a graph into stages, and assigns each its range of backward operations. */
#include "stages/linear.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/linear_parts.h"

/* ---- where to cut ---- */

/* The costs of cutting at a position, that is, before the operation with that index. */
struct cut_costs {
    int64_t *bytes;  /* that cross: made before and read after, both before the turn */
    int64_t *spoilt; /* number of those tensors that are overwritten after it: no cut is possible there */
    /* The operation's share of the time, and of the bytes that are kept for the backward. */
    double *weight;
};

static void add_crossings(const struct spw_chain *chain, uint32_t tensor, struct cut_costs *costs)
{
    const struct spw_graph_tensor *t = &chain->graph->tensors[tensor];
    const struct spw_use *uses = &chain->graph->uses[t->first_use];
    for (uint32_t i = 0; i + 1 < t->use_count && uses[i + 1].op < chain->turn; i++) {
        if (!uses[i + 1].reads)
            continue;
        const int64_t bytes = (int64_t)t->bytes, spoilt = uses[i + 1].version != chain->version[tensor];
        costs->bytes[uses[i].op + 1] += bytes;
        costs->bytes[uses[i + 1].op + 1] -= bytes;
        costs->spoilt[uses[i].op + 1] += spoilt;
        costs->spoilt[uses[i + 1].op + 1] -= spoilt;
    }
}

static void find_costs(const struct spw_chain *chain, const struct spw_chain_tensor *tensors, struct cut_costs *costs)
{
    const struct spw_graph *graph = chain->graph;
    double us = 0, kept = 0;
    for (uint32_t i = 0; i < chain->turn; i++)
        us += graph->ops[i].us;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (!spw_chain_moves(chain, i))
            continue;
        add_crossings(chain, i, costs);
        if (tensors[i].last_read != SPW_NO_INDEX)
            kept += (double)graph->tensors[i].bytes;
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (spw_chain_moves(chain, i) && tensors[i].last_read != SPW_NO_INDEX && kept > 0)
            costs->weight[tensors[i].made] += (double)graph->tensors[i].bytes / kept / 2;
    }
    for (uint32_t i = 0; i < chain->turn; i++) {
        costs->weight[i] += us > 0 ? graph->ops[i].us / us / 2 : 0;
        costs->bytes[i + 1] += costs->bytes[i];
        costs->spoilt[i + 1] += costs->spoilt[i];
    }
}

/* Chooses cuts in one pass: one about every `share` of the weight, the cheapest between half and one and a half of that,
 * or the first possible one after. */
static uint32_t choose_cuts(const struct spw_chain *chain, const struct cut_costs *costs, double share, uint32_t *ret_cuts)
{
    uint32_t count = 0, best = 0;
    double passed = 0, passed_at_best = 0;
    ret_cuts[count++] = 0;
    for (uint32_t i = 1; i < chain->turn; i++) {
        passed += costs->weight[i - 1];
        if (best && passed > 1.5 * share) {
            ret_cuts[count++] = best;
            passed -= passed_at_best;
            best = 0;
        }
        if (costs->spoilt[i] == 0 && passed >= 0.5 * share && (!best || costs->bytes[i] < costs->bytes[best])) {
            best = i;
            passed_at_best = passed;
        }
    }
    if (best)
        ret_cuts[count++] = best;
    return count;
}

/* ---- assigning the backward operations ---- */

struct stage_range {
    /* The operation after the turn may not belong to a stage before `low`, and preferably to none after `high`. */
    uint32_t low, high;
};

static uint32_t find_stage(const uint32_t *cuts, uint32_t count, uint32_t op)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (cuts[middle] <= op)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct stage_range range_of(const struct spw_chain *chain, const struct spw_chain_tensor *tensors,
                                   const uint32_t *cuts, uint32_t count, uint32_t op)
{
    const struct spw_graph *graph = chain->graph;
    const struct spw_graph_op *o = &graph->ops[op];
    struct stage_range range = {0, count - 1};
    for (uint32_t i = 0; i < o->read_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[o->first_read + i];
        const struct spw_chain_tensor *k = &tensors[touch->tensor];
        if (chain->held[touch->tensor] || touch->version != chain->version[touch->tensor] || k->last_walk == SPW_NO_INDEX)
            continue;
        const bool persistent = graph->tensors[touch->tensor].persistent;
        if (persistent ? touch->in_place : k->made == SPW_NO_INDEX)
            continue;
        const uint32_t last = find_stage(cuts, count, k->last_walk);
        range.high = last < range.high ? last : range.high;
        if (persistent)
            continue;
        const uint32_t first = find_stage(cuts, count, k->made);
        range.low = first > range.low ? first : range.low;
    }
    return range;
}

/* Assigns each operation after the turn to a stage, never to a later one than the operation before: `starts[k]` is the
 * first operation of stage k, `starts[k - 1]` the one after its last. What an operation reads must have been made by its
 * stage or an earlier one. */
static void match(const struct spw_chain *chain, const struct spw_chain_tensor *tensors, const uint32_t *cuts,
                  uint32_t count, struct stage_range *ranges, uint32_t *starts)
{
    uint32_t needed = 0;
    for (uint32_t op = chain->tail; op-- > chain->turn;) {
        struct stage_range *range = &ranges[op - chain->turn];
        *range = range_of(chain, tensors, cuts, count, op);
        needed = range->low > needed ? range->low : needed;
        range->low = needed;
    }
    uint32_t stage = count - 1;
    for (uint32_t k = 0; k < count; k++)
        starts[k] = chain->tail;
    starts[stage] = chain->turn;
    for (uint32_t op = chain->turn; op < chain->tail; op++) {
        const struct stage_range *range = &ranges[op - chain->turn];
        uint32_t wanted = range->high < stage ? range->high : stage;
        wanted = range->low > wanted ? range->low : wanted;
        while (stage > wanted)
            starts[--stage] = op;
    }
}

/* Removes a cut beside each stage that got no backward operation: the more expensive of its two. Returns true if any was
 * removed. */
static bool merge_idle(const struct spw_chain *chain, const struct cut_costs *costs, uint32_t *cuts, uint32_t *count,
                       const uint32_t *starts)
{
    const uint32_t gone = SPW_NO_INDEX, before = *count;
    for (uint32_t k = 0; k < before; k++) {
        const uint32_t end = k ? starts[k - 1] : chain->tail;
        if (starts[k] < end)
            continue;
        const bool left = k > 0 && cuts[k] != gone, right = k + 1 < before;
        if (left && (!right || costs->bytes[cuts[k]] > costs->bytes[cuts[k + 1]]))
            cuts[k] = gone;
        else if (right)
            cuts[k + 1] = gone;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < before; k++) {
        if (cuts[k] != gone)
            cuts[kept++] = cuts[k];
    }
    *count = kept;
    return kept < before;
}

static int set_stages(struct spw_chain *chain, const uint32_t *cuts, uint32_t count, const uint32_t *starts)
{
    chain->stages = calloc((size_t)count + 1, sizeof *chain->stages);
    if (!chain->stages)
        return -ENOMEM;
    chain->count = count;
    for (uint32_t k = 0; k < count; k++) {
        struct spw_stage *stage = &chain->stages[k];
        stage->first_op = cuts[k];
        stage->end_op = k + 1 < count ? cuts[k + 1] : chain->turn;
        stage->first_back = starts[k];
        stage->end_back = k ? starts[k - 1] : chain->tail;
        for (uint32_t op = stage->first_op; op < stage->end_op; op++)
            stage->forward_us += chain->graph->ops[op].us;
        for (uint32_t op = stage->first_back; op < stage->end_back; op++)
            stage->backward_us += chain->graph->ops[op].us;
    }
    return 0;
}

static int cut(struct spw_chain *chain, const struct spw_chain_tensor *tensors, uint32_t most)
{
    const size_t room = (size_t)chain->turn + 2;
    struct cut_costs costs = {.bytes = calloc(room, sizeof(int64_t)),
                              .spoilt = calloc(room, sizeof(int64_t)),
                              .weight = calloc(room, sizeof(double))};
    uint32_t *cuts = calloc(2 * room, sizeof *cuts);
    struct stage_range *ranges = calloc((size_t)(chain->tail - chain->turn) + 1, sizeof *ranges);
    int r = -ENOMEM;
    if (costs.bytes && costs.spoilt && costs.weight && cuts && ranges) {
        uint32_t *starts = cuts + room, count;
        find_costs(chain, tensors, &costs);
        double share = 1.0 / most / 2;
        while ((count = choose_cuts(chain, &costs, share, cuts)) > most)
            share *= 1.2;
        do
            match(chain, tensors, cuts, count, ranges, starts);
        while (merge_idle(chain, &costs, cuts, &count, starts));
        r = set_stages(chain, cuts, count, starts);
    }
    free(costs.bytes);
    free(costs.spoilt);
    free(costs.weight);
    free(cuts);
    free(ranges);
    return r;
}

/* The tail begins after the last operation that reads something that forward has made and the chain may move. */
static int find_tail(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    chain->tail = 0;
    for (uint32_t i = 0; i < chain->graph->tensor_count; i++) {
        const uint32_t last = tensors[i].last_read;
        if (spw_chain_moves(chain, i) && last != SPW_NO_INDEX && tensors[i].made != SPW_NO_INDEX && last >= chain->tail)
            chain->tail = last + 1;
    }
    return chain->tail > chain->turn ? 0 : -ENOTSUP;
}

static int fill(struct spw_chain *chain, struct spw_chain_tensor *tensors, uint32_t most_stages)
{
    int r = spw_find_turn(chain->graph, &chain->turn);
    if (r == 0 && chain->turn == 0)
        r = -ENOTSUP;
    if (r < 0)
        return r;
    spw_chain_tensors(chain, tensors);
    r = spw_chain_hold_tensors(chain, tensors);
    if (r == 0)
        r = find_tail(chain, tensors);
    if (r == 0)
        r = cut(chain, tensors, most_stages ? most_stages : 1);
    if (r == 0)
        r = spw_chain_measure(chain, tensors);
    return r == 0 ? spw_chain_find_parts(chain, tensors) : r;
}

int spw_chain_create(const struct spw_graph *graph, uint32_t most_stages, struct spw_chain **ret_chain)
{
    struct spw_chain *chain = calloc(1, sizeof *chain);
    struct spw_chain_tensor *tensors = calloc((size_t)graph->tensor_count + 1, sizeof *tensors);
    int r = -ENOMEM;
    if (chain && tensors) {
        chain->graph = graph;
        chain->held = calloc((size_t)graph->tensor_count + 1, sizeof *chain->held);
        chain->version = calloc((size_t)graph->tensor_count + 1, sizeof *chain->version);
        if (chain->held && chain->version)
            r = fill(chain, tensors, most_stages);
    }
    free(tensors);
    if (r < 0) {
        spw_chain_destroy(chain);
        return r;
    }
    *ret_chain = chain;
    return 0;
}

void spw_chain_destroy(struct spw_chain *chain)
{
    if (!chain)
        return;
    free(chain->stages);
    free(chain->listed);
    free(chain->part_listed);
    free(chain->parts);
    free(chain->input_since);
    free(chain->held);
    free(chain->version);
    free(chain);
}

uint32_t spw_chain_stage_of(const struct spw_chain *chain, uint32_t op)
{
    /* Forward: the last stage that begins at or before; backward: the first one. */
    uint32_t low = 0, high = chain->count;
    if (op < chain->turn) {
        while (high - low > 1) {
            const uint32_t middle = (low + high) / 2;
            if (chain->stages[middle].first_op <= op)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (chain->stages[middle].first_back <= op)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
