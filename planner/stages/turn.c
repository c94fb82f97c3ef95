/* turn.c - finds where forward ends, and what cannot be made again and thus has to be held. */
#include <errno.h>
#include <stdlib.h>

#include "stages/linear_parts.h"

/* Returns true if the operation changes what carries over to the next iteration: the optimizer's, or one with running
 * statistics. */
static bool updates_parameters(const struct spw_graph *graph, uint32_t op)
{
    const struct spw_graph_op *o = &graph->ops[op];
    for (uint32_t i = 0; i < o->write_count; i++) {
        if (graph->tensors[graph->touched[o->first_write + i].tensor].persistent)
            return true;
    }
    return false;
}

/* Adds the bytes of each long rest of a tensor, from one use to the next read, to the positions that it spans. Tensors
 * that the optimizer reads last are gradients of parameters: they rest as well, but not around the turn. */
static void add_rests(const struct spw_graph *graph, uint32_t tensor, uint32_t shortest, int64_t *change)
{
    const struct spw_graph_tensor *t = &graph->tensors[tensor];
    const struct spw_use *uses = &graph->uses[t->first_use];
    if (t->persistent || t->use_count < 2 || updates_parameters(graph, uses[t->use_count - 1].op))
        return;
    for (uint32_t i = 0; i + 1 < t->use_count; i++) {
        if (!uses[i + 1].reads || uses[i + 1].op - uses[i].op <= shortest)
            continue;
        change[uses[i].op + 1] += (int64_t)t->bytes;
        change[uses[i + 1].op + 1] -= (int64_t)t->bytes;
    }
}

/* Finds the first position from `low` to `high` - 1 where the most bytes have a rest of more than `shortest` operations,
 * and the first one after the last such position. Amounts within one part in 256 count as equal, so that a small gradient
 * that rests does not matter. */
static int find_most_at_rest(const struct spw_graph *graph, uint32_t shortest, uint32_t low, uint32_t high,
                             uint32_t *ret_first, uint32_t *ret_end)
{
    int64_t *resting = calloc((size_t)graph->op_count + 2, sizeof *resting);
    if (!resting)
        return -ENOMEM;
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        add_rests(graph, i, shortest, resting);
    int64_t most = 0;
    for (uint32_t i = 0; i < high; i++) {
        resting[i] += i ? resting[i - 1] : 0;
        if (i >= low && resting[i] > most)
            most = resting[i];
    }
    *ret_first = *ret_end = low;
    for (uint32_t i = low; i < high && most > 0; i++) {
        if (resting[i] < most - most / 256)
            continue;
        if (*ret_end == low)
            *ret_first = i;
        *ret_end = i + 1;
    }
    free(resting);
    return 0;
}

/* Returns the first operation after `low` that makes, or begins to add to, a tensor that the optimizer reads and that is
 * as large as what it updates. That operation is not forward. */
static uint32_t find_first_gradient(const struct spw_graph *graph, uint32_t low)
{
    uint32_t first = graph->op_count;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const struct spw_use *uses = &graph->uses[t->first_use];
        if (t->persistent || t->use_count < 2 || !updates_parameters(graph, uses[t->use_count - 1].op))
            continue;
        for (uint32_t n = 0; n < t->use_count; n++) {
            if (uses[n].writes && uses[n].op >= low && uses[n].op < first)
                first = uses[n].op;
        }
    }
    return first;
}

/* Long rests, which gradients do not have, give the approximate position of the turn; shorter ones then the exact one. */
int spw_find_turn(const struct spw_graph *graph, uint32_t *ret_turn)
{
    uint32_t low, high;
    int r = find_most_at_rest(graph, graph->op_count / 16, 0, graph->op_count, &low, &high);
    if (r < 0)
        return r;
    const uint32_t first_gradient = find_first_gradient(graph, low);
    high = first_gradient + 1 < high ? first_gradient + 1 : high;
    return find_most_at_rest(graph, graph->op_count / 64, low, high, ret_turn, &high);
}

void spw_chain_tensors(struct spw_chain *chain, struct spw_chain_tensor *ret_tensors)
{
    const struct spw_graph *graph = chain->graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        const struct spw_use *uses = &graph->uses[t->first_use];
        struct spw_chain_tensor *k = &ret_tensors[i];
        *k = (struct spw_chain_tensor){SPW_NO_INDEX, SPW_NO_INDEX, SPW_NO_INDEX, SPW_NO_INDEX, SPW_NO_INDEX, SPW_NO_INDEX};
        uint32_t n = 0;
        chain->version[i] = 0;
        for (; n < t->use_count && uses[n].op < chain->turn; n++) {
            k->last_walk = uses[n].op;
            if (uses[n].writes) {
                k->made = uses[n].op;
                chain->version[i] = uses[n].version + 1;
            }
        }
        for (; n < t->use_count; n++) {
            if (uses[n].reads && uses[n].version == chain->version[i]) {
                k->last_read = uses[n].op;
                if (k->first_read == SPW_NO_INDEX)
                    k->first_read = uses[n].op;
            }
            if (uses[n].writes && k->first_gradient == SPW_NO_INDEX)
                k->first_gradient = uses[n].op;
        }
        if (t->use_count)
            k->last_use = uses[t->use_count - 1].op;
    }
}

/* ---- what cannot be made again ---- */

/* Returns true if the forward operation can run again at any time before its stage's backward, with the held tensors as
 * they are. */
static bool can_be_redone(const struct spw_chain *chain, uint32_t op)
{
    const struct spw_graph *graph = chain->graph;
    const struct spw_graph_op *o = &graph->ops[op];
    if (!o->replayable)
        return false;
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[o->first_read + i];
        const bool persistent = graph->tensors[touch->tensor].persistent;
        if (touch->side)
            continue;
        if ((persistent || chain->held[touch->tensor]) &&
            (touch->version != chain->version[touch->tensor] || touch->in_place))
            return false;
        if (persistent && i >= o->read_count)
            return false;
    }
    return true;
}

/* Holds what the operations that cannot be redone have written. Returns true if a tensor is held that was not before. */
static bool hold_outputs(struct spw_chain *chain)
{
    bool changed = false;
    for (uint32_t op = 0; op < chain->turn; op++) {
        const struct spw_graph_op *o = &chain->graph->ops[op];
        if (can_be_redone(chain, op))
            continue;
        for (uint32_t i = 0; i < o->write_count; i++) {
            const uint32_t tensor = chain->graph->touched[o->first_write + i].tensor;
            changed |= spw_chain_moves(chain, tensor);
            chain->held[tensor] = !chain->graph->tensors[tensor].persistent;
        }
    }
    return changed;
}

/* Holds negligible tensors: records far below the average, as long as their total is negligible. */
static void hold_small(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    const struct spw_graph *graph = chain->graph;
    uint64_t total = 0, count = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (spw_chain_moves(chain, i) && tensors[i].last_read != SPW_NO_INDEX) {
            total += graph->tensors[i].bytes;
            count++;
        }
    }
    const uint64_t small = count ? total / count / 64 : 0;
    uint64_t left = graph->peak_bytes / 256;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const uint64_t bytes = graph->tensors[i].bytes;
        if (!spw_chain_moves(chain, i) || tensors[i].last_read == SPW_NO_INDEX || chain->version[i] != 1 || bytes > small ||
            bytes > left)
            continue;
        chain->held[i] = true;
        left -= bytes;
    }
}

int spw_chain_hold_tensors(struct spw_chain *chain, const struct spw_chain_tensor *tensors)
{
    const struct spw_graph *graph = chain->graph;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        chain->held[i] = !t->persistent && (!t->evictable || t->initial);
    }
    hold_small(chain, tensors);
    for (int round = 0; hold_outputs(chain); round++) {
        if (round == 64)
            return -ENOTSUP; /* each round undid the previous one: nothing here looks like forward operations */
    }
    return 0;
}
