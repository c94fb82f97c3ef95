/* bounds.c - computes lower bounds for any schedule of model S+: the budget has to hold during each operation.
 *
 * The needed bytes that do not fit during an operation are absent (needs.c), and cut.c says what their absence costs. At
 * the end of the iteration nothing runs, and the persistent bytes that do not fit are absent: the persistent bound.
 *
 * Spans. Bytes that are absent at operation j were copied out before it, and bytes that are absent at a later operation q
 * are copied in after it; every operation from j to q has to run. So the time before j, the durations j .. q and the time
 * after q add up to a bound. Where copies slow each other down (cut.c), the copies out that j's items need after their last
 * write count after q only if that write is no earlier than q, and the copies in that q's items need before their first use
 * count before j only if that use is earlier than j.
 *
 * Every operation gives a valid bound, so on large graphs only some are examined: those with the most absent bytes, spread
 * evenly, and the neighbours of the best one. */
#include "bounds/bounds.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bounds/cut.h"
#include "bounds/needs.h"

/* ---- creating and destroying a sweep ---- */

static void sweep_finish(struct spw_sweep *s)
{
    free(s->head_us);
    free(s->replayable);
    free(s->needs);
    free(s->active);
    free(s->items);
    free(s->sides);
    spw_cut_space_finish(&s->space);
}

static int sweep_init(struct spw_sweep *s)
{
    const size_t ops = (size_t)s->graph->op_count + 1, needs = (size_t)s->graph->use_count + s->graph->tensor_count + 1;
    s->head_us = calloc(4 * ops, sizeof *s->head_us);
    s->replayable = calloc(ops, sizeof *s->replayable);
    s->needs = calloc(needs, sizeof *s->needs);
    s->active = calloc(needs, sizeof *s->active);
    s->items = calloc((size_t)s->graph->tensor_count + 1, sizeof *s->items);
    s->sides = calloc(ops, sizeof *s->sides);
    if (!s->head_us || !s->replayable || !s->needs || !s->active || !s->items || !s->sides)
        return -ENOMEM;
    s->held = s->head_us + ops;
    s->absent = s->held + ops;
    s->group_bytes = s->absent + ops;
    return spw_cut_space_init(&s->space, s->graph->tensor_count);
}
/* ---- cuts ---- */

/* Updates the active needs for operation `at`. `next` is the first need that has not begun. */
static void advance(struct spw_sweep *s, uint32_t at, uint32_t *next)
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

/* Which copies of a cut's items count on its other side: copies out no earlier than `from_us`, copies in before
 * `until_us`. */
struct beside {
    double from_us, until_us;
};
static const struct beside all_beside = {-1, INFINITY};

static void list_items(struct spw_sweep *s, const struct beside *beside)
{
    for (uint32_t i = 0; i < s->active_count; i++)
        if (s->needs[s->active[i]].producer != SPW_NO_INDEX)
            s->group_bytes[s->needs[s->active[i]].producer] += s->needs[s->active[i]].item.bytes;
    for (uint32_t i = 0; i < s->active_count; i++) {
        const struct spw_need *n = &s->needs[s->active[i]];
        struct spw_cut_item *item = &s->items[i];
        *item = n->item;
        if (n->producer != SPW_NO_INDEX)
            item->replay_us = n->before_us + item->replay_us * item->bytes / s->group_bytes[n->producer];
        if (!(n->out_from_us > beside->from_us))
            item->out_us = item->out_before_us;
        if (!(n->in_until_us < beside->until_us))
            item->in_us = item->in_after_us;
    }
    for (uint32_t i = 0; i < s->active_count; i++)
        if (s->needs[s->active[i]].producer != SPW_NO_INDEX)
            s->group_bytes[s->needs[s->active[i]].producer] = 0;
}

/* The time of the cut at operation `at`, for which the active needs have to be up to date. */
static double cut_at(struct spw_sweep *s, uint32_t at, const struct beside *beside, struct spw_cut_sides *ret_sides)
{
    const double total_us = s->head_us[s->graph->op_count];
    const double op_us = at < s->graph->op_count ? s->graph->ops[at].us : 0;
    struct spw_cut cut = {.head_us = s->head_us[at],
                          .op_us = op_us,
                          .tail_us = total_us - s->head_us[at] - op_us,
                          .made_us = total_us,
                          .read_us = total_us,
                          .hindrance = s->hindrance,
                          .excess_bytes = s->absent[at],
                          .items = s->items,
                          .count = s->active_count};
    double out_from_us = total_us, in_until_us = 0;
    for (uint32_t i = 0; i < s->active_count; i++) {
        const struct spw_need *n = &s->needs[s->active[i]];
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
    list_items(s, beside);
    return spw_cut_time(&cut, &s->space, ret_sides);
}

/* The first of the operations first .. end - 1 with the most absent bytes. */
static uint32_t fullest(const struct spw_sweep *s, uint32_t first, uint32_t end)
{
    uint32_t best = first;
    for (uint32_t i = first + 1; i < end; i++)
        if (s->absent[i] > s->absent[best])
            best = i;
    return best;
}

static bool goes_on(struct spw_sweep *s, const struct spw_bounds *bounds)
{
    s->cancelled |= s->terms.now_s && isinf(s->terms.now_s(s->terms.now_context));
    return bounds->feasible && !s->cancelled;
}

/* Examines the cut with the most absent bytes in each block of `block` operations from `first` on. Returns the best cut. */
static uint32_t look_at_cuts(struct spw_sweep *s, uint32_t first, uint32_t end, uint32_t block, struct spw_bounds *bounds)
{
    uint32_t next = 0, best = first;
    double best_us = -1;
    s->active_count = 0;
    for (uint32_t at = first; at < end && goes_on(s, bounds); at += block) {
        const uint32_t cut = fullest(s, at, end - at < block ? end : at + block);
        if (!(s->absent[cut] > 0))
            continue;
        advance(s, cut, &next);
        const double us = cut_at(s, cut, &all_beside, &s->sides[cut]);
        bounds->feasible = !isinf(us);
        bounds->cut_us = fmax(bounds->cut_us, us);
        if (us > best_us) {
            best_us = us;
            best = cut;
        }
    }
    return best;
}

/* About how many items are examined in all: half a second of work. */
enum { WORK = 3000000 };

static void look_at_all(struct spw_sweep *s, struct spw_bounds *bounds)
{
    const uint32_t ops = s->graph->op_count;
    double items = 0;
    for (uint32_t i = 0; i < s->need_count; i++)
        items += (double)(s->needs[i].last - s->needs[i].first) + 1;
    const double work = s->terms.limit_s > 0 ? fmin(WORK, 2 * WORK * s->terms.limit_s) : WORK;
    const uint32_t block = 1 + (uint32_t)fmin(items / work, ops);
    const uint32_t best = look_at_cuts(s, 0, ops, block, bounds);
    if (block <= 1 || !bounds->feasible || s->cancelled)
        return;
    const uint32_t first = best > block ? best - block : 0, end = ops - best > block ? best + block : ops;
    (void)look_at_cuts(s, first, end, 1 + (end - first) / (1 + ops / block), bounds);
}

/* The persistent bytes that are absent when the iteration ends were copied out and in during it. */
static void look_at_end(struct spw_sweep *s, struct spw_bounds *bounds)
{
    const uint32_t end = s->graph->op_count;
    uint32_t next = 0;
    s->active_count = 0;
    if (!(s->absent[end] > 0))
        return;
    advance(s, end, &next);
    bounds->persistent_us = cut_at(s, end, &all_beside, NULL);
    bounds->feasible = bounds->feasible && !isinf(bounds->persistent_us);
}

/* ---- spans ---- */

struct span {
    uint32_t first, last;
    double us;
};

/* Starts as if no bytes were absent anywhere. */
static void begin_sides(struct spw_sweep *s)
{
    const uint32_t ops = s->graph->op_count;
    for (uint32_t i = 0; i < ops; i++) {
        const double tail_us = s->head_us[ops] - s->head_us[i + 1];
        s->sides[i] = (struct spw_cut_sides){s->head_us[i], tail_us, s->head_us[i], tail_us};
    }
}

/* The best span of the cuts examined so far. `hindered`: counts the slowdown between copies, which may be valid only in
 * part. */
static struct span find_span(const struct spw_sweep *s, bool hindered)
{
    struct span best = {0};
    uint32_t first = 0;
    double most_us = -INFINITY;
    for (uint32_t i = 0; i < s->graph->op_count; i++) {
        const struct spw_cut_sides *sides = &s->sides[i];
        const double early_us = (hindered ? sides->before_beside_us : sides->before_us) - s->head_us[i];
        if (early_us > most_us) {
            most_us = early_us;
            first = i;
        }
        const double us = most_us + s->head_us[i + 1] + (hindered ? sides->after_beside_us : sides->after_us);
        if (us > best.us)
            best = (struct span){first, i, us};
    }
    return best;
}

static struct spw_cut_sides sides_of(struct spw_sweep *s, uint32_t at, const struct beside *beside)
{
    struct spw_cut_sides sides = s->sides[at];
    uint32_t next = 0;
    s->active_count = 0;
    if (s->absent[at] > 0) {
        advance(s, at, &next);
        (void)cut_at(s, at, beside, &sides);
    }
    return sides;
}

/* The time of the span with the slowdown between copies, as far as it is certain to occur. */
static double hindered_us(struct spw_sweep *s, const struct span *span)
{
    if (!(s->absent[span->first] > 0) || !(s->absent[span->last] > 0))
        return 0; /* nothing has to move */
    const struct beside beside = {.from_us = s->head_us[span->last], .until_us = s->head_us[span->first]};
    const double between_us = s->head_us[span->last + 1] - s->head_us[span->first];
    return sides_of(s, span->first, &beside).before_beside_us + between_us +
           sides_of(s, span->last, &beside).after_beside_us;
}

static void look_at_spans(struct spw_sweep *s, struct spw_bounds *bounds)
{
    if (!bounds->feasible || s->cancelled)
        return;
    const struct span alone = find_span(s, false), hindered = find_span(s, true);
    bounds->span_us = alone.us * (1 - 1e-9);
    if (s->hindrance > 0)
        bounds->span_us = fmax(bounds->span_us, fmax(hindered_us(s, &alone), hindered_us(s, &hindered)) * (1 - 1e-9));
}

/* ---- */

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
    if (bounds->feasible && bounds->span_us > bounds->best_us) {
        bounds->best_us = bounds->span_us;
        bounds->best = "span";
    }
}

static double hindrance_of(double duplex)
{
    return duplex > 0.5 && duplex < 1 ? (1 - duplex) / duplex : duplex > 0 && duplex < 1;
}

int spw_bounds_within(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                      const struct spw_bounds_terms *terms, struct spw_bounds *ret_bounds)
{
    struct spw_sweep s = {.graph = graph,
                          .budget = (double)device_bytes,
                          .may_copy = may_copy,
                          .may_replay = may_replay,
                          .terms = *terms,
                          .hindrance = hindrance_of(terms->duplex)};
    struct spw_bounds bounds = {.feasible = graph->least_bytes <= device_bytes, .time_us = graph->compute_us};
    int r = sweep_init(&s);
    if (r == 0) {
        spw_sweep_look_at_ops(&s);
        spw_sweep_list_needs(&s);
        begin_sides(&s);
        look_at_end(&s, &bounds);
        look_at_all(&s, &bounds);
        look_at_spans(&s, &bounds);
        name_best(&bounds);
        *ret_bounds = bounds;
        r = s.cancelled ? -ECANCELED : 0;
    }
    sweep_finish(&s);
    return r;
}

int spw_bounds_find(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay,
                    struct spw_bounds *ret_bounds)
{
    const struct spw_bounds_terms usual = {0};
    return spw_bounds_within(graph, device_bytes, may_copy, may_replay, &usual, ret_bounds);
}

int spw_bounds_of_ops(const struct spw_graph *graph, uint64_t device_bytes, bool may_copy, bool may_replay, double *ret_us)
{
    struct spw_sweep s = {.graph = graph, .budget = (double)device_bytes, .may_copy = may_copy, .may_replay = may_replay};
    const int r = sweep_init(&s);
    if (r == 0) {
        uint32_t next = 0;
        spw_sweep_look_at_ops(&s);
        spw_sweep_list_needs(&s);
        for (uint32_t i = 0; i < graph->op_count; i++) {
            advance(&s, i, &next);
            ret_us[i] = s.absent[i] > 0 ? cut_at(&s, i, &all_beside, NULL) : 0;
        }
    }
    sweep_finish(&s);
    return r;
}
