/* improve_moves.c - makes the changes that a search tries: to one choice, to two, to many, or as in one of the elites.
 *
 * Crossing the results from several beginnings is what memetic algorithms do (Moscato 1989), here stretch by stretch:
 * the best choice for a tensor depends most on those for tensors that live at about the same time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "plan/random.h"
#include "grow.h"
#include "search/improve_parts.h"

/* Shares of the search, found by trial on the graphs in tests/graphs and on recorded iterations. */
#define RUINS  0.5 /* share of changes that are large */
#define GRAFTS 0.1 /* share of changes that take over a stretch from the elites, once there are some */
#define BRIEF  0.4 /* share of changes to a recomputed tensor that toggle whether it is brief */

enum { PARTNERS = 20 }; /* gaps that are examined for the nearest one */

static int compare_sizes(const void *a, const void *b, void *context)
{
    const struct spw_improver *s = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t left = s->graph->tensors[s->gaps[x].tensor].bytes, right = s->graph->tensors[s->gaps[y].tensor].bytes;
    return left != right ? (left > right ? -1 : 1) : (x > y) - (x < y);
}

/* Lists the largest gaps, which make up nearly all the bytes; first those that are absent where memory is short. */
int spw_moves_find(struct spw_improver *s)
{
    uint64_t total = 0, sum = 0;
    if (SPW_GROW(s->movable, s->movable_room, s->gap_count + 1) < 0)
        return -ENOMEM;
    s->movable_count = s->useful_count = 0;
    for (int useful = 1; useful >= 0; useful--) {
        uint32_t *first = s->movable + s->movable_count;
        size_t count = 0;
        for (size_t i = 0; i < s->gap_count; i++) {
            if (s->gaps[i].is_useful != (useful == 1))
                continue;
            first[count++] = (uint32_t)i;
            total += s->graph->tensors[s->gaps[i].tensor].bytes;
        }
        qsort_r(first, count, sizeof *first, compare_sizes, s);
        for (size_t i = 0; i < count && (double)sum < (double)total * 0.999; i++, s->movable_count++)
            sum += s->graph->tensors[s->gaps[first[i]].tensor].bytes;
        if (useful)
            s->useful_count = s->movable_count;
    }
    return 0;
}

/* Returns a random gap, mostly a useful one. */
static const struct spw_gap *pick(struct spw_improver *s)
{
    const size_t among = s->useful_count && spw_random_below(&s->random, 64) ? s->useful_count : s->movable_count;
    return &s->gaps[s->movable[spw_random_below(&s->random, among)]];
}

static uint8_t other_choice(struct spw_improver *s, const struct spw_gap *gap, uint8_t now)
{
    uint8_t options[3];
    size_t count = 0;
    if (now != SPW_KEEP)
        options[count++] = SPW_KEEP;
    if (gap->is_end) {
        if (now != SPW_RETAIN)
            options[count++] = SPW_RETAIN;
        if (now != SPW_STORE && gap->copy_us >= 0)
            options[count++] = SPW_STORE;
        return options[spw_random_below(&s->random, count)];
    }
    if (now != SPW_SWAP && gap->copy_us >= 0)
        options[count++] = SPW_SWAP;
    if (now != SPW_DROP && gap->replay_us >= 0)
        options[count++] = SPW_DROP;
    return count ? options[spw_random_below(&s->random, count)] : now;
}

/* Takes some evictions back, in one stretch of the iteration or anywhere, and covers anew what is then short (large
 * neighbourhood search, Shaw 1998). */
static void ruin(struct spw_improver *s, uint8_t *choices)
{
    const struct spw_gap *centre = pick(s);
    const bool anywhere = spw_random_below(&s->random, 2);
    const double share = 0.05 + 0.6 * spw_random_fraction(&s->random);
    const uint32_t width = 4 + (uint32_t)spw_random_below(&s->random, s->graph->op_count / 4 + 1);
    const struct spw_cover_terms terms = {.lane_price = s->price * exp(2 * spw_random_fraction(&s->random) - 1),
                                          .spread = spw_random_fraction(&s->random) * 0.6,
                                          .random = &s->random};
    for (size_t i = 0; i < s->useful_count; i++) {
        const struct spw_gap *gap = &s->gaps[s->movable[i]];
        const uint32_t away = gap->from > centre->from ? gap->from - centre->from : centre->from - gap->from;
        if (choices[gap->choice] == SPW_KEEP || (!anywhere && away > width))
            continue;
        if (spw_random_fraction(&s->random) < (anywhere ? share / 3 : share))
            choices[gap->choice] = SPW_KEEP;
    }
    spw_cover_complete(s->cover, &terms, choices);
}

static void set(struct spw_improver *s, const struct spw_gap *gap, uint8_t choice, uint8_t *choices)
{
    const uint8_t was = SPW_CHOICE(choices[gap->choice]);
    spw_cover_set(s->cover, gap, choice, choices);
    for (const struct spw_gap *other = &s->gaps[gap->sibling]; other != gap; other = &s->gaps[other->sibling])
        if ((choice == SPW_DROP && choices[other->choice] == SPW_KEEP) ||
            (was == SPW_DROP && choice == SPW_KEEP && SPW_CHOICE(choices[other->choice]) == SPW_DROP))
            spw_cover_set(s->cover, other, choice, choices);
}

/* Takes over the choices of one of the elites for the gaps that begin, or end, in one stretch of the iteration. */
static void graft(struct spw_improver *s, uint8_t *choices)
{
    const uint8_t *from = s->elites.choices[spw_random_below(&s->random, s->elites.count)];
    const uint32_t width = 4 + (uint32_t)spw_random_below(&s->random, s->graph->op_count / 3 + 1);
    const uint32_t first = (uint32_t)spw_random_below(&s->random, s->graph->op_count);
    const bool by_end = spw_random_below(&s->random, 2);
    for (size_t i = 0; i < s->movable_count; i++) {
        const struct spw_gap *gap = &s->gaps[s->movable[i]];
        const uint32_t at = by_end ? gap->to : gap->from;
        if (at >= first && at - first < width)
            choices[gap->choice] = from[gap->choice];
    }
}

/* Returns true if the other gap can take over this one's former choice or, if `alike`, its present one. */
static bool is_partner(const struct spw_gap *gap, const struct spw_gap *other, bool alike, uint8_t was, uint8_t is,
                       const uint8_t *choices)
{
    const uint8_t wanted = alike ? is : was;
    if (other == gap || other->is_end || gap->is_end || (SPW_CHOICE(choices[other->choice]) == was) != alike)
        return false;
    return !(wanted == SPW_SWAP && other->copy_us < 0) && !(wanted == SPW_DROP && other->replay_us < 0);
}

/* Returns such a gap, every other time the most similar one of several; NULL if there is none. */
static const struct spw_gap *find_partner(struct spw_improver *s, const struct spw_gap *gap, bool alike, uint8_t was,
                                          uint8_t is, const uint8_t *choices)
{
    const struct spw_gap *best = NULL;
    const bool is_any = spw_random_below(&s->random, 2);
    int64_t least = INT64_MAX;
    for (int tries = 0; tries < PARTNERS && !(is_any && best); tries++) {
        const struct spw_gap *other = pick(s);
        const int64_t away = llabs((int64_t)other->from - gap->from) + llabs((int64_t)other->to - gap->to);
        if (away >= least || !is_partner(gap, other, alike, was, is, choices))
            continue;
        best = other;
        least = away;
    }
    return best;
}

void spw_moves_change(struct spw_improver *s, uint8_t *choices)
{
    if (s->elites.count > 1 && spw_random_fraction(&s->random) < GRAFTS) {
        graft(s, choices);
        return;
    }
    if (spw_random_fraction(&s->random) < RUINS && s->useful_count) {
        ruin(s, choices);
        return;
    }
    const struct spw_gap *gap = pick(s);
    const uint8_t was = SPW_CHOICE(choices[gap->choice]);
    if (was == SPW_DROP && !gap->is_end && spw_random_below(&s->random, 8) == 0) {
        choices[gap->choice] = SPW_DROP_EARLY(spw_random_below(&s->random, 4));
        return;
    }
    if (was == SPW_DROP && !gap->is_end && spw_random_fraction(&s->random) < BRIEF) {
        choices[gap->choice] ^= SPW_BRIEF;
        return;
    }
    set(s, gap, other_choice(s, gap, was), choices);
    const size_t kind = spw_random_below(&s->random, 8);
    if (kind < 4)
        return;
    /* another gap nearby takes over this one's former choice, or makes the same one */
    const bool alike = kind == 7;
    const uint8_t is = SPW_CHOICE(choices[gap->choice]);
    const struct spw_gap *other = find_partner(s, gap, alike, was, is, choices);
    if (other)
        set(s, other, alike ? is : was, choices);
}
