/* plan_run.c - makes one plan after the other: plans, times, checks, and tries it with other durations. */
#include "plan_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bounds/bounds.h"
#include "plan/check.h"
#include "progress.h"
#include "see.h"

#define FREE 1.005 /* times the duration of the operations: below that, another plan can gain nothing */

static double now_s(void *context)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct spw_plan_request request_of(const struct plan_wish *wish, uint64_t device_bytes)
{
    return (struct spw_plan_request){.graph = wish->graph,
                                     .device_bytes = device_bytes,
                                     .host_bytes = wish->host_bytes,
                                     .may_copy = wish->may_copy,
                                     .may_replay = wish->may_replay,
                                     .machine = wish->machine,
                                     .seed = wish->seed,
                                     .time_limit_s = wish->time_limit_s,
                                     .now_s = wish->by_clock ? now_s : NULL};
}

/* Returns the machine as spw_plan_make() sets it. */
static struct spw_machine machine_of(const struct plan_wish *wish)
{
    struct spw_machine machine = wish->machine;
    machine.host_bytes = wish->host_bytes;
    return machine;
}

int plan_wish_for(struct iteration *it, uint64_t granule_bytes, struct plan_wish *wish)
{
    static const uint64_t in_one_piece = (uint64_t)1 << 60;
    wish->graph = it->graph;
    if (wish->machine.duplex == 0)
        wish->machine.duplex = it->machine.duplex;
    if (wish->machine.chunk_bytes == 0 && it->machine.move_us > 0) {
        wish->machine.chunk_bytes = in_one_piece;
        wish->machine.chunk_us = it->machine.move_us;
    }
    if (it->machine.granule_bytes)
        wish->own = (struct spw_own){.granule_bytes = granule_bytes ? granule_bytes : it->machine.granule_bytes,
                                     .slab_bytes = it->machine.slab_bytes};
    if (granule_bytes)
        return spw_graph_round_up(it->graph, granule_bytes, 0);
    const uint64_t half = it->machine.granule_bytes / 2; /* smaller tensors share granules */
    return spw_graph_round_up(it->graph, it->machine.granule_bytes, half);
}

/* ---- trials with other durations ---- */

static double random_share(uint64_t *state) /* -1 .. 1; splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

/* Makes one trial on `shaken`, a graph with tensors and operations of its own. Sets the ratio to the same durations with
 * unlimited memory. */
static int try_once(const struct plan_wish *wish, const struct plan_outcome *outcome, struct spw_graph *shaken,
                    uint64_t *state, double *ret_ratio)
{
    const struct spw_graph *graph = wish->graph;
    const struct spw_machine machine = machine_of(wish);
    struct spw_timing timing;
    shaken->compute_us = 0;
    for (uint32_t i = 0; i < graph->op_count; i++) {
        shaken->ops[i].us = graph->ops[i].us * (1 + wish->jitter * random_share(state));
        shaken->compute_us += shaken->ops[i].us;
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        shaken->tensors[i].d2h_us = graph->tensors[i].d2h_us * (1 + wish->jitter * random_share(state));
        shaken->tensors[i].h2d_us = graph->tensors[i].h2d_us * (1 + wish->jitter * random_share(state));
    }
    const int r = spw_timeline(shaken, &outcome->plan.schedule, &machine, outcome->rest_bytes, NULL, &timing, NULL);
    *ret_ratio = shaken->compute_us > 0 ? timing.time_us / shaken->compute_us : 1;
    return r;
}

static int shake(const struct plan_wish *wish, struct plan_outcome *outcome)
{
    enum { TRIALS = 20 };
    struct spw_graph shaken = *wish->graph;
    shaken.ops = malloc(((size_t)shaken.op_count + 1) * sizeof *shaken.ops);
    shaken.tensors = malloc(((size_t)shaken.tensor_count + 1) * sizeof *shaken.tensors);
    int r = shaken.ops && shaken.tensors ? 0 : -ENOMEM;
    if (r == 0) {
        memcpy(shaken.ops, wish->graph->ops, shaken.op_count * sizeof *shaken.ops);
        memcpy(shaken.tensors, wish->graph->tensors, shaken.tensor_count * sizeof *shaken.tensors);
    }
    struct plan_jitter jitter = {0};
    uint64_t state = wish->seed;
    for (; jitter.trials < TRIALS && r == 0; jitter.trials++) {
        double ratio;
        r = try_once(wish, outcome, &shaken, &state, &ratio);
        jitter.mean += ratio / TRIALS;
        jitter.worst = fmax(jitter.worst, ratio);
    }
    free(shaken.ops);
    free(shaken.tensors);
    outcome->jitter = jitter;
    return r;
}

/* ---- one plan ---- */

/* Times each step, and checks what every plan that is shown has to meet: the checker accepts it. Costs other than those
 * of the iteration only delay later steps, so the starts are valid without these costs too. */
static int time_and_check(const struct plan_wish *wish, struct plan_outcome *outcome)
{
    const struct spw_schedule *schedule = &outcome->plan.schedule;
    const struct spw_machine machine = machine_of(wish);
    const struct spw_check_rules rules = {outcome->rest_bytes, wish->host_bytes, wish->may_replay, wish->may_copy, false};
    struct spw_check check;
    free(outcome->start_us);
    outcome->start_us = malloc((schedule->count + 1) * sizeof *outcome->start_us);
    struct spw_timed_step *events = malloc((schedule->count + 1) * sizeof *events);
    int r = outcome->start_us && events ? 0 : -ENOMEM;
    if (r == 0)
        r = spw_timeline(wish->graph, schedule, &machine, outcome->rest_bytes, outcome->start_us, &outcome->plan.timing,
                         NULL);
    for (size_t i = 0; i < schedule->count && r == 0; i++)
        events[i] = (struct spw_timed_step){schedule->steps[i].kind, schedule->steps[i].id, outcome->start_us[i]};
    if (r == 0)
        r = spw_check_events(wish->graph, schedule->start, events, schedule->count, &rules, &check);
    free(events);
    if (r == 0 && check.fault != SPW_FAULT_NONE) {
        fprintf(
            stderr,
            "spillway: the plan of %s for %llu bytes is wrong, which is a mistake of spillway's: event %zu: %s: %s" SPW_SEE(
                "mistake") "\n",
            outcome->planner->name, (unsigned long long)outcome->budget_bytes, check.event, spw_fault_name(check.fault),
            check.message);
        return -EBADMSG;
    }
    return r == 0 || r == -ENOMEM ? r : -EBADMSG;
}

/* Takes the plan's bound if the plan was made with the whole budget; else computes it. */
static int find_bound(const struct plan_wish *wish, uint64_t planned_with, struct plan_outcome *outcome)
{
    struct spw_bounds bounds = {.best_us = outcome->plan.lower_bound_us, .best = outcome->plan.bound};
    const struct spw_bounds_terms terms = {.duplex = wish->machine.duplex};
    const int r =
        outcome->result == 0 && planned_with == outcome->rest_bytes
            ? 0
            : spw_bounds_within(wish->graph, outcome->rest_bytes, wish->may_copy, wish->may_replay, &terms, &bounds);
    outcome->lower_bound_us = bounds.best_us;
    outcome->bound = bounds.best;
    return r;
}

/* Returns true if everything fits: then nothing moves, and a run needs nothing for itself. */
static bool fits(const struct plan_wish *wish, uint64_t budget_bytes)
{
    return !wish->own.granule_bytes || wish->graph->peak_bytes <= budget_bytes;
}

/* Makes a plan as a run does: a share of the rest is left unused, unless there would be no plan then. */
static int make_as_run(const struct plan_wish *wish, struct plan_outcome *outcome, uint64_t *ret_planned_with)
{
    const bool is_ample = fits(wish, outcome->budget_bytes);
    outcome->rest_bytes =
        is_ample ? outcome->budget_bytes : spw_own_rest(&wish->own, outcome->budget_bytes, wish->may_replay);
    *ret_planned_with =
        is_ample ? outcome->rest_bytes : spw_own_to_plan_with(wish->graph, outcome->rest_bytes, SPW_FIRST_RESERVE);
    struct spw_plan_request request = request_of(wish, *ret_planned_with);
    int r = spw_plan_make(outcome->planner, &request, &outcome->plan);
    if (r == -ENOSPC && *ret_planned_with < outcome->rest_bytes) {
        *ret_planned_with = request.device_bytes = outcome->rest_bytes;
        r = spw_plan_make(outcome->planner, &request, &outcome->plan);
    }
    return r;
}

/* Makes a plan of copies alone, which may use more of the budget. If a brief search shows that it would hardly take less
 * than `than_us`, it is not searched for thoroughly; the result is then -ENOSPC, as if there were none. */
static int make_of_copies(const struct plan_wish *wish, double than_us, struct plan_outcome *outcome,
                          uint64_t *ret_planned_with)
{
    static const double brief_s = 0.02, search_gains = 1.03;
    struct plan_wish copies = *wish;
    copies.may_replay = false;
    if (copies.time_limit_s <= 0 || copies.time_limit_s > brief_s)
        copies.time_limit_s = brief_s;
    int r = make_as_run(&copies, outcome, ret_planned_with);
    if (r < 0)
        return r;
    const bool is_near = outcome->plan.timing.time_us < search_gains * than_us;
    spw_plan_finish(&outcome->plan);
    copies.time_limit_s = wish->time_limit_s;
    return is_near ? make_as_run(&copies, outcome, ret_planned_with) : -ENOSPC;
}

/* Takes the faster of both plans: a run stays with its plan of copies alone as long as no other is faster. */
static int make_best(const struct plan_wish *wish, struct plan_outcome *outcome, uint64_t *ret_planned_with)
{
    struct plan_outcome other = *outcome;
    uint64_t planned_with;
    outcome->result = make_as_run(wish, outcome, ret_planned_with);
    if (outcome->result == -ENOMEM)
        return -ENOMEM;
    const double time_us = outcome->result == 0 ? outcome->plan.timing.time_us : INFINITY;
    const bool is_alone = !wish->may_replay || !wish->may_copy || fits(wish, outcome->budget_bytes) ||
                          time_us <= FREE * wish->graph->compute_us;
    other.result = is_alone ? -ENOSPC : make_of_copies(wish, time_us, &other, &planned_with);
    if (other.result == 0 && other.plan.timing.time_us < time_us) {
        const struct plan_outcome worse = *outcome;
        *outcome = other;
        *ret_planned_with = planned_with;
        other = worse;
    }
    if (other.result == 0)
        spw_plan_finish(&other.plan);
    return other.result == -ENOMEM ? -ENOMEM : 0;
}

int plan_make(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t budget_bytes,
              struct plan_outcome *ret_outcome)
{
    struct plan_outcome outcome = {.planner = planner, .budget_bytes = budget_bytes};
    const double begun_s = now_s(NULL);
    uint64_t planned_with = 0;
    int r = make_best(wish, &outcome, &planned_with);
    outcome.planning_s = now_s(NULL) - begun_s;
    if (r == 0)
        r = find_bound(wish, planned_with, &outcome);
    if (r == 0 && outcome.result == 0) {
        r = time_and_check(wish, &outcome);
        if (r == 0 && wish->jitter > 0)
            r = shake(wish, &outcome);
    }
    if (r < 0)
        plan_outcome_finish(&outcome);
    else
        *ret_outcome = outcome;
    return r;
}

void plan_outcome_finish(struct plan_outcome *outcome)
{
    if (outcome->result == 0)
        spw_plan_finish(&outcome->plan);
    free(outcome->start_us);
    outcome->start_us = NULL;
}

/* Finds the least bytes for tensors, and the budget that leaves that many. Returns 0 or -ENOMEM; *ret_bytes is 0 if there
 * is no plan. */
static int smallest(const struct plan_wish *wish, const struct spw_planner *planner, bool may_replay, uint64_t *ret_bytes)
{
    struct spw_plan_request request = request_of(wish, wish->graph->peak_bytes);
    request.may_replay = may_replay;
    request.time_limit_s = 0.001; /* it is known before the search begins whether there is a plan */
    request.now_s = now_s;
    const int r = spw_plan_smallest(planner, &request, ret_bytes, NULL);
    const uint64_t peak_bytes = wish->graph->peak_bytes;
    if (r < 0)
        *ret_bytes = 0;
    else if (*ret_bytes < peak_bytes)
        *ret_bytes = spw_own_budget_for(&wish->own, *ret_bytes, may_replay);
    if (r == 0 && *ret_bytes > peak_bytes && peak_bytes >= wish->graph->least_bytes)
        *ret_bytes = peak_bytes; /* if nothing moves */
    return r == -ENOMEM ? r : 0;
}

int plan_smallest(const struct plan_wish *wish, const struct spw_planner *planner, uint64_t *ret_bytes)
{
    uint64_t copies_bytes = 0;
    int r = smallest(wish, planner, wish->may_replay, ret_bytes);
    if (r == 0 && wish->own.granule_bytes && wish->may_replay && wish->may_copy)
        r = smallest(wish, planner, false, &copies_bytes);
    if (copies_bytes && copies_bytes < *ret_bytes)
        *ret_bytes = copies_bytes;
    return r;
}

/* ---- several plans ---- */

void plan_outcomes_finish(struct plan_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->count; i++)
        plan_outcome_finish(&outcomes->list[i]);
    free(outcomes->list);
    *outcomes = (struct plan_outcomes){0};
}

/* Gives `outcome` the plan of `less`, which is for a smaller budget. */
static int take_over(const struct plan_wish *wish, struct plan_outcome *outcome, const struct plan_outcome *less)
{
    if (outcome->result < 0) {
        const int r = spw_schedule_init(&outcome->plan.schedule, wish->graph);
        if (r < 0)
            return r;
        outcome->result = 0;
        outcome->plan.planner = outcome->planner;
    }
    if (outcome->rest_bytes < less->rest_bytes) /* that plan only copies, and may use more for it */
        outcome->rest_bytes = less->rest_bytes;
    int r = spw_schedule_copy(&outcome->plan.schedule, &less->plan.schedule, wish->graph);
    if (r == 0)
        r = time_and_check(wish, outcome);
    if (r == 0 && wish->jitter > 0)
        r = shake(wish, outcome);
    return r;
}

/* Computes the budgets of the curve: shares of the peak above the smallest budget, then that budget; none twice. */
static size_t budgets_of(uint64_t peak, uint64_t smallest, double step_share, uint64_t *budgets, size_t room)
{
    size_t count = 0;
    for (double share = 1; share > step_share / 2 && count + 1 < room; share -= step_share) {
        const uint64_t budget = (uint64_t)llround((double)peak * share);
        if (budget <= smallest)
            break;
        budgets[count++] = budget;
    }
    budgets[count++] = smallest;
    return count;
}

int plan_sweep(const struct plan_wish *wish, const struct spw_planner *planner, double step_share,
               struct plan_outcomes *ret_outcomes)
{
    enum { MOST = 128 };
    uint64_t budgets[MOST], smallest;
    int r = plan_smallest(wish, planner, &smallest);
    if (r < 0)
        return r;
    const size_t count =
        budgets_of(wish->graph->peak_bytes, smallest ? smallest : wish->graph->peak_bytes, step_share, budgets, MOST);
    struct plan_outcomes outcomes = {.list = calloc(count, sizeof *outcomes.list)};
    if (!outcomes.list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        outcomes.list[i].result = -ENOSPC;
    outcomes.count = count;
    for (size_t i = count; i-- > 0 && r == 0;) { /* from the smallest up */
        struct plan_outcome *outcome = &outcomes.list[i], *less = i + 1 < count ? outcome + 1 : NULL;
        progress_show("planning", count - 1 - i, count);
        r = plan_make(wish, planner, budgets[i], outcome);
        if (r == 0 && less && less->result == 0 &&
            (outcome->result < 0 || outcome->plan.timing.time_us > less->plan.timing.time_us))
            r = take_over(wish, outcome, less);
        outcome->smallest_bytes = smallest;
    }
    progress_end();
    if (r < 0)
        plan_outcomes_finish(&outcomes);
    else
        *ret_outcomes = outcomes;
    return r;
}

int plan_compare(const struct plan_wish *wish, const uint64_t *budgets, size_t budget_count,
                 struct plan_outcomes *ret_outcomes)
{
    size_t planners = 0;
    while (spw_planners[planners].name)
        planners++;
    struct plan_outcomes outcomes = {.list = calloc(planners * budget_count + 1, sizeof *outcomes.list)};
    if (!outcomes.list)
        return -ENOMEM;
    int r = 0;
    for (size_t p = 0; p < planners && r == 0; p++) {
        uint64_t smallest;
        r = plan_smallest(wish, &spw_planners[p], &smallest);
        for (size_t i = 0; i < budget_count && r == 0; i++) {
            progress_show("planning", outcomes.count, planners * budget_count);
            r = plan_make(wish, &spw_planners[p], budgets[i], &outcomes.list[outcomes.count]);
            if (r == 0)
                outcomes.list[outcomes.count++].smallest_bytes = smallest;
        }
    }
    progress_end();
    if (r < 0)
        plan_outcomes_finish(&outcomes);
    else
        *ret_outcomes = outcomes;
    return r;
}
