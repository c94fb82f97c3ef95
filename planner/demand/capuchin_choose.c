/* capuchin_choose.c - implements steps 1 and 2 of capuchin.c: free times, MSPS, and how choices change them. */
#include "demand/capuchin_choose.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/compose.h"
#include "search/cover.h"
#include "demand/lane.h"
#include "plan/ranked.h"
#include "demand/shortage.h"

enum { LANE_PARTS = 2048, MOST_SOURCES = 256, MANY_OPS = 5000 };

struct spw_capuchin {
    const struct spw_graph *graph;
    struct spw_cover *cover; /* lists the gaps */
    const struct spw_gap *gaps;
    size_t gap_count;
    struct spw_shortage *shortage;
    struct spw_lane out, in;
    /* Share by which the first in a ranking may be worse than when it was ranked and still counts as the first. */
    double slack;
    double *before_us; /* for each operation: the time of all those before it */
    uint8_t *choices;
    uint32_t *times; /* for each gap, at its choice: number of chosen replays that need the tensor during it */
    struct spw_ranking swaps, replays, left;  /* left: swaps that are not free, or useless where they are */
    uint32_t *seen, walk, made[MOST_SOURCES]; /* operations reached in this walk */
};

/* ---- swaps ---- */

/* Returns true if no copy out is needed, since an earlier one is still valid. */
static bool has_copy(const struct spw_capuchin *c, const struct spw_gap *gap)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[gap->tensor];
    const struct spw_use *uses = &c->graph->uses[t->first_use];
    for (size_t i = gap->choice - t->first_use; i > 0 && !uses[i].writes; i--)
        if (SPW_CHOICE(c->choices[t->first_use + i - 1]) == SPW_SWAP)
            return true;
    return t->persistent && t->last_version == 0 && c->choices[t->first_use + t->use_count - 1] == SPW_SWAP;
}

/* Computes when the tensor is gone, and when it begins to come back. Returns FT. */
static double free_time(struct spw_capuchin *c, const struct spw_gap *gap, bool take, double *ret_gone_us,
                        double *ret_back_us)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[gap->tensor];
    const double out_us = has_copy(c, gap) ? 0 : t->d2h_us;
    *ret_gone_us = spw_lane_reach(&c->out, c->before_us[gap->from], out_us, take);
    *ret_back_us = spw_lane_reach(&c->in, c->before_us[gap->to], t->h2d_us, take);
    if (gap->is_boundary)
        return fmin(c->graph->compute_us - *ret_gone_us, *ret_back_us);
    return *ret_back_us - *ret_gone_us;
}

/* Returns the first operation that starts at this time or later. */
static uint32_t operation_at(const struct spw_capuchin *c, double us)
{
    uint32_t low = 0, high = c->graph->op_count;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (c->before_us[middle] < us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the operations during which the tensor is away if nothing waits for it: `from` <= op < `to`. */
static struct spw_gap narrowed(const struct spw_capuchin *c, const struct spw_gap *gap, double gone_us, double back_us)
{
    struct spw_gap narrow = *gap;
    const uint32_t gone = operation_at(c, gone_us), back = operation_at(c, back_us);
    const bool is_between = back > 0 && (back == c->graph->op_count || c->before_us[back] > back_us);
    narrow.from = gone > gap->from ? gone : gap->from;
    narrow.to = back - is_between < gap->to ? back - is_between : gap->to;
    return narrow;
}

/* ---- what a choice relieves ---- */

static bool is_short(const struct spw_capuchin *c, const struct spw_gap *gap)
{
    if (gap->is_boundary)
        return spw_shortage_most(c->shortage, 0, gap->to) > 0 ||
               spw_shortage_most(c->shortage, gap->from, c->graph->op_count) > 0;
    return gap->from < gap->to && spw_shortage_most(c->shortage, gap->from, gap->to) > 0;
}

static void relieve(struct spw_capuchin *c, const struct spw_gap *gap)
{
    const uint64_t bytes = c->graph->tensors[gap->tensor].bytes;
    if (gap->is_boundary) {
        spw_shortage_relieve(c->shortage, 0, gap->to, bytes);
        spw_shortage_relieve(c->shortage, gap->from, c->graph->op_count, bytes);
    } else if (gap->from < gap->to) {
        spw_shortage_relieve(c->shortage, gap->from, gap->to, bytes);
    }
}

/* ---- replays ---- */

/* Returns the choice for the tensor's gap at operation `at`, between two of its uses; NULL: the operation uses it, or it
 * is in no gap. */
static const uint8_t *choice_at(const struct spw_capuchin *c, uint32_t tensor, uint32_t at, size_t *ret_index)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[tensor];
    const uint32_t next = spw_graph_use_from(c->graph, tensor, at);
    if (next == 0 || next == t->use_count || c->graph->uses[t->first_use + next].op == at)
        return NULL;
    *ret_index = t->first_use + next - 1;
    return &c->choices[*ret_index];
}

/* Adds the operation that makes the tensor to the list. Returns false if the list is full. */
static bool want(struct spw_capuchin *c, uint32_t tensor, uint32_t version, uint32_t *count)
{
    const uint32_t op = version ? spw_graph_producer(c->graph, tensor, version) : SPW_NO_INDEX;
    if (op == SPW_NO_INDEX || c->seen[op] == c->walk)
        return true; /* an input that no operation makes was retained */
    if (*count == MOST_SOURCES)
        return false;
    c->seen[op] = c->walk;
    c->made[(*count)++] = op;
    return true;
}

/* Adds the maker of a source, unless the source is there. It is not if it is dead by then, or is to be recomputed itself.
 * `note`: counts the sources that are needed. */
static bool want_source(struct spw_capuchin *c, const struct spw_touched_tensor *source, uint32_t at, bool note,
                        uint32_t *count)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[source->tensor];
    const uint8_t *end = &c->choices[t->first_use + t->use_count - 1];
    size_t index = 0;
    if (source->side || (*end >= SPW_RETAIN && source->version == t->last_version))
        return true;
    const bool is_over = !t->persistent && c->graph->uses[t->first_use + t->use_count - 1].op < at;
    const uint8_t *choice = is_over ? NULL : choice_at(c, source->tensor, at, &index);
    if (choice && note)
        c->times[index]++;
    if (is_over || source->in_place || (choice && SPW_CHOICE(*choice) == SPW_DROP))
        return want(c, source->tensor, source->version, count);
    return true;
}

/* Returns the time to recompute the tensor after the gap, as often as it is needed; < 0: it takes too many operations.
 * `note`: it is chosen, so the sources are counted. */
static double replay_time(struct spw_capuchin *c, const struct spw_gap *gap, bool note)
{
    const struct spw_use *next = &c->graph->uses[gap->choice + 1];
    uint32_t count = 0;
    double us = 0;
    c->walk++;
    bool is_possible = want(c, gap->tensor, next->version, &count);
    for (uint32_t i = 0; i < count && is_possible; i++) {
        const struct spw_graph_op *op = &c->graph->ops[c->made[i]];
        us += op->us;
        for (uint32_t k = 0; k < op->read_count && is_possible; k++)
            is_possible = want_source(c, &c->graph->touched[op->first_read + k], next->op, note, &count);
    }
    return is_possible ? us * (1 + c->times[gap->choice]) : -1;
}

/* Returns the bytes saved per unit of time. */
static double msps(struct spw_capuchin *c, const struct spw_gap *gap)
{
    const double us = replay_time(c, gap, false);
    return us < 0 ? 0 : (double)c->graph->tensors[gap->tensor].bytes / (us + 1e-6);
}

/* ---- choosing ---- */

static bool is_kept(const struct spw_capuchin *c, const struct spw_gap *gap)
{
    return c->choices[gap->choice] == SPW_KEEP;
}

static void swap(struct spw_capuchin *c, const struct spw_gap *gap, bool in_free_time)
{
    double gone_us, back_us;
    (void)free_time(c, gap, true, &gone_us, &back_us);
    const struct spw_gap narrow = in_free_time ? narrowed(c, gap, gone_us, back_us) : *gap;
    relieve(c, &narrow);
    spw_cover_set(c->cover, gap, SPW_SWAP, c->choices);
}

/* Swaps in the order of free times. These only decrease while the lanes fill, so a gap that still has the greatest one
 * after it is computed again has the greatest of all. */
static void swap_in_free_time(struct spw_capuchin *c)
{
    while (c->swaps.count && spw_shortage_most(c->shortage, 0, c->graph->op_count) > 0) {
        const struct spw_ranked top = c->swaps.items[0];
        const struct spw_gap *gap = &c->gaps[top.index];
        double gone_us, back_us;
        const double ft = free_time(c, gap, false, &gone_us, &back_us);
        const struct spw_gap narrow = narrowed(c, gap, gone_us, back_us);
        spw_ranked_pop(&c->swaps);
        if (ft < top.value - c->slack * c->graph->compute_us && ft >= 0)
            spw_ranked_push(&c->swaps, ft, top.index);
        else if (ft >= 0 && is_short(c, &narrow))
            swap(c, gap, true);
        else
            spw_ranked_push(&c->left, ft, top.index);
    }
    while (c->swaps.count) {
        spw_ranked_push(&c->left, c->swaps.items[0].value, c->swaps.items[0].index);
        spw_ranked_pop(&c->swaps);
    }
}

/* Returns the exposed part of the copies per byte, negative. */
static double swap_value(struct spw_capuchin *c, const struct spw_gap *gap)
{
    double gone_us, back_us;
    return fmin(0, free_time(c, gap, false, &gone_us, &back_us)) / (double)c->graph->tensors[gap->tensor].bytes;
}

/* Returns what the best swap of the heap adds per byte; infinity if no useful one is left. */
static double best_swap(struct spw_capuchin *c)
{
    while (c->swaps.count) {
        const struct spw_ranked top = c->swaps.items[0];
        const struct spw_gap *gap = &c->gaps[top.index];
        const double value = swap_value(c, gap);
        if (is_kept(c, gap) && is_short(c, gap) && value >= top.value * (1 + c->slack))
            return -value;
        spw_ranked_pop(&c->swaps);
        if (is_kept(c, gap) && is_short(c, gap))
            spw_ranked_push(&c->swaps, value, top.index);
    }
    return HUGE_VAL;
}

static double best_replay(struct spw_capuchin *c)
{
    while (c->replays.count) {
        const struct spw_ranked top = c->replays.items[0];
        const struct spw_gap *gap = &c->gaps[top.index];
        const double value = msps(c, gap);
        if (is_kept(c, gap) && is_short(c, gap) && value >= top.value * (1 - c->slack))
            return 1 / value;
        spw_ranked_pop(&c->replays);
        if (is_kept(c, gap) && is_short(c, gap) && value > 0)
            spw_ranked_push(&c->replays, value, top.index);
    }
    return HUGE_VAL;
}

static void weigh(struct spw_capuchin *c)
{
    while (spw_shortage_most(c->shortage, 0, c->graph->op_count) > 0) {
        const double by_swap = best_swap(c), by_replay = best_replay(c);
        if (by_swap == HUGE_VAL && by_replay == HUGE_VAL)
            return;
        if (by_swap <= by_replay) {
            swap(c, &c->gaps[c->swaps.items[0].index], false);
            spw_ranked_pop(&c->swaps);
        } else {
            const struct spw_gap *gap = &c->gaps[c->replays.items[0].index];
            (void)replay_time(c, gap, true);
            relieve(c, gap);
            spw_cover_set(c->cover, gap, SPW_DROP, c->choices);
            spw_ranked_pop(&c->replays);
        }
    }
}

static void rank(struct spw_capuchin *c)
{
    double gone_us, back_us;
    c->swaps.count = c->replays.count = c->left.count = 0;
    for (uint32_t i = 0; i < c->gap_count; i++) {
        const struct spw_gap *gap = &c->gaps[i];
        if (gap->is_end || gap->choice >= c->graph->use_count || !is_short(c, gap))
            continue;
        if (gap->copy_us >= 0)
            spw_ranked_push(&c->swaps, free_time(c, gap, false, &gone_us, &back_us), i);
        if (gap->replay_us >= 0 && !gap->is_boundary)
            spw_ranked_push(&c->replays, msps(c, gap), i);
    }
}

int spw_capuchin_choose(struct spw_capuchin *c, uint64_t budget_bytes, uint8_t *choices)
{
    c->choices = choices;
    memset(choices, SPW_KEEP, spw_choice_count(c->graph));
    memset(c->times, 0, spw_choice_count(c->graph) * sizeof *c->times);
    spw_lane_clear(&c->out);
    spw_lane_clear(&c->in);
    spw_shortage_destroy(c->shortage);
    c->shortage = NULL;
    if (spw_shortage_create(c->graph, budget_bytes, &c->shortage) < 0)
        return -ENOMEM;
    rank(c);
    swap_in_free_time(c);
    for (size_t i = 0; i < c->left.count; i++)
        spw_ranked_push(&c->swaps, swap_value(c, &c->gaps[c->left.items[i].index]), c->left.items[i].index);
    weigh(c);
    return 0;
}

/* ---- creating and destroying ---- */

void spw_capuchin_destroy(struct spw_capuchin *c)
{
    if (!c)
        return;
    spw_cover_destroy(c->cover);
    spw_shortage_destroy(c->shortage);
    spw_lane_finish(&c->out);
    spw_lane_finish(&c->in);
    free(c->before_us);
    free(c->times);
    free(c->swaps.items);
    free(c->replays.items);
    free(c->left.items);
    free(c->seen);
    free(c);
}

int spw_capuchin_create(const struct spw_plan_request *request, struct spw_capuchin **ret_capuchin)
{
    const struct spw_graph *graph = request->graph;
    struct spw_capuchin *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->graph = graph;
    int r = spw_cover_create(request, &c->cover);
    if (r == 0)
        r = spw_lane_init(&c->out, graph->compute_us, LANE_PARTS, false);
    if (r == 0)
        r = spw_lane_init(&c->in, graph->compute_us, LANE_PARTS, true);
    if (r == 0) {
        c->gap_count = spw_cover_gaps(c->cover, &c->gaps);
        c->before_us = malloc(((size_t)graph->op_count + 1) * sizeof *c->before_us);
        c->times = malloc((spw_choice_count(graph) + 1) * sizeof *c->times);
        c->swaps.items = malloc((c->gap_count + 1) * sizeof *c->swaps.items);
        c->replays.items = malloc((c->gap_count + 1) * sizeof *c->replays.items);
        c->left.items = malloc((c->gap_count + 1) * sizeof *c->left.items);
        c->seen = calloc(graph->op_count, sizeof *c->seen);
        if (!c->before_us || !c->times || !c->swaps.items || !c->replays.items || !c->left.items || !c->seen)
            r = -ENOMEM;
    }
    if (r < 0) {
        spw_capuchin_destroy(c);
        return r;
    }
    c->slack = graph->op_count > MANY_OPS ? 0.01 : 0;
    c->before_us[0] = 0;
    for (uint32_t i = 0; i < graph->op_count; i++)
        c->before_us[i + 1] = c->before_us[i] + graph->ops[i].us;
    *ret_capuchin = c;
    return 0;
}
