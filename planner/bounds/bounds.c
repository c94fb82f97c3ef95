/* bounds.c - lower bounds for any schedule of model S+: the budget has to hold during each operation.
 *
 * A tensor is *needed* between two of its uses when the later one reads it, and past its last use (or before its first) when
 * it is persistent. During an operation the device holds what the operation touches and what may not leave. Of all else that
 * is needed, what does not fit is absent, and cut.c says what that costs. At the end of the iteration nothing runs, and what
 * carries over and does not fit is absent: the persistent bound.
 *
 * What a tensor that is needed costs when it is absent during operation j:
 *  - Copied in after j, if it is read later; where it is only to be there at the end it may have begun on the host, and then
 * it was copied in before its first use, if that reads it.
 *  - Copied out before j, if something before j has written it. A persistent tensor that nothing has written yet may have
 * begun with a host copy; it then ends with one, which takes a copy out of what was written last, if anything writes it.
 *  - Replayed after j, if its producer may be: the producer's time, shared by all that it makes of what is needed at j,
 * since one replay brings them all back. What was updated in place needs older versions too: where nothing may be copied,
 * the replays of the whole chain down to the operation that wrote it without reading it, and where there is none it can't be
 * replayed.
 *
 * Each operation gives a valid bound, so on large graphs only some are looked at: those where most is absent, others evenly
 * spread, and the neighbours of the best. */
#include "bounds/bounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/cut.h"

/* A tensor from one use to the next. It can be absent during the operations first .. last. */
struct need {
    uint32_t first, last; /* op_count: at the end of the iteration */
    uint32_t producer;    /* SPW_NO_INDEX: can't be replayed */
    struct spw_cut_item item;
    double made_us, read_us; /* least time until it is made; from its next reader to the end */
    double out_from_us;      /* it may go out after this time instead of before the cut; INFINITY: it may not */
    double in_until_us;      /* it may come in before this time instead of after the cut; 0: it may not */
    double before_us;        /* of the replays that come before the producer's */
};

struct sweep {
    const struct spw_graph *graph;
    double budget;
    bool may_copy, may_replay;
    struct spw_bounds_effort effort;
    bool cancelled;
    double *head_us;     /* [op_count + 1]: durations of the operations before */
    double *held;        /* [op_count + 1]: bytes of what may not leave, and of what is touched */
    double *absent;      /* [op_count + 1]: bytes that have to be absent; <= 0: none */
    double *group_bytes; /* [op_count]: of what an operation makes, bytes that are needed at this cut */
    bool *replayable;    /* [op_count] */
    double written_us;   /* head of the end of the last operation that writes the tensor that is looked at */
    struct need *needs;  /* in order of `first` */
    uint32_t need_count;
    uint32_t *active, active_count; /* needs that cover the operation that the sweep is at */
    struct spw_cut_item *items;
    struct spw_cut_space space;
};

static void sweep_finish(struct sweep *s)
{
    free(s->head_us);
    free(s->replayable);
    free(s->needs);
    free(s->active);
    free(s->items);
    spw_cut_space_finish(&s->space);
}

static int sweep_init(struct sweep *s)
{
    const size_t ops = (size_t)s->graph->op_count + 1, needs = (size_t)s->graph->use_count + s->graph->tensor_count + 1;
    s->head_us = calloc(4 * ops, sizeof *s->head_us);
    s->replayable = calloc(ops, sizeof *s->replayable);
    s->needs = calloc(needs, sizeof *s->needs);
    s->active = calloc(needs, sizeof *s->active);
    s->items = calloc((size_t)s->graph->tensor_count + 1, sizeof *s->items);
    if (!s->head_us || !s->replayable || !s->needs || !s->active || !s->items)
        return -ENOMEM;
    s->held = s->head_us + ops;
    s->absent = s->held + ops;
    s->group_bytes = s->absent + ops;
    return spw_cut_space_init(&s->space, s->graph->tensor_count);
}

/* ---- operations ---- */

/* An operation that updates a persistent tensor can't be replayed, unless that is small enough for a saved copy. */
static bool can_replay(const struct spw_graph *graph, uint32_t op)
{
    const struct spw_graph_op *o = &graph->ops[op];
    bool can = o->replayable;
    for (uint32_t i = o->first_read; i < o->first_read + o->read_count; i++) {
        const struct spw_touched_tensor *touch = &graph->touched[i];
        can = can && !(touch->in_place && !touch->side && graph->tensors[touch->tensor].persistent);
    }
    return can;
}

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

/* What may not leave: always if it is persistent, otherwise from the start or its first use up to its last. */
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

static void look_at_ops(struct sweep *s)
{
    const struct spw_graph *graph = s->graph;
    add_fixed(graph, s->held);
    for (uint32_t i = 0; i < graph->op_count; i++) {
        s->replayable[i] = s->may_replay && can_replay(graph, i);
        s->head_us[i + 1] = s->head_us[i] + graph->ops[i].us;
        s->held[i] += touched_bytes(graph, i);
    }
}

/* ---- needs ---- */

/* How the version of a tensor that is there after some of its uses came about. */
struct origin {
    double made_us;    /* least time until it is there */
    uint32_t producer; /* SPW_NO_INDEX: no replay brings it back */
    double replay_us,
        before_us; /* of its producer, and of the updated versions' own producers that have to be replayed before it */
};

/* Where nothing may be copied, an update can only be repeated after all that made what it updates. Producers that make
 * other tensors too are left out of that sum: their replay may be charged to those. */
static struct origin follow_write(const struct sweep *s, const struct spw_graph_tensor *t, const struct spw_use *use,
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

/* The need before use number `use`; use_count: past the last one. */
static void add_need(struct sweep *s, const struct spw_graph_tensor *t, uint32_t use, const struct origin *origin)
{
    const struct spw_graph *graph = s->graph;
    const struct spw_use *uses = &graph->uses[t->first_use];
    const bool read = use < t->use_count && uses[use].reads, at_end = use == t->use_count && t->persistent;
    const uint32_t first = use ? uses[use - 1].op + 1 : 0;
    if ((!read && !at_end) || (use == 0 && !t->persistent && !t->initial) || (read && first >= uses[use].op))
        return;
    const bool may_begin_outside = t->persistent && (read ? uses[use].version : t->last_version) == 0;
    const bool comes_in = read || (use > 0 && uses[0].reads);
    s->needs[s->need_count++] = (struct need){
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

static void add_needs(struct sweep *s, const struct spw_graph_tensor *t)
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
    const struct need *m = a, *n = b;
    return (m->first > n->first) - (m->first < n->first);
}

static void list_needs(struct sweep *s)
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

/* ---- cuts ---- */

/* Brings the active needs to operation `at`; `next` is the first that has not begun. */
static void advance(struct sweep *s, uint32_t at, uint32_t *next)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->active_count; i++)
        if (s->needs[s->active[i]].last >= at)
            s->active[kept++] = s->active[i];
    for (; *next < s->need_count && s->needs[*next].first <= at; ++*next)
        if (s->needs[*next].last >= at)
            s->active[kept++] = *next;
    s->active_count = kept;
}

/* The time of the cut at operation `at`, whose needs are the active ones. */
static double cut_at(struct sweep *s, uint32_t at)
{
    const double total_us = s->head_us[s->graph->op_count];
    const double op_us = at < s->graph->op_count ? s->graph->ops[at].us : 0;
    struct spw_cut cut = {.head_us = s->head_us[at],
                          .op_us = op_us,
                          .tail_us = total_us - s->head_us[at] - op_us,
                          .made_us = total_us,
                          .read_us = total_us,
                          .excess_bytes = s->absent[at],
                          .items = s->items,
                          .count = s->active_count};
    double out_from_us = total_us, in_until_us = 0;
    for (uint32_t i = 0; i < s->active_count; i++) {
        const struct need *n = &s->needs[s->active[i]];
        if (n->producer != SPW_NO_INDEX)
            s->group_bytes[n->producer] += n->item.bytes;
        if (n->item.out_before_us > 0)
            cut.made_us = fmin(cut.made_us, n->made_us);
        if (n->item.in_after_us > 0)
            cut.read_us = fmin(cut.read_us, n->read_us);
        if (n->item.out_us > 0)
            out_from_us = fmin(out_from_us, n->out_from_us);
        if (n->item.in_us > 0)
            in_until_us = fmax(in_until_us, n->in_until_us);
    }
    cut.no_out_us = out_from_us - cut.head_us;
    cut.no_in_us = cut.head_us + op_us - in_until_us;
    cut.made_us = fmin(cut.made_us, cut.head_us);
    cut.read_us = fmin(cut.read_us, cut.tail_us);
    for (uint32_t i = 0; i < s->active_count; i++) {
        const struct need *n = &s->needs[s->active[i]];
        s->items[i] = n->item;
        if (n->producer != SPW_NO_INDEX)
            s->items[i].replay_us = n->before_us + n->item.replay_us * n->item.bytes / s->group_bytes[n->producer];
    }
    for (uint32_t i = 0; i < s->active_count; i++)
        if (s->needs[s->active[i]].producer != SPW_NO_INDEX)
            s->group_bytes[s->needs[s->active[i]].producer] = 0;
    return spw_cut_time(&cut, &s->space);
}

/* The first operation with the most that is absent, of first .. end - 1. */
static uint32_t fullest(const struct sweep *s, uint32_t first, uint32_t end)
{
    uint32_t best = first;
    for (uint32_t i = first + 1; i < end; i++)
        if (s->absent[i] > s->absent[best])
            best = i;
    return best;
}

static bool goes_on(struct sweep *s, const struct spw_bounds *bounds)
{
    s->cancelled |= s->effort.now_s && isinf(s->effort.now_s(s->effort.now_context));
    return bounds->feasible && !s->cancelled;
}

/* Looks at one cut, the fullest, in each of the blocks of `block` operations from `first` on. Returns the best one. */
static uint32_t look_at_cuts(struct sweep *s, uint32_t first, uint32_t end, uint32_t block, struct spw_bounds *bounds)
{
    uint32_t next = 0, best = first;
    double best_us = -1;
    s->active_count = 0;
    for (uint32_t at = first; at < end && goes_on(s, bounds); at += block) {
        const uint32_t cut = fullest(s, at, end - at < block ? end : at + block);
        if (!(s->absent[cut] > 0))
            continue;
        advance(s, cut, &next);
        const double us = cut_at(s, cut);
        bounds->feasible = !isinf(us);
        bounds->cut_us = fmax(bounds->cut_us, us);
        if (us > best_us) {
            best_us = us;
            best = cut;
        }
    }
    return best;
}

/* About so many items are looked at in all: half a second's worth. */
enum { WORK = 3000000 };

static void look_at_all(struct sweep *s, struct spw_bounds *bounds)
{
    const uint32_t ops = s->graph->op_count;
    double items = 0;
    for (uint32_t i = 0; i < s->need_count; i++)
        items += (double)(s->needs[i].last - s->needs[i].first) + 1;
    const double work = s->effort.limit_s > 0 ? fmin(WORK, 2 * WORK * s->effort.limit_s) : WORK;
    const uint32_t block = 1 + (uint32_t)fmin(items / work, ops);
    const uint32_t best = look_at_cuts(s, 0, ops, block, bounds);
    if (block <= 1 || !bounds->feasible || s->cancelled)
        return;
    const uint32_t first = best > block ? best - block : 0, end = ops - best > block ? best + block : ops;
    (void)look_at_cuts(s, first, end, 1 + (end - first) / (1 + ops / block), bounds);
}

/* What carries over and is absent when the iteration ends has gone out, and come in, in each iteration. */
static void look_at_end(struct sweep *s, struct spw_bounds *bounds)
{
    const uint32_t end = s->graph->op_count;
    uint32_t next = 0;
    s->active_count = 0;
    if (!(s->absent[end] > 0))
        return;
    advance(s, end, &next);
    bounds->persistent_us = cut_at(s, end);
    bounds->feasible = bounds->feasible && !isinf(bounds->persistent_us);
}

static void name_best(struct spw_bounds *bounds)
{
    bounds->best_us = bounds->time_us;
    bounds->best = "time";
    if (bounds->feasible && bounds->persistent_us > bounds->best_us) {
        bounds->best_us = bounds->persistent_us;
        bounds->best = "persistent";
    }
    if (bounds->feasible && bounds->cut_us > bounds->best_us) {
        bounds->best_us = bounds->cut_us;
        bounds->best = "cut";
    }
}

int spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                      const struct spw_bounds_effort *effort, struct spw_bounds *ret_bounds)
{
    struct sweep s = {
        .graph = graph, .budget = (double)device_bytes, .may_copy = may_copy, .may_replay = may_replay, .effort = *effort};
    struct spw_bounds bounds = {.feasible = graph->least_bytes <= device_bytes, .time_us = graph->compute_us};
    int r = sweep_init(&s);
    if (r == 0) {
        look_at_ops(&s);
        list_needs(&s);
        look_at_end(&s, &bounds);
        look_at_all(&s, &bounds);
        name_best(&bounds);
        *ret_bounds = bounds;
        r = s.cancelled ? -ECANCELED : 0;
    }
    sweep_finish(&s);
    return r;
}

int spw_bounds(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
               struct spw_bounds *ret_bounds)
{
    const struct spw_bounds_effort usual = {0};
    return spw_bounds_within(graph, device_bytes, may_copy, may_replay, &usual, ret_bounds);
}

int spw_bounds_of_ops(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay, double *ret_us)
{
    struct sweep s = {.graph = graph, .budget = (double)device_bytes, .may_copy = may_copy, .may_replay = may_replay};
    const int r = sweep_init(&s);
    if (r == 0) {
        uint32_t next = 0;
        look_at_ops(&s);
        list_needs(&s);
        for (uint32_t i = 0; i < graph->op_count; i++) {
            advance(&s, i, &next);
            ret_us[i] = s.absent[i] > 0 ? cut_at(&s, i) : 0;
        }
    }
    sweep_finish(&s);
    return r;
}
