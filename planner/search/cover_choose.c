/* cover_choose.c - covers the demand above the budget by gaps in the order of their cost, then removes those not needed.
 *
 * Lagrangian relaxation of the lanes: with a price on a lane's time each gap has one cheapest way by itself. The rest is
 * to cover a demand over time by intervals, for which greedy by cost per byte with reverse deletion is the usual
 * approximation. */
#include "search/cover_parts.h"

#include <string.h>

#include "plan/random.h"

/* ---- the tree ---- */

/* Builds the tree from its leaves. */
static void build(struct spw_cover *c)
{
    memset(c->add, 0, 2 * (size_t)c->leaves * sizeof *c->add);
    for (uint32_t i = c->graph->op_count; i < c->leaves; i++)
        c->most[c->leaves + i] = INT64_MIN / 2;
    for (uint32_t i = c->leaves - 1; i > 0; i--)
        c->most[i] = c->most[2 * i] > c->most[2 * i + 1] ? c->most[2 * i] : c->most[2 * i + 1];
}

/* Adds to all operations in [from, to), starting at a node that stands for [low, high). */
static void add_to(struct spw_cover *c, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to,
                   int64_t bytes)
{
    if (to <= low || high <= from)
        return;
    if (from <= low && high <= to) {
        c->most[node] += bytes;
        c->add[node] += bytes;
        return;
    }
    const uint32_t middle = (low + high) / 2;
    add_to(c, 2 * node, low, middle, from, to, bytes);
    add_to(c, 2 * node + 1, middle, high, from, to, bytes);
    const int64_t left = c->most[2 * node], right = c->most[2 * node + 1];
    c->most[node] = (left > right ? left : right) + c->add[node];
}

static int64_t most_in(const struct spw_cover *c, uint32_t node, uint32_t low, uint32_t high, uint32_t from, uint32_t to)
{
    if (to <= low || high <= from)
        return INT64_MIN / 2;
    if (from <= low && high <= to)
        return c->most[node];
    const uint32_t middle = (low + high) / 2;
    const int64_t left = most_in(c, 2 * node, low, middle, from, to),
                  right = most_in(c, 2 * node + 1, middle, high, from, to);
    return (left > right ? left : right) + c->add[node];
}

static void add_gap_bytes(struct spw_cover *c, const struct spw_gap *gap, int64_t bytes)
{
    if (gap->is_boundary) {
        add_to(c, 1, 0, c->leaves, 0, gap->to, bytes);
        add_to(c, 1, 0, c->leaves, gap->from, c->graph->op_count, bytes);
    } else {
        add_to(c, 1, 0, c->leaves, gap->from, gap->to, bytes);
    }
}

static int64_t most_in_gap(const struct spw_cover *c, const struct spw_gap *gap)
{
    if (!gap->is_boundary)
        return most_in(c, 1, 0, c->leaves, gap->from, gap->to);
    const int64_t head = most_in(c, 1, 0, c->leaves, 0, gap->to);
    const int64_t tail = most_in(c, 1, 0, c->leaves, gap->from, c->graph->op_count);
    return head > tail ? head : tail;
}

void spw_cover_find_useful(struct spw_cover *c)
{
    memcpy(c->most + c->leaves, c->demand, c->graph->op_count * sizeof *c->most);
    build(c);
    for (size_t i = 0; i < c->gap_count; i++)
        c->gaps[i].is_useful = !c->gaps[i].is_end && most_in_gap(c, &c->gaps[i]) > 0;
}

/* ---- choosing ---- */

/* Returns the way that costs least for each byte. Other products of a replay count among its bytes. */
static uint8_t cheapest(const struct spw_cover *c, const struct spw_gap *gap, double lane_price, double *ret_us)
{
    const double bytes = (double)c->graph->tensors[gap->tensor].bytes;
    double made = bytes;
    for (const struct spw_gap *other = &c->gaps[gap->sibling]; other != gap; other = &c->gaps[other->sibling])
        made += (double)c->graph->tensors[other->tensor].bytes;
    const double replay = gap->replay_us / made;
    const double swap = (gap->copy_us * lane_price / 2 + gap->exposed_us) / bytes;
    if (gap->copy_us >= 0 && (gap->replay_us < 0 || swap <= replay)) {
        *ret_us = swap;
        return SPW_SWAP;
    }
    *ret_us = replay;
    return SPW_DROP;
}

/* Returns true if the other of a persistent tensor's two gaps, at the start and around the end, is chosen: they exclude
 * each other. */
static bool is_taken(const struct spw_cover *c, const struct spw_gap *gap, const uint8_t *choices)
{
    const struct spw_graph_tensor *t = &c->graph->tensors[gap->tensor];
    if (!t->persistent || t->use_count == 0)
        return false;
    if (gap->is_boundary)
        return choices[(size_t)c->graph->use_count + gap->tensor] == SPW_SWAP;
    return gap->choice >= c->graph->use_count && choices[t->first_use + t->use_count - 1] == SPW_SWAP;
}

void spw_cover_set(const struct spw_cover *cover, const struct spw_gap *gap, uint8_t choice, uint8_t *choices)
{
    choices[gap->choice] = choice;
    for (uint32_t i = 0; i < gap->retained_count && SPW_CHOICE(choice) == SPW_DROP && !gap->is_end; i++) {
        const struct spw_graph_tensor *t = &cover->graph->tensors[cover->retained[gap->first_retained + i]];
        uint8_t *end = &choices[t->first_use + t->use_count - 1];
        if (*end == SPW_KEEP)
            *end = SPW_RETAIN;
    }
}

static void apply(struct spw_cover *c, uint32_t index, uint8_t choice, uint8_t *choices)
{
    const struct spw_gap *gap = &c->gaps[index];
    const int64_t bytes = (int64_t)c->graph->tensors[gap->tensor].bytes;
    if ((choices[gap->choice] == SPW_KEEP) != (choice == SPW_KEEP))
        add_gap_bytes(c, gap, choice == SPW_KEEP ? bytes : -bytes);
    spw_cover_set(c, gap, choice, choices);
}

static void add_evicted(int64_t *changes, uint32_t from, uint32_t to, int64_t bytes)
{
    if (from >= to)
        return;
    changes[from] -= bytes;
    changes[to] += bytes;
}

/* Computes the demand that the present choices leave, first as changes from one operation to the next. */
static void build_demand(struct spw_cover *c, const uint8_t *choices)
{
    const uint32_t ops = c->graph->op_count;
    int64_t *left = c->most + c->leaves, *changes = c->add, sum = 0;
    memset(changes, 0, ((size_t)ops + 1) * sizeof *changes);
    for (size_t i = 0; i < c->gap_count; i++) {
        const struct spw_gap *gap = &c->gaps[i];
        if (gap->is_end || choices[gap->choice] == SPW_KEEP)
            continue;
        const int64_t bytes = (int64_t)c->graph->tensors[gap->tensor].bytes;
        add_evicted(changes, gap->is_boundary ? 0 : gap->from, gap->to, bytes);
        if (gap->is_boundary)
            add_evicted(changes, gap->from, ops, bytes);
    }
    c->short_before[0] = 0;
    for (uint32_t op = 0; op < ops; op++) {
        left[op] = c->demand[op] + (sum += changes[op]);
        c->short_before[op + 1] = c->short_before[op] + (left[op] > 0);
    }
    build(c);
}

/* Returns true if memory was short anywhere in the gap before choosing. */
static bool was_short_in(const struct spw_cover *c, const struct spw_gap *gap)
{
    if (!gap->is_boundary)
        return gap->from < gap->to && c->short_before[gap->from] < c->short_before[gap->to];
    return c->short_before[gap->to] > 0 || c->short_before[gap->from] < c->short_before[c->graph->op_count];
}

static void rank_by_cost(struct spw_cover *c, const struct spw_cover_terms *terms, const uint8_t *choices)
{
    c->ranking.count = 0;
    for (size_t i = 0; i < c->gap_count; i++) {
        const struct spw_gap *gap = &c->gaps[i];
        double factor = 1, us;
        if (gap->is_end || !gap->is_useful || choices[gap->choice] != SPW_KEEP)
            continue;
        if (terms->spread > 0)
            factor += terms->spread * (2 * spw_random_fraction(terms->random) - 1);
        if (!was_short_in(c, gap))
            continue;
        (void)cheapest(c, gap, terms->lane_price, &us);
        spw_ranked_push(&c->ranking, -(us * factor), (uint32_t)i);
    }
}

void spw_cover_complete(struct spw_cover *cover, const struct spw_cover_terms *terms, uint8_t *choices)
{
    size_t taken = 0;
    build_demand(cover, choices);
    rank_by_cost(cover, terms, choices);
    for (; cover->ranking.count > 0 && cover->most[1] > 0; spw_ranked_pop(&cover->ranking)) {
        const uint32_t index = cover->ranking.items[0].index;
        const struct spw_gap *gap = &cover->gaps[index];
        double us;
        if (choices[gap->choice] != SPW_KEEP || is_taken(cover, gap, choices) || most_in_gap(cover, gap) <= 0)
            continue;
        const uint8_t choice = cheapest(cover, gap, terms->lane_price, &us);
        apply(cover, index, choice, choices);
        cover->chosen[taken++] = index;
        for (uint32_t other = gap->sibling; choice == SPW_DROP && other != index; other = cover->gaps[other].sibling)
            if (choices[cover->gaps[other].choice] == SPW_KEEP)
                apply(cover, other, SPW_DROP, choices);
    }
    while (taken-- > 0) {
        const uint32_t index = cover->chosen[taken];
        const struct spw_gap *gap = &cover->gaps[index];
        if (most_in_gap(cover, gap) + (int64_t)cover->graph->tensors[gap->tensor].bytes > 0)
            continue;
        const bool was_replayed = SPW_CHOICE(choices[gap->choice]) == SPW_DROP;
        apply(cover, index, SPW_KEEP, choices);
        for (uint32_t other = gap->sibling; was_replayed && other != index; other = cover->gaps[other].sibling)
            if (SPW_CHOICE(choices[cover->gaps[other].choice]) == SPW_DROP &&
                most_in_gap(cover, &cover->gaps[other]) + (int64_t)cover->graph->tensors[cover->gaps[other].tensor].bytes <=
                    0)
                apply(cover, other, SPW_KEEP, choices);
    }
}
