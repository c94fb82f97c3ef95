/* auto.c - the default planner: swap, clean drop and replay chosen together on any graph, by search with the time line as
 * judge.
 *
 * It starts from covers at a range of prices for the lanes' time (cover.h), takes the best, and improves it by local search:
 * one choice changed, or two exchanged, accepted where the time line says that it is better, or, at first, not much worse
 * (threshold accepting, Dueck and Scheuer 1990). Every schedule that is looked at is valid and within the budget, so it can
 * be stopped at any time. Guarantees no optimum; stops early where the time is down to the sum of the durations. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "compose.h"
#include "cover.h"
#include "plan.h"
#include "prefetch.h"
#include "random.h"

#define NOT_VALID 1e20 /* above all times */

struct search {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    struct spw_composer *composer;
    struct spw_cover *cover;
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    const struct spw_gap *gaps;
    size_t gap_count, choice_count;
    uint32_t *movable; /* gaps worth a move */
    size_t movable_count, useful_count;
    uint8_t *choices, *trial; /* where the search stands, and one that is looked at */
    double cost, lane_weight, heat, price, ruins;
    struct spw_schedule schedule; /* of the one that is looked at */
    struct spw_schedule *best;
    double best_us, bound_us;
    double begun_s, limit_s;
    uint64_t evaluations, most_evaluations;
    uint64_t random;
};

/* ---- judging ---- */

/* The time of a set of choices, and a little for what the lanes carry, so that of two alike the one that moves less wins.
 * Where nothing valid comes of it: above NOT_VALID. -ENOMEM in ret_error. */
static double judge(struct search *s, uint8_t *choices, int *ret_error)
{
    struct spw_timing timing;
    size_t repairs, stuck;
    uint32_t op;
    s->evaluations++;
    *ret_error = spw_compose(s->composer, choices, &s->schedule, &repairs, &op);
    if (*ret_error == 0) {
        *ret_error = spw_prefetch(s->prefetcher, &s->schedule, s->request->device_bytes, NULL, 0.05);
        *ret_error = *ret_error == -EINVAL ? 0 : *ret_error;
    }
    if (*ret_error == 0)
        *ret_error = spw_timer_run(s->timer, &s->schedule, s->request->device_bytes, NULL, &timing, &stuck);
    if (*ret_error == 0 && timing.time_us < s->best_us) {
        *ret_error = spw_schedule_copy(s->best, &s->schedule, s->graph);
        s->best_us = timing.time_us;
    }
    if (*ret_error == -ENOMEM)
        return INFINITY;
    if (*ret_error < 0) {
        *ret_error = 0;
        return NOT_VALID * (double)(s->graph->op_count - op); /* the further it came, the better */
    }
    const double lanes_us =
        (double)timing.d2h_bytes / s->graph->d2h_bytes_per_us + (double)timing.h2d_bytes / s->graph->h2d_bytes_per_us;
    return timing.time_us + s->lane_weight * lanes_us;
}

/* Judged once more where repairs were needed: what was evicted late is evicted in good time then. */
static double judge_repaired(struct search *s, uint8_t *choices, int *ret_error)
{
    const double first = judge(s, choices, ret_error);
    return first;
}

static double elapsed(const struct search *s)
{
    if (!s->request->now_s)
        return (double)s->evaluations / (double)s->most_evaluations * s->limit_s;
    return s->request->now_s(s->request->now_context) - s->begun_s;
}

/* ---- beginning ---- */

static int begin_with_covers(struct search *s)
{
    static const double prices[] = {0, 0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4, 0.6, 1, 2, 100};
    int r = 0;
    size_t variants = 1;
    for (size_t i = 0; i < s->gap_count && variants == 1; i++)
        variants = s->gaps[i].is_leaf ? 3 : 1;
    for (size_t i = 0; i < variants * (sizeof prices / sizeof prices[0]) && r == 0; i++) {
        static const uint8_t leaves[] = {SPW_KEEP, SPW_RETAIN, SPW_STORE};
        const struct spw_cover_terms terms = {.lane_price = prices[i / variants]};
        memset(s->trial, SPW_KEEP, s->choice_count);
        for (size_t j = 0; j < s->gap_count; j++)
            if (s->gaps[j].is_leaf)
                s->trial[s->gaps[j].choice] = leaves[i % variants];
        spw_cover_complete(s->cover, &terms, s->trial);
        for (int again = 0; again < 2 && r == 0; again++) {
            const double cost = judge_repaired(s, s->trial, &r);
            if (cost >= s->cost)
                continue;
            s->cost = cost;
            s->price = prices[i / variants];
            memcpy(s->choices, s->trial, s->choice_count);
        }
    }
    return r;
}

/* ---- moving ---- */

static int compare_sizes(const void *a, const void *b, void *context)
{
    const struct search *s = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    const uint64_t left = s->graph->tensors[s->gaps[x].tensor].bytes, right = s->graph->tensors[s->gaps[y].tensor].bytes;
    return left != right ? (left > right ? -1 : 1) : (x > y) - (x < y);
}

/* The largest gaps, those that make up nearly all the bytes: first those that are absent where memory is short. */
static int find_movable(struct search *s)
{
    uint64_t total = 0, sum = 0;
    s->movable = malloc((s->gap_count + 1) * sizeof *s->movable);
    if (!s->movable)
        return -ENOMEM;
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

/* Mostly a useful one. */
static const struct spw_gap *pick(struct search *s)
{
    const size_t among = s->useful_count && spw_random_below(&s->random, 64) ? s->useful_count : s->movable_count;
    return &s->gaps[s->movable[spw_random_below(&s->random, among)]];
}

static uint8_t other_choice(struct search *s, const struct spw_gap *gap, uint8_t now)
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

/* Takes some evictions back, in one stretch of the iteration or anywhere, and covers what is short then anew (large
 * neighbourhood search, Shaw 1998). */
static void ruin(struct search *s, uint8_t *choices)
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

static void set(struct search *s, const struct spw_gap *gap, uint8_t choice, uint8_t *choices)
{
    const uint8_t was = SPW_CHOICE(choices[gap->choice]);
    spw_cover_set(s->cover, gap, choice, choices);
    for (const struct spw_gap *other = &s->gaps[gap->sibling]; other != gap; other = &s->gaps[other->sibling])
        if ((choice == SPW_DROP && choices[other->choice] == SPW_KEEP) ||
            (was == SPW_DROP && choice == SPW_KEEP && SPW_CHOICE(choices[other->choice]) == SPW_DROP))
            spw_cover_set(s->cover, other, choice, choices);
}

static void change(struct search *s, uint8_t *choices)
{
    if (spw_random_fraction(&s->random) < s->ruins && s->useful_count) {
        ruin(s, choices);
        return;
    }
    const struct spw_gap *gap = pick(s);
    const uint8_t was = SPW_CHOICE(choices[gap->choice]);
    if (was == SPW_DROP && !gap->is_end && spw_random_below(&s->random, 8) == 0) {
        choices[gap->choice] = SPW_DROP_EARLY(spw_random_below(&s->random, 4));
        return;
    }
    set(s, gap, other_choice(s, gap, was), choices);
    const size_t kind = spw_random_below(&s->random, 8);
    if (kind < 4)
        return;
    /* another gap nearby takes the place of this one, or does the same */
    for (int tries = 0; tries < 20; tries++) {
        const struct spw_gap *other = pick(s);
        if (other == gap || other->is_end || gap->is_end || (SPW_CHOICE(choices[other->choice]) == was) == (kind < 7))
            continue;
        const uint8_t wanted = kind < 7 ? was : SPW_CHOICE(choices[gap->choice]);
        if ((wanted == SPW_SWAP && other->copy_us < 0) || (wanted == SPW_DROP && other->replay_us < 0))
            continue;
        set(s, other, wanted, choices);
        return;
    }
}

static int improve(struct search *s)
{
    int r = 0;
    for (double now = elapsed(s); now < s->limit_s && r == 0 && s->movable_count; now = elapsed(s)) {
        if (s->best_us <= s->bound_us * (1 + 1e-9))
            break;
        const double left = 1 - now / s->limit_s;
        memcpy(s->trial, s->choices, s->choice_count);
        change(s, s->trial);
        const double cost = judge_repaired(s, s->trial, &r);
        const double slack = s->cost >= NOT_VALID ? 0
                                                  : s->heat * left * left * (s->cost - s->bound_us) *
                                                        -log(spw_random_fraction(&s->random) + 1e-12);
        if (cost > s->cost + slack)
            continue;
        s->cost = cost;
        memcpy(s->choices, s->trial, s->choice_count);
    }
    return r;
}

/* ---- a search's life ---- */

static void finish(struct search *s)
{
    spw_composer_destroy(s->composer);
    spw_cover_destroy(s->cover);
    spw_prefetcher_destroy(s->prefetcher);
    spw_timer_destroy(s->timer);
    spw_schedule_finish(&s->schedule);
    free(s->choices);
    free(s->trial);
    free(s->movable);
}

static double default_limit_s(const struct spw_graph *graph)
{
    const double wanted = 0.0025 * (double)graph->op_count;
    return wanted < 0.15 ? 0.15 : wanted > 90 ? 90 : wanted;
}

static int init(struct search *s, const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    *s = (struct search){
        .request = request, .graph = request->graph, .best = schedule, .best_us = INFINITY, .cost = INFINITY};
    s->bound_us = s->graph->compute_us;
    s->heat = 0.001;
    s->ruins = 0.5;
    s->lane_weight = 1e-3;
    s->random = request->seed;
    s->choice_count = spw_choice_count(s->graph);
    s->limit_s = request->time_limit_s > 0 ? request->time_limit_s : default_limit_s(s->graph);
    s->most_evaluations = 1 + (uint64_t)(s->limit_s * 4e6 / (double)(s->graph->op_count + 50));
    s->begun_s = request->now_s ? request->now_s(request->now_context) : 0;
    s->choices = malloc(s->choice_count + 1);
    s->trial = malloc(s->choice_count + 1);
    int r = s->choices && s->trial ? 0 : -ENOMEM;
    if (r == 0)
        r = spw_schedule_init(&s->schedule, s->graph);
    if (r == 0)
        r = spw_composer_create(request, &s->composer);
    if (r == 0)
        r = spw_cover_create(request, &s->cover);
    if (r == 0)
        r = spw_prefetcher_create(s->graph, &s->prefetcher);
    if (r == 0)
        r = spw_timer_create(s->graph, &request->machine, &s->timer);
    if (r == 0)
        s->gap_count = spw_cover_gaps(s->cover, &s->gaps);
    if (r == 0)
        r = find_movable(s);
    return r;
}

int spw_plan_auto(const struct spw_plan_request *request, struct spw_schedule *schedule)
{
    struct search s;
    int r = init(&s, request, schedule);
    if (r == 0)
        r = begin_with_covers(&s);
    if (r == 0)
        r = improve(&s);
    finish(&s);
    return r < 0 ? r : s.best_us < INFINITY ? 0 : -ENOSPC;
}
