/* plan_tuning.c - makes plans for known iterations, tries them, and keeps or drops them. */
#include "plan_tuning.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bandwidth.h"
#include "check.h"
#include "log.h"
#include "mover.h"
#include "own_memory.h"
#include "plan/own.h"
#include "plan_stats.h"
#include "settings.h"
#include "slab.h"
#include "steptime.h"

enum {
    SMALL_COURSE = 2000, /* operations for which a first plan takes less time than the iteration */
    FIRST_TRIAL = 40,    /* iterations by the first plan before others are tried: short runs are not worth it */
    TRIAL = 10,          /* iterations by each of the others: the first ones still have what the plan before left */
    LOOK_EVERY = 16,     /* iterations between looks, once it is settled */
    STRAYED = 4,         /* looks that must agree before an iteration is given up */
};
static const double CLOSE = 1.02;  /* times the bound that no plan is below: nothing is left to gain by trying */
static const double LOSES = 1.05;  /* times what it takes on demand: the plan is judged at once */
static const double STRAYS = 1.15; /* times what it was */
static const double FAR =
    1.15; /* times the best plan: more or less memory does not make such a difference, so no other is tried */

/* The first plan's is in own.h; these are the second's, and the third's, if less was better and if it was not. */
static const double SECOND_RESERVE = 0.015, LESS_RESERVE = 0.0075, MORE_RESERVE = 0.05;

/* ---- states ---- */

static bool is_allowed(enum spw_tuning_state from, enum spw_tuning_state to)
{
    enum {
        U = 1 << SPW_TUNING_UNPLANNED,
        F = 1 << SPW_TUNING_FIRST,
        T = 1 << SPW_TUNING_TRYING,
        S = 1 << SPW_TUNING_SETTLED
    };
    static const unsigned from_which[] = {[SPW_TUNING_FIRST] = U | F | T | S,
                                          [SPW_TUNING_TRYING] = F | T | S,
                                          [SPW_TUNING_SETTLED] = F | T,
                                          [SPW_TUNING_STRAYED] = S};
    return from_which[to] >> from & 1;
}

static bool holds(const struct spw_tuned_iteration *tuned)
{
    switch (tuned->state) {
    case SPW_TUNING_UNPLANNED:
        return !tuned->number && !tuned->planning && !tuned->best && tuned->best_us == 0;
    case SPW_TUNING_FIRST:
        return !tuned->best && tuned->best_us == 0;
    case SPW_TUNING_TRYING:
        return tuned->best_us > 0;
    case SPW_TUNING_SETTLED:
    case SPW_TUNING_STRAYED:
        return !tuned->planning && !tuned->best && tuned->best_us > 0;
    }
    return false;
}

/* The only place where the state of an iteration changes, apart from its beginning and end. */
static void enter(struct spw_tuned_iteration *tuned, enum spw_tuning_state state)
{
    SPW_ASSERT(is_allowed(tuned->state, state), "an arrow of the drawing in plan_tuning.h");
    tuned->state = state;
    SPW_ASSERT(holds(tuned), "what plan_tuning.h says of the state");
}

/* ---- the list ---- */

struct spw_tuned_iteration *spw_tuned_iterations_find(struct spw_tuned_iterations *iterations, uint32_t id)
{
    for (unsigned i = 0; i < iterations->count; i++)
        if (iterations->list[i].course && iterations->list[i].id == id)
            return &iterations->list[i];
    return NULL;
}

static void stop_planning(struct spw_tuned_iteration *tuned)
{
    if (tuned->planning)
        spw_course_plan_destroy(spw_plan_thread_finish(tuned->planning, true));
    tuned->planning = NULL;
}

void spw_tuning_forget(struct spw_tuned_iteration *tuned)
{
    if (tuned->planning)
        spw_plan_thread_abandon_locked(tuned->planning);
    spw_course_plan_destroy(tuned->plan);
    spw_course_plan_destroy(tuned->best);
    spw_course_destroy(tuned->course);
    free(tuned->hopeless);
    *tuned = (struct spw_tuned_iteration){0};
}

static struct spw_tuned_iteration *free_place(struct spw_tuned_iterations *iterations, const struct spw_tuned_iteration *but)
{
    struct spw_tuned_iteration *oldest = NULL;
    for (unsigned i = 0; i < iterations->count; i++) {
        struct spw_tuned_iteration *s = &iterations->list[i];
        if (!s->course)
            return s;
        if (s != but && (!oldest || s->last_used < oldest->last_used))
            oldest = s;
    }
    if (iterations->count < SPW_ITERATION_SHAPES)
        return &iterations->list[iterations->count++];
    spw_tuning_forget(oldest);
    return oldest;
}

static uint64_t serials; /* numbers given so far, for all devices */

struct spw_tuned_iteration *spw_tuned_iterations_add(struct spw_tuned_iterations *iterations, uint32_t id,
                                                     struct spw_course *course, uint64_t now,
                                                     const struct spw_tuned_iteration *but)
{
    struct spw_course_plan *none = spw_course_plan_none(course);
    if (!none)
        return NULL;
    struct spw_tuned_iteration *tuned = free_place(iterations, but);
    *tuned = (struct spw_tuned_iteration){.id = id, .serial = ++serials, .course = course, .plan = none, .last_used = now};
    tuned->hopeless = calloc((size_t)course->op_count + 1, sizeof(bool));
    return tuned;
}

void spw_tuned_iterations_finish(struct spw_tuned_iterations *iterations)
{
    for (unsigned i = 0; i < iterations->count; i++)
        spw_tuning_forget(&iterations->list[i]);
}

void spw_tuned_iterations_stop(struct spw_tuned_iterations *iterations)
{
    for (unsigned i = 0; i < iterations->count; i++)
        stop_planning(&iterations->list[i]);
}

/* ---- making plans ---- */

/* Each device that is in use gets the same share of the host's memory. */
static uint64_t host_bytes_of_one(void)
{
    unsigned devices = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        devices += spw_devices[i].ready;
    return spw_host_memory_limit_locked() / (devices ? devices : 1);
}

/* A tensor that leaves and is brought in again has memory mapped twice: its old memory for the next owner, and its own.
 * Each mapping takes the host about 150 us on an H200, whatever the size (docs/decisions/039-a-move-costs-the-host.md).
 * That is put down to each copy, so that few large tensors are moved rather than many small ones. */
double spw_plan_move_us = 300;
bool spw_plan_need_not_win;

static void terms_of(const struct spw_device *d, const struct spw_tuned_iteration *tuned, double reserve,
                     struct spw_plan_terms *ret)
{
    const uint64_t budget = d->handles.budget_bytes, granule = (uint64_t)1 << d->granule_shift;
    const struct spw_own own = {granule, spw_slab_total_bytes_locked(d), spw_workspace_bytes_locked(d)};
    struct spw_bandwidth bandwidth;
    (void)spw_bandwidth_locked(d->ordinal, &bandwidth); /* a guess is better than nothing */
    *ret = (struct spw_plan_terms){.device_bytes = spw_own_rest(&own, budget, tuned->may_replay),
                                   .reserve = reserve,
                                   .host_bytes = host_bytes_of_one(),
                                   .granule_bytes = granule,
                                   .d2h_bytes_per_us = bandwidth.d2h_bytes_per_us,
                                   .h2d_bytes_per_us = bandwidth.h2d_bytes_per_us,
                                   .duplex = bandwidth.duplex_share,
                                   .move_us = spw_plan_move_us,
                                   .may_replay = tuned->may_replay,
                                   .begin_with = &tuned->plan->choices};
}

static void say_plan(const struct spw_device *d, const struct spw_course_plan *plan)
{
    char replays[64] = "";
    if (plan->replay_count)
        (void)snprintf(replays, sizeof(replays), ", %u replays taking %.3f ms", plan->replay_count,
                       plan->replayed_us / 1000);
    spw_info(
        "device %d: planned an iteration of %u operations within %.1f MiB: %.3f ms (%.3f ms with enough memory, no plan "
        "is below %.3f ms), %.1f MiB to the host and %.1f MiB back%s; made in %.0f ms%s",
        d->ordinal, plan->actions.op_count, (double)plan->peak_bytes / 1048576, plan->predicted_us / 1000,
        plan->compute_us / 1000, plan->lower_bound_us / 1000, (double)plan->out_bytes / 1048576,
        (double)plan->in_bytes / 1048576, replays, plan->planning_s * 1000,
        plan->is_quick ? ", looking for a better one" : "");
}

static bool is_of_copies(const struct spw_course_plan *plan)
{
    return !plan->recorded_count;
}

/* Puts `plan` in force, and returns the one before, which the caller owns. */
static struct spw_course_plan *put_in_force(struct spw_device *d, struct spw_tuned_iteration *tuned,
                                            struct spw_course_plan *plan)
{
    struct spw_course_plan *before = tuned->plan;
    tuned->plan = plan;
    tuned->trial_iterations = 0;
    tuned->usual_us = 0;
    tuned->number = plan->predicted_us < INFINITY ? spw_plan_follower_adopt_locked(d, tuned->id, plan->predicted_us,
                                                                                   plan->compute_us, plan->lower_bound_us)
                                                  : 0;
    return before;
}

/* Returns what a step takes on demand; INFINITY if that was not measured, or on other terms than the present ones. */
static double on_demand_us(const struct spw_device *d, const struct spw_tuned_iteration *tuned)
{
    const struct spw_steptime times = spw_steptime_locked(d->ordinal, tuned->id);
    return times.count && !tuned->on_other_terms ? times.mean_us : INFINITY;
}

static void say_on_demand(const struct spw_device *d, const struct spw_tuned_iteration *tuned, double by_plan_us)
{
    spw_info("device %d: an iteration of %u operations takes %.3f ms by plan and %.3f ms on demand: no plan for it",
             d->ordinal, tuned->course->op_count, by_plan_us / 1000, on_demand_us(d, tuned) / 1000);
}

/* Takes a plan that has not been tried: a better one for the same terms, or the next one to try. */
static void take_plan(struct spw_device *d, struct spw_tuned_iteration *tuned, struct spw_course_plan *plan)
{
    if (!plan)
        return;
    const bool is_trial = tuned->state == SPW_TUNING_TRYING;
    if (!is_trial && !tuned->number && !spw_plan_need_not_win && plan->predicted_us >= on_demand_us(d, tuned)) {
        say_on_demand(d, tuned, plan->predicted_us);
        spw_course_plan_destroy(plan);
        return;
    }
    if (!is_trial && plan->predicted_us >= tuned->plan->predicted_us) {
        tuned->plan->is_quick = false; /* there is no better plan, but a better bound */
        tuned->plan->lower_bound_us = fmax(tuned->plan->lower_bound_us, plan->lower_bound_us);
        spw_course_plan_destroy(plan);
        return;
    }
    say_plan(d, plan);
    struct spw_course_plan *before = put_in_force(d, tuned, plan);
    if (is_trial && !tuned->best)
        tuned->best = before;
    else
        spw_course_plan_destroy(before);
}

static void plan_with(struct spw_device *d, struct spw_tuned_iteration *tuned, double reserve)
{
    struct spw_plan_terms terms;
    struct spw_course_plan *plan = NULL;
    terms_of(d, tuned, reserve, &terms);
    if (spw_settings_get()->plan != SPW_PLAN_WAIT)
        (void)spw_plan_thread_start(tuned->course, &terms, &tuned->planning);
    else if (spw_plan_course(tuned->course, &terms, false, NULL, &plan) == 0)
        take_plan(d, tuned, plan);
}

/* Makes a plan of an earlier run's choices alone, which is quick. Returns true if it is in force. */
static bool plan_as_remembered(struct spw_device *d, struct spw_tuned_iteration *tuned, const struct spw_plan_terms *terms)
{
    struct spw_plan_terms only = *terms;
    struct spw_course_plan *plan;
    only.only_begin_with = true;
    if (tuned->number || !tuned->plan->choices.list || spw_plan_course(tuned->course, &only, true, NULL, &plan) < 0)
        return false;
    take_plan(d, tuned, plan);
    return tuned->number;
}

void spw_tuning_plan(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    struct spw_plan_terms terms;
    struct spw_course_plan *plan = NULL;
    const bool wait = spw_settings_get()->plan == SPW_PLAN_WAIT;
    terms_of(d, tuned, SPW_FIRST_RESERVE, &terms);
    tuned->tried = 1;
    if (tuned->state == SPW_TUNING_UNPLANNED)
        enter(tuned, SPW_TUNING_FIRST);
    int r = 0;
    const bool is_there = !wait && plan_as_remembered(d, tuned, &terms);
    terms.begin_with = &tuned->plan->choices;
    if (wait || (!is_there && tuned->course->op_count <= SMALL_COURSE)) {
        r = spw_plan_course(tuned->course, &terms, !wait, NULL, &plan);
        take_plan(d, tuned, r == 0 ? plan : NULL);
        terms.begin_with = &tuned->plan->choices; /* which may be another plan by now */
    }
    if (!wait && r != -EINVAL)
        (void)spw_plan_thread_start(tuned->course, &terms, &tuned->planning);
    tuned->lacked_memory = r == -ENOMEM;
    if (r < 0)
        spw_info("device %d: an iteration of %u operations cannot be planned (%s): eviction on demand goes on", d->ordinal,
                 tuned->course->op_count, r == -ENOSPC ? "no plan within the budget" : strerror(-r));
}

void spw_tuning_begin_with(struct spw_tuned_iteration *tuned, const uint8_t *choices, size_t count, uint64_t of)
{
    struct spw_plan_choices *now = &tuned->plan->choices;
    uint8_t *list = count ? malloc(count) : NULL;
    if (!list)
        return;
    memcpy(list, choices, count);
    free(now->list);
    *now = (struct spw_plan_choices){.list = list, .count = count, .of = of};
}

const struct spw_plan_choices *spw_tuning_choices(const struct spw_tuned_iteration *tuned)
{
    const struct spw_course_plan *plan = tuned->best ? tuned->best : tuned->plan;
    return &plan->choices;
}

/* ---- what they turn out to take ---- */

/* Returns to the best plan that was tried; to none if on demand is faster. */
static void settle(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    if (tuned->best)
        spw_course_plan_destroy(put_in_force(d, tuned, tuned->best));
    tuned->best = NULL;
    tuned->strayed = 0;
    enter(tuned, SPW_TUNING_SETTLED);
    if (tuned->best_us <= on_demand_us(d, tuned))
        return;
    struct spw_course_plan *none = spw_course_plan_none(tuned->course);
    if (!none)
        return;
    say_on_demand(d, tuned, tuned->best_us);
    spw_course_plan_destroy(put_in_force(d, tuned, none));
    tuned->best_us = on_demand_us(d, tuned);
}

/* Returns the reserve of the plan that is tried next; 0: all were tried. With replays the time of steps varies, since some
 * of them are compared: a smaller reserve may only have seemed better, so the larger one is tried in any case. */
static double next_reserve(const struct spw_tuned_iteration *tuned, bool is_better)
{
    if (tuned->tried == 1)
        return SECOND_RESERVE;
    if (tuned->tried == 2)
        return is_better ? LESS_RESERVE : MORE_RESERVE;
    return tuned->tried == 3 && tuned->plan->recorded_count && tuned->plan->reserve < SECOND_RESERVE ? MORE_RESERVE : 0;
}

/* A step by the plan in force took step_us. */
static void judge(struct spw_device *d, struct spw_tuned_iteration *tuned, double step_us)
{
    const bool is_close = step_us <= CLOSE * tuned->plan->lower_bound_us;
    spw_debug("device %d: %.3f ms by plan, where %.3f ms were predicted", d->ordinal, step_us / 1000,
              tuned->plan->predicted_us / 1000);
    const bool is_better = tuned->best_us == 0 || step_us < tuned->best_us;
    if (is_better) {
        tuned->best_us = step_us;
        spw_course_plan_destroy(tuned->best);
        tuned->best = NULL;
    }
    const bool is_far = step_us > FAR * tuned->best_us;
    const double reserve = is_close || is_far ? 0 : next_reserve(tuned, is_better);
    if (reserve <= 0) {
        settle(d, tuned);
        return;
    }
    tuned->tried++;
    enter(tuned, SPW_TUNING_TRYING);
    plan_with(d, tuned, reserve);
}

void spw_tuning_learned(struct spw_tuned_iteration *tuned, bool may_replay)
{
    tuned->may_replay = may_replay;
    tuned->knows_more = true;
}

void spw_tuning_unlearned(struct spw_tuned_iteration *tuned)
{
    tuned->knows_more = true;
    tuned->plan->predicted_us = INFINITY;
    spw_course_plan_destroy(tuned->best);
    tuned->best = NULL;
    tuned->best_us = 0;
    enter(tuned, SPW_TUNING_FIRST);
}

void spw_tuning_budget_changed(struct spw_tuned_iteration *tuned)
{
    tuned->on_other_terms = true;
    spw_tuning_unlearned(tuned);
}

/* As for the first plan, but with something to compare the new one with: the best plan so far, or the first one as soon as
 * it is known how long a step by that takes. */
static void plan_with_what_was_learned(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    if (tuned->best_us == 0 && tuned->number)
        tuned->best_us = tuned->usual_us;
    if (tuned->planning)
        spw_plan_thread_abandon_locked(tuned->planning);
    tuned->planning = NULL;
    tuned->knows_more = false;
    tuned->tried = 1;
    enter(tuned, tuned->best_us > 0 ? SPW_TUNING_TRYING : SPW_TUNING_FIRST);
    plan_with(d, tuned, SPW_FIRST_RESERVE);
}

bool spw_tuning_wants_versions(const struct spw_tuned_iteration *tuned)
{
    if (!tuned->course)
        return false;
    return spw_course_plan_wants_versions(tuned->plan) || (tuned->may_replay && tuned->knows_more);
}

/* If copies go at another speed than the plan in force was made with, makes another plan, and compares it with what a step
 * takes by now, not with what it took. Does not look while plans are being compared anyway. Returns true if so. */
static bool look_at_link(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    double step_us;
    if (tuned->planning ||
        !spw_drift_iteration_locked(&tuned->drift, d, tuned->plan, tuned->number, tuned->best_us, &step_us))
        return false;
    tuned->best_us = step_us;
    tuned->on_other_terms = true;
    enter(tuned, SPW_TUNING_TRYING);
    plan_with(d, tuned, tuned->plan->reserve);
    return true;
}

static bool is_tried_enough(const struct spw_tuned_iteration *tuned)
{
    return tuned->trial_iterations >= (tuned->best_us > 0 ? TRIAL : FIRST_TRIAL);
}

/* True if a plan is to be judged early, because steps by it take longer than without. Not for a plan with replays,
 * which is slow at first, while each of them is compared; nor for a plan that becomes slow later: something else has
 * changed then. */
static bool is_lost(const struct spw_device *d, const struct spw_tuned_iteration *tuned, double usual_us)
{
    const bool is_new =
        tuned->trial_iterations > SPW_STEPTIME_MEDIAN_OF && tuned->trial_iterations <= 2 * SPW_STEPTIME_MEDIAN_OF;
    return is_new && is_of_copies(tuned->plan) && usual_us > LOSES * on_demand_us(d, tuned);
}

/* Iterations in which launches are probed take longer, so the least median counts. */
static void note_what_it_takes(const struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    const double median_us = spw_plan_follower_times_locked(d, tuned->number).median_us;
    if (tuned->trial_iterations > SPW_STEPTIME_MEDIAN_OF && (tuned->usual_us == 0 || median_us < tuned->usual_us))
        tuned->usual_us = median_us;
}

/* Judges the plan in force once it has been followed for long enough. */
static void judge_if_tried(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    const double usual_us = spw_plan_follower_times_locked(d, tuned->number).median_us;
    const bool is_tried = is_tried_enough(tuned) || is_lost(d, tuned, usual_us);
    if (is_tried && tuned->number && !tuned->planning && usual_us > 0)
        judge(d, tuned, usual_us);
}

/* ---- an iteration in each state ---- */

static void go_on_with_first(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan)
{
    if (went_by_plan)
        (void)look_at_link(d, tuned);
    judge_if_tried(d, tuned);
}

static void look_for_strays(struct spw_device *d, struct spw_tuned_iteration *tuned)
{
    const double step_us = spw_steptime_locked(d->ordinal, SPW_STEPTIME_ANY).last_us;
    if (tuned->trial_iterations == 0 || tuned->trial_iterations % LOOK_EVERY != 0 || step_us <= 0)
        return;
    const bool is_strange = step_us > STRAYS * tuned->best_us || step_us * STRAYS < tuned->best_us;
    tuned->strayed = is_strange ? tuned->strayed + 1 : 0;
    if (tuned->strayed >= STRAYED)
        enter(tuned, SPW_TUNING_STRAYED);
}

static void go_on_settled(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan)
{
    if (went_by_plan && look_at_link(d, tuned)) {
        judge_if_tried(d, tuned);
        return;
    }
    look_for_strays(d, tuned);
}

/* Takes what has come about since the last iteration, whatever the state. */
static void take_what_is_there(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan)
{
    if (tuned->planning && spw_plan_thread_is_done(tuned->planning)) {
        struct spw_plan_thread *planning = tuned->planning;
        tuned->planning = NULL;
        take_plan(d, tuned, spw_plan_thread_finish(planning, false));
    }
    tuned->trial_iterations = went_by_plan ? tuned->trial_iterations + 1 : 0;
    const bool is_open = tuned->state == SPW_TUNING_FIRST || tuned->state == SPW_TUNING_TRYING;
    if (is_open && tuned->lacked_memory && !tuned->number && !tuned->planning &&
        tuned->trial_iterations % LOOK_EVERY == LOOK_EVERY - 1)
        spw_tuning_plan(d, tuned);
    note_what_it_takes(d, tuned);
    if (tuned->knows_more)
        plan_with_what_was_learned(d, tuned);
}

bool spw_tuning_improve(struct spw_device *d, struct spw_tuned_iteration *tuned, bool went_by_plan)
{
    take_what_is_there(d, tuned, went_by_plan);
    switch (tuned->state) {
    case SPW_TUNING_UNPLANNED:
    case SPW_TUNING_TRYING:
        judge_if_tried(d, tuned);
        break;
    case SPW_TUNING_FIRST:
        go_on_with_first(d, tuned, went_by_plan);
        break;
    case SPW_TUNING_SETTLED:
        go_on_settled(d, tuned, went_by_plan);
        break;
    case SPW_TUNING_STRAYED:
        break;
    }
    return tuned->state != SPW_TUNING_STRAYED;
}
