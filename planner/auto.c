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

struct search {
    const struct spw_plan_request *request;
    const struct spw_graph *graph;
    struct spw_composer *composer;
    struct spw_cover *cover;
    struct spw_prefetcher *prefetcher;
    struct spw_timer *timer;
    const struct spw_gap *gaps;
    size_t gap_count, choice_count;
    uint8_t *choices, *trial; /* where the search stands, and one that is looked at */
    double cost, lane_weight;
    struct spw_schedule schedule; /* of the one that is looked at */
    struct spw_schedule *best;
    double best_us, bound_us;
    double begun_s, limit_s;
    uint64_t evaluations, most_evaluations;
    uint64_t random;
};

static uint64_t next_random(struct search *s) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static size_t below(struct search *s, size_t limit)
{
    return (size_t)(((unsigned __int128)next_random(s) * limit) >> 64);
}

static double fraction(struct search *s)
{
    return (double)(next_random(s) >> 11) * 0x1p-53;
}

/* ---- judging ---- */

/* The time of a set of choices, and a little for what the lanes carry, so that of two alike the one that moves less wins.
 * INFINITY where nothing valid comes of it. -ENOMEM in ret_error. */
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
        return INFINITY;
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
    for (size_t i = 0; i < sizeof prices / sizeof prices[0] && r == 0; i++) {
        spw_cover_choose(s->cover, prices[i], s->trial);
        for (int again = 0; again < 2 && r == 0; again++) {
            const double cost = judge_repaired(s, s->trial, &r);
            if (cost >= s->cost)
                continue;
            s->cost = cost;
            memcpy(s->choices, s->trial, s->choice_count);
        }
    }
    return r;
}

/* ---- moving ---- */

static uint8_t other_choice(struct search *s, const struct spw_gap *gap, uint8_t now)
{
    uint8_t options[3];
    size_t count = 0;
    if (now != SPW_KEEP)
        options[count++] = SPW_KEEP;
    if (now != SPW_SWAP && gap->copy_us >= 0)
        options[count++] = SPW_SWAP;
    if (now != SPW_DROP && gap->replay_us >= 0)
        options[count++] = SPW_DROP;
    return count ? options[below(s, count)] : now;
}

static void change(struct search *s, uint8_t *choices)
{
    const struct spw_gap *gap = &s->gaps[below(s, s->gap_count)];
    const uint8_t was = choices[gap->choice];
    choices[gap->choice] = other_choice(s, gap, was);
    const size_t kind = below(s, 8);
    if (kind < 4)
        return;
    /* another gap nearby takes the place of this one, or does the same */
    for (int tries = 0; tries < 20; tries++) {
        const struct spw_gap *other = &s->gaps[below(s, s->gap_count)];
        if (other == gap || (choices[other->choice] == was) == (kind < 7))
            continue;
        const uint8_t wanted = kind < 7 ? was : choices[gap->choice];
        if ((wanted == SPW_SWAP && other->copy_us < 0) || (wanted == SPW_DROP && other->replay_us < 0))
            continue;
        choices[other->choice] = wanted;
        return;
    }
}

static int improve(struct search *s)
{
    int r = 0;
    const double spread = 0.004;
    for (double now = elapsed(s); now < s->limit_s && r == 0 && s->gap_count; now = elapsed(s)) {
        if (s->best_us <= s->bound_us * (1 + 1e-9))
            break;
        const double left = 1 - now / s->limit_s;
        memcpy(s->trial, s->choices, s->choice_count);
        change(s, s->trial);
        const double cost = judge_repaired(s, s->trial, &r);
        const double slack = spread * left * left * left * s->graph->compute_us * -log(fraction(s) + 1e-12) * 0.1;
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
    s->lane_weight = 1e-4;
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
