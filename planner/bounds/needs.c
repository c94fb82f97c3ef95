/* needs.c - finds which tensors are needed between their uses, and what it costs when they are absent.
 *
 * A tensor is *needed* between two of its uses when the later one reads it. A persistent tensor is also needed after its
 * last use and before its first. During an operation the device holds the tensors that the operation touches and those that
 * may not be evicted. Of all other needed tensors, what does not fit has to be absent.
 *
 * A needed tensor that is absent during operation j costs one of these:
 *  - A copy in after j, if a later operation reads it. If it only has to be there at the end, it may have started on the
 *    host; then it was copied in before its first use, if that use reads it.
 *  - A copy out before j, if an operation before j has written it. A persistent tensor that no operation has written yet
 *    may have started with a host copy. It then ends with one too, which takes a copy out after its last write, if there is
 *    one.
 *  - A replay after j, if its producer is replayable. This costs the producer's time, shared by all tensors that the
 *    producer makes and that are needed at j, since one replay brings them all back. A tensor that was updated in place
 *    needs its older versions too. Where copies are not allowed, the whole chain is replayed, from the operation that
 *    wrote the tensor without reading it; if there is no such operation, the tensor cannot be replayed. */
#include "bounds/needs.h"

#include <math.h>
#include <stdlib.h>

/* ---- operations ---- */

static double touched_bytes(const struct spw_graph *graph, uint32_t op)
{
    const struct spw_graph_op *o = &graph->ops[op];
    double bytes = 0;
    for (uint32_t i = 0; i < o->read_count + o->write_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[o->first_read + i];
        const struct spw_graph_tensor *t = &graph->tensors[touch->tensor];
        const bool counted = i >= o->read_count && touch->in_place;
        bytes += t->evictable && !counted ? (double)t->bytes : 0;
    }
    return bytes;
}

/* Adds the tensors that may not be evicted: persistent ones everywhere, others from the start or their first use to their
 * last. */
static void add_fixed(const struct spw_graph *graph, double *held)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct spw_graph_tensor *t = &graph->tensors[i];
        if (t->evictable || (!t->persistent && t->use_count == 0))
            continue;
        const uint32_t end = t->persistent ? graph->op_count : graph->uses[t->first_use + t->use_count - 1].op;
        held[t->persistent || t->initial ? 0 : graph->uses[t->first_use].op] += (double)t->bytes;
        if (end < graph->op_count)
            held[end + 1] -= (double)t->bytes;
    }
    for (uint32_t i = 0; i < graph->op_count; i++)
        held[i + 1] += held[i];
}

void spw_sweep_look_at_ops(struct spw_sweep *s)
{
    const struct spw_graph *graph = s->graph;
    add_fixed(graph, s->held);
    for (uint32_t i = 0; i < graph->op_count; i++) {
        s->replayable[i] = s->may_replay && spw_graph_can_replay(graph, i);
        s->head_us[i + 1] = s->head_us[i] + graph->ops[i].us;
        s->held[i] += touched_bytes(graph, i);
    }
}

/* ---- needs ---- */

/* How the version that a tensor has after some of its uses was made. */
struct origin {
    double made_us;    /* the earliest time at which the version exists */
    uint32_t producer; /* SPW_NO_INDEX: no replay brings it back */
    /* Time of its producer, and of the producers of earlier versions that have to be replayed first. */
    double replay_us, before_us;
};

/* Where copies are not allowed, an update can be repeated only after every operation that made the tensor that it
 * updates. The sum leaves out producers that also make other tensors, since their replay may be charged to those. */
static struct origin follow_write(const struct spw_sweep *s, const struct spw_graph_tensor *t, const struct spw_use *use,
                                  const struct origin *before)
{
    const struct spw_graph_op *op = &s->graph->ops[use->op];
    struct origin o = {.made_us = s->head_us[use->op + 1], .producer = SPW_NO_INDEX, .replay_us = op->us};
    if (!s->replayable[use->op])
        return o;
    if (use->reads) {
        if (t->bytes <= SPW_SIDE_BUFFER_BYTES || (!s->may_copy && before->producer == SPW_NO_INDEX))
            return o;
        if (!s->may_copy && s->graph->ops[before->producer].write_count == 1)
            o.before_us = before->before_us + before->replay_us;
    }
    o.producer = use->op;
    return o;
}

/* Adds the need before use number `use`, or after the last use where that is use_count. */
static void add_need(struct spw_sweep *s, const struct spw_graph_tensor *t, uint32_t use, const struct origin *origin)
{
    const struct spw_graph *graph = s->graph;
    const struct spw_use *uses = &graph->uses[t->first_use];
    const bool read = use < t->use_count && uses[use].reads, at_end = use == t->use_count && t->persistent;
    const uint32_t first = use ? uses[use - 1].op + 1 : 0;
    if ((!read && !at_end) || (use == 0 && !t->persistent && !t->initial) || (read && first >= uses[use].op))
        return;
    const bool may_begin_outside = t->persistent && (read ? uses[use].version : t->last_version) == 0;
    const bool comes_in = read || (use > 0 && uses[0].reads);
    s->needs[s->need_count++] = (struct spw_need){
        .first = first,
        .last = read ? uses[use].op - 1 : graph->op_count,
        .producer = origin->producer,
        .made_us = origin->made_us,
        .read_us = read ? s->head_us[graph->op_count] - s->head_us[uses[use].op] : 0,
        .before_us = origin->before_us,
        .out_from_us = may_begin_outside ? s->written_us : INFINITY,
        .in_until_us = comes_in && !read ? s->head_us[uses[0].op] : 0,
        .item =
            {
                .bytes = (double)t->bytes,
                .copied = s->may_copy || t->use_count == 0,
                .out_before_us = may_begin_outside ? 0 : t->d2h_us,
                .in_after_us = read ? t->h2d_us : 0,
                .out_us = may_begin_outside && t->last_version == 0 ? 0 : t->d2h_us,
                .in_us = comes_in ? t->h2d_us : 0,
                .replay_us = origin->producer == SPW_NO_INDEX ? INFINITY : origin->replay_us,
            },
    };
}

static void add_needs(struct spw_sweep *s, const struct spw_graph_tensor *t)
{
    struct origin origin = {.producer = SPW_NO_INDEX};
    if (!t->evictable || t->bytes == 0)
        return;
    s->written_us = 0;
    for (uint32_t use = 0; use < t->use_count; use++)
        if (s->graph->uses[t->first_use + use].writes)
            s->written_us = s->head_us[s->graph->uses[t->first_use + use].op + 1];
    for (uint32_t use = 0; use <= t->use_count; use++) {
        add_need(s, t, use, &origin);
        if (use < t->use_count && s->graph->uses[t->first_use + use].writes)
            origin = follow_write(s, t, &s->graph->uses[t->first_use + use], &origin);
    }
}

static int by_first(const void *a, const void *b)
{
    const struct spw_need *m = a, *n = b;
    return (m->first > n->first) - (m->first < n->first);
}

void spw_sweep_list_needs(struct spw_sweep *s)
{
    for (uint32_t i = 0; i < s->graph->tensor_count; i++)
        add_needs(s, &s->graph->tensors[i]);
    qsort(s->needs, s->need_count, sizeof *s->needs, by_first);
    for (uint32_t i = 0; i < s->need_count; i++) {
        s->absent[s->needs[i].first] += s->needs[i].item.bytes;
        if (s->needs[i].last < s->graph->op_count)
            s->absent[s->needs[i].last + 1] -= s->needs[i].item.bytes;
    }
    for (uint32_t i = 0; i < s->graph->op_count; i++)
        s->absent[i + 1] += s->absent[i];
    for (uint32_t i = 0; i <= s->graph->op_count; i++)
        s->absent[i] += s->held[i] - s->budget;
}
