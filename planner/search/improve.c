/* improve.c - a local search over choices (plan/choice.h).
 *
 * It starts from the best of several covers. A step changes one choice, exchanges two, or takes some evictions back and
 * covers anew what is then short (large neighbourhood search, Shaw 1998; improve_moves.c). A change is accepted if the
 * time line says that it is better, or, at first, not much worse (threshold accepting, Dueck and Scheuer 1990). Every
 * schedule that is judged is valid and within the budget. */
#include "search/improve.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds/bounds.h"
#include "plan/random.h"
#include "search/derive.h"
#include "search/improve_parts.h"

#define NOT_VALID 1e20 /* above all times */

/* Shares and weights of the search, found by trial on the graphs in tests/graphs. */
#define HEAT        0.001 /* how much worse is accepted at first, as a share of the time above the bound */
#define LANE_WEIGHT 1e-3  /* of a us of copying, in us */
#define LEAD        0.05  /* by which copies in are early, as a share of their length */

enum { BEGINNINGS = 4 }; /* number of beginnings that are searched from in turn */

double spw_effort_used(const struct spw_effort *effort, const struct spw_plan_request *request)
{
    const double work = (double)effort->evaluations / (double)effort->limit;
    const double now_s = request->now_s ? request->now_s(request->now_context) : 0;
    if (now_s == INFINITY)
        return INFINITY; /* the caller has cancelled the search */
    if (effort->limit_s <= 0 || !request->now_s)
        return work;
    return (now_s - effort->begun_s) / effort->limit_s;
}

/* ---- judging ---- */

static int take_best(struct spw_improver *s, const uint8_t *choices, double time_us)
{
    const int r = spw_schedule_copy(&s->best, &s->schedule, s->graph);
    if (r < 0)
        return r;
    s->best_us = time_us;
    s->is_offered = false;
    memcpy(s->best_choices, choices, s->choice_count);
    return 0;
}

/* Returns the time of a set of choices, plus a little for the lanes' traffic, so that the one that moves less wins among
 * equals. Without a valid result: above NOT_VALID. Above `limit`, the value may be too low. -ENOMEM is stored in
 * ret_error. */
static double judge(struct spw_improver *s, uint8_t *choices, double limit, int *ret_error)
{
    struct spw_timing timing = {0};
    struct spw_composed composed;
    *ret_error = 0;
    s->effort->evaluations++;
    int r = spw_compose(s->composer, choices, &s->schedule, &composed);
    const double work_us = s->graph->compute_us + composed.replayed_us;
    if (r == 0 && work_us > limit)
        return work_us;
    if (composed.is_kept && !isnan(s->kept_us))
        return s->kept_us;
    if (r == 0) {
        r = spw_prefetch(s->prefetcher, &s->schedule, s->request.device_bytes, NULL, LEAD);
        r = r == -EINVAL ? 0 : r;
    }
    if (r == 0)
        r = spw_timer_run_within(s->timer, &s->schedule, s->request.device_bytes, work_us, limit, &timing);
    if (r == -ETIME)
        return INFINITY;
    if (r == 0 && timing.time_us < s->best_us)
        r = take_best(s, choices, timing.time_us);
    *ret_error = r == -ENOMEM ? r : 0;
    if (r < 0)
        return NOT_VALID * (double)(s->graph->op_count - composed.op); /* less if more operations were composed */
    const double lanes_us =
        (double)timing.d2h_bytes / s->graph->d2h_bytes_per_us + (double)timing.h2d_bytes / s->graph->h2d_bytes_per_us;
    return timing.time_us + LANE_WEIGHT * lanes_us;
}

/* Continues from the choices judged last. */
static void stand_at(struct spw_improver *s, const uint8_t *choices, double cost)
{
    s->cost = cost;
    if (choices != s->choices)
        memcpy(s->choices, choices, s->choice_count);
    s->kept_us = spw_composer_keep(s->composer) ? cost : s->kept_us;
}

/* ---- beginning ---- */

static void clear(struct spw_improver *s, uint8_t leaves)
{
    memset(s->trial, SPW_KEEP, s->choice_count);
    for (size_t i = 0; i < s->gap_count; i++)
        if (s->gaps[i].is_leaf)
            s->trial[s->gaps[i].choice] = leaves;
}

static size_t leaf_variants(const struct spw_improver *s)
{
    for (size_t i = 0; i < s->gap_count; i++)
        if (s->gaps[i].is_leaf)
            return 3;
    return 1;
}

/* Judges the cover twice: where memory was short all the same, the second composition evicts in good time what the first
 * one evicted late. */
static int judge_cover(struct spw_improver *s, double price)
{
    int r = 0;
    for (int again = 0; again < 2 && r == 0; again++) {
        const double cost = judge(s, s->trial, INFINITY, &r);
        if (cost >= s->cost)
            continue;
        s->price = price;
        stand_at(s, s->trial, cost);
    }
    return r;
}

int spw_improver_cover(struct spw_improver *improver)
{
    static const double prices[] = {0.1, 0.2, 0.05, 0, 1, 0.01, 0.02, 0.035, 0.07, 0.14, 0.28, 0.4, 0.6, 2, 100};
    static const uint8_t leaves[] = {SPW_KEEP, SPW_RETAIN, SPW_STORE};
    struct spw_improver *s = improver;
    const size_t variants = leaf_variants(s);
    int r = 0;
    for (size_t i = 0; i < variants * (sizeof prices / sizeof prices[0]) && r == 0; i++) {
        const struct spw_cover_terms terms = {.lane_price = prices[i / variants]};
        if (s->best_us < INFINITY && spw_effort_used(s->effort, &s->request) >= 1)
            break;
        clear(s, leaves[i % variants]);
        spw_cover_complete(s->cover, &terms, s->trial);
        r = judge_cover(s, terms.lane_price);
    }
    return r;
}

/* ---- searching ---- */

/* Remembers the current choices, so that parts of them can be tried elsewhere. */
static void remember(struct spw_improver *s)
{
    if (s->cost < NOT_VALID)
        spw_elites_add(&s->elites, s->choices, s->cost);
}

/* Continues from choices that are some changes away from the best, or, every other time, from the current ones (iterated
 * local search, Lourenco, Martin and Stuetzle 2003). */
static int kick(struct spw_improver *s)
{
    int r = 0;
    const size_t changes = 2 + spw_random_below(&s->random, 7);
    if (s->best_us < INFINITY && !s->is_offered && spw_random_below(&s->random, 2))
        memcpy(s->choices, s->best_choices, s->choice_count);
    for (size_t i = 0; i < changes; i++)
        spw_moves_change(s, s->choices);
    stand_at(s, s->choices, judge(s, s->choices, INFINITY, &r));
    return r;
}

static bool is_optimal(const struct spw_improver *s)
{
    return s->best_us <= s->bound_us * (1 + 1e-9);
}

int spw_improver_search(struct spw_improver *improver, double until, uint64_t patience)
{
    struct spw_improver *s = improver;
    int r = 0;
    double best_us = s->best_us;
    uint64_t found = s->effort->evaluations, kicked = found;
    const uint64_t calm = 400 + 4 * s->movable_count; /* evaluations without success before a kick */
    for (double used = spw_effort_used(s->effort, &s->request); used < until && r == 0 && s->movable_count;
         used = spw_effort_used(s->effort, &s->request)) {
        if (s->best_us < best_us) {
            best_us = s->best_us;
            found = kicked = s->effort->evaluations;
        }
        if (is_optimal(s) || s->effort->evaluations - found > patience)
            break;
        if (s->effort->evaluations - kicked > calm) {
            kicked = s->effort->evaluations;
            remember(s);
            r = kick(s);
            continue;
        }
        const double left = used < 1 ? 1 - used : 0;
        const double heat = s->cost >= NOT_VALID ? 0 : HEAT * left * left * (s->cost - s->bound_us);
        const double slack = heat * -log(spw_random_fraction(&s->random) + 1e-12);
        memcpy(s->trial, s->choices, s->choice_count);
        spw_moves_change(s, s->trial);
        const double cost = judge(s, s->trial, s->cost + slack, &r);
        if (cost > s->cost + slack)
            continue;
        stand_at(s, s->trial, cost);
    }
    return r;
}

/* Begins with another cover, at about the price of the best one, with random errors in the costs. */
static int begin_anew(struct spw_improver *s)
{
    static const uint8_t leaves[] = {SPW_KEEP, SPW_RETAIN, SPW_STORE};
    const struct spw_cover_terms terms = {.lane_price = s->price * exp(2 * spw_random_fraction(&s->random) - 1),
                                          .spread = 0.2 + 0.6 * spw_random_fraction(&s->random),
                                          .random = &s->random};
    int r = 0;
    clear(s, leaves[spw_random_below(&s->random, leaf_variants(s))]);
    spw_cover_complete(s->cover, &terms, s->trial);
    stand_at(s, s->trial, judge(s, s->trial, INFINITY, &r));
    return r;
}

static int return_to_best(struct spw_improver *s)
{
    int r = 0;
    if (s->best_us == INFINITY || s->is_offered)
        return 0;
    memcpy(s->trial, s->best_choices, s->choice_count);
    stand_at(s, s->trial, judge(s, s->trial, INFINITY, &r));
    return r;
}

int spw_improver_explore(struct spw_improver *improver, double until)
{
    struct spw_improver *s = improver;
    const double from = spw_effort_used(s->effort, &s->request);
    int r = 0;
    for (int i = 0; i < BEGINNINGS && r == 0 && spw_effort_used(s->effort, &s->request) < until; i++) {
        if (is_optimal(s))
            return 0;
        if (i > 0)
            r = begin_anew(s);
        if (r == 0)
            r = spw_improver_search(s, from + (until - from) * (i + 1) / BEGINNINGS, UINT64_MAX);
        remember(s);
    }
    return r < 0 ? r : return_to_best(s);
}

/* ---- budgets ---- */

static int set_budget(struct spw_improver *s, uint64_t device_bytes)
{
    const struct spw_bounds_terms terms = {s->request.machine.duplex, s->request.bound_limit_s, s->request.now_s,
                                           s->request.now_context};
    struct spw_bounds bounds = {.best_us = s->request.bound_us};
    s->request.device_bytes = device_bytes;
    s->kept_us = NAN;
    spw_cover_destroy(s->cover);
    s->cover = NULL;
    int r = spw_cover_create(&s->request, &s->cover);
    if (r == 0 && !(s->request.bound_us > 0))
        r = spw_bounds_within(s->graph, device_bytes, s->request.may_copy, s->request.may_replay, &terms, &bounds);
    if (r < 0)
        return r;
    s->bound_us = bounds.best_us;
    s->gap_count = spw_cover_gaps(s->cover, &s->gaps);
    return spw_moves_find(s);
}

int spw_improver_raise(struct spw_improver *improver, uint64_t device_bytes)
{
    struct spw_improver *s = improver;
    struct spw_timing timing;
    s->request.bound_us = 0; /* it was one for the previous budget */
    int r = set_budget(s, device_bytes);
    if (r == 0 && s->best_us < INFINITY) { /* with more memory the best schedule waits less */
        r = spw_timer_run(s->timer, &s->best, device_bytes, NULL, &timing, NULL);
        if (r == 0 && timing.time_us < s->best_us)
            s->best_us = timing.time_us;
    }
    if (r < 0)
        return r;
    memcpy(s->trial, s->choices, s->choice_count);
    stand_at(s, s->trial, judge(s, s->trial, INFINITY, &r));
    return r;
}

/* ---- the best schedule ---- */

/* Takes the choices that come closest to the schedule, if they lead to something better than the current ones. */
static int follow_offer(struct spw_improver *s, const struct spw_schedule *schedule)
{
    int r = spw_derive_choices(s->graph, schedule, s->trial);
    return r < 0 ? r : judge_cover(s, s->price);
}

int spw_improver_offer(struct spw_improver *improver, const struct spw_schedule *schedule)
{
    struct spw_timing timing;
    int r = spw_timer_run(improver->timer, schedule, improver->request.device_bytes, NULL, &timing, NULL);
    if (r == 0)
        r = follow_offer(improver, schedule);
    if (r < 0 || timing.time_us >= improver->best_us)
        return r == -ENOMEM ? r : 0;
    r = spw_schedule_copy(&improver->best, schedule, improver->graph);
    if (r == 0) {
        improver->best_us = timing.time_us;
        improver->is_offered = true;
    }
    return r;
}

int spw_improver_begin_with(struct spw_improver *improver, const uint8_t *choices)
{
    struct spw_improver *s = improver;
    int r = 0;
    memcpy(s->trial, choices, s->choice_count);
    for (int again = 0; again < 2 && r == 0; again++) { /* as for covers */
        const double cost = judge(s, s->trial, INFINITY, &r);
        if (cost < NOT_VALID)
            spw_elites_add(&s->elites, s->trial, cost);
        if (cost < s->cost)
            stand_at(s, s->trial, cost);
    }
    return r;
}

int spw_improver_choices(const struct spw_improver *improver, uint8_t *ret_choices)
{
    if (improver->is_offered)
        return spw_derive_choices(improver->graph, &improver->best, ret_choices);
    memcpy(ret_choices, improver->best_choices, improver->choice_count);
    return 0;
}

double spw_improver_best(const struct spw_improver *improver, const struct spw_schedule **ret_schedule)
{
    *ret_schedule = &improver->best;
    return improver->best_us;
}

int spw_improver_polish(struct spw_improver *improver)
{
    static const double leads[] = {2, 1, 0.5, 0.25, 0.1};
    struct spw_improver *s = improver;
    struct spw_composed composed;
    struct spw_timing timing;
    int r = 0;
    for (size_t i = 0; i < sizeof leads / sizeof leads[0] && r == 0 && s->best_us < INFINITY && !s->is_offered; i++) {
        memcpy(s->trial, s->best_choices, s->choice_count);
        r = spw_compose(s->composer, s->trial, &s->schedule, &composed);
        if (r == 0)
            r = spw_prefetch(s->prefetcher, &s->schedule, s->request.device_bytes, NULL, leads[i]);
        if (r == 0)
            r = spw_timer_run(s->timer, &s->schedule, s->request.device_bytes, NULL, &timing, NULL);
        if (r == 0 && timing.time_us <= s->best_us)
            return take_best(s, s->trial, timing.time_us);
        r = r == -ENOMEM ? r : 0;
    }
    return r;
}

/* ---- creating and destroying an improver ---- */

void spw_improver_destroy(struct spw_improver *improver)
{
    struct spw_improver *s = improver;
    if (!s)
        return;
    spw_composer_destroy(s->composer);
    spw_cover_destroy(s->cover);
    spw_prefetcher_destroy(s->prefetcher);
    spw_timer_destroy(s->timer);
    spw_schedule_finish(&s->schedule);
    spw_schedule_finish(&s->best);
    free(s->choices);
    free(s->trial);
    free(s->best_choices);
    free(s->movable);
    spw_elites_finish(&s->elites);
    free(s);
}

int spw_improver_create(const struct spw_plan_request *request, struct spw_effort *effort,
                        struct spw_improver **ret_improver)
{
    struct spw_improver *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->request = *request;
    s->graph = request->graph;
    s->effort = effort;
    s->best_us = s->cost = INFINITY;
    s->random = request->seed;
    s->choice_count = spw_choice_count(s->graph);
    s->choices = calloc(s->choice_count + 1, 1);
    s->trial = malloc(s->choice_count + 1);
    s->best_choices = malloc(s->choice_count + 1);
    int r = s->choices && s->trial && s->best_choices ? spw_elites_init(&s->elites, s->choice_count) : -ENOMEM;
    if (r == 0)
        r = spw_schedule_init(&s->schedule, s->graph);
    if (r == 0)
        r = spw_schedule_init(&s->best, s->graph);
    if (r == 0)
        r = spw_composer_create(&s->request, &s->composer);
    if (r == 0)
        r = spw_prefetcher_create(s->graph, &s->prefetcher);
    if (r == 0)
        r = spw_timer_create(s->graph, &request->machine, &s->timer);
    if (r == 0)
        r = set_budget(s, request->device_bytes);
    if (r < 0)
        spw_improver_destroy(s);
    else
        *ret_improver = s;
    return r;
}
