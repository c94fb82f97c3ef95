/* plan_tuning.c - plans for known iterations: made, tried, and kept or not. */
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
#include "plan_stats.h"
#include "settings.h"
#include "slab.h"
#include "stash.h"
#include "steptime.h"

enum {
    SMALL_COURSE = 2000, /* operations for which a first plan takes less time than the iteration */
    FIRST_ROUNDS = 40,   /* iterations by the first plan before others are tried: short runs are not for that */
    ROUNDS = 10,         /* by each of the others: the first ones carry what the plan before left behind */
    LOOK_EVERY = 16,     /* iterations, once it is settled */
    STRAYED = 4,         /* looks that must agree before a shape is given up */
};
static const double CLOSE = 1.02;  /* to what no plan is below: nothing is left to gain by trying */
static const double LOSES = 1.05;  /* against on demand: it is judged at once */
static const double STRAYS = 1.15; /* from what it was */

/* Of the budget, for what a plan does not know: memory that is taken before it is used, and given back a little later than
 * it could be. The first plan's, the second's, and the third's, where less was better and where it was not. */
static const double FIRST_RESERVE = 0.03, SECOND_RESERVE = 0.015, LESS_RESERVE = 0.0075, MORE_RESERVE = 0.05;

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

static bool holds(const struct spw_tuned_iteration *shape)
{
    switch (shape->state) {
    case SPW_TUNING_UNPLANNED:
        return !shape->number && !shape->planning && !shape->best && shape->best_us == 0;
    case SPW_TUNING_FIRST:
        return !shape->best && shape->best_us == 0;
    case SPW_TUNING_TRYING:
        return shape->best_us > 0;
    case SPW_TUNING_SETTLED:
    case SPW_TUNING_STRAYED:
        return !shape->planning && !shape->best && shape->best_us > 0;
    }
    return false;
}

/* The only place where the state of a shape changes, but for its beginning and end. */
static void enter(struct spw_tuned_iteration *shape, enum spw_tuning_state state)
{
    SPW_ASSERT(is_allowed(shape->state, state), "an arrow of the drawing in plan_tuning.h");
    shape->state = state;
    SPW_ASSERT(holds(shape), "what plan_tuning.h says of the state");
}

/* ---- the list ---- */

struct spw_tuned_iteration *spw_tuned_iterations_find(struct spw_tuned_iterations *shapes, uint32_t id)
{
    for (unsigned i = 0; i < shapes->count; i++)
        if (shapes->list[i].course && shapes->list[i].id == id)
            return &shapes->list[i];
    return NULL;
}

static void stop_planning(struct spw_tuned_iteration *shape)
{
    if (shape->planning)
        spw_course_plan_destroy(spw_plan_thread_finish(shape->planning, true));
    shape->planning = NULL;
}

void spw_tuning_forget(struct spw_tuned_iteration *shape)
{
    if (shape->planning)
        spw_plan_thread_abandon_locked(shape->planning);
    spw_course_plan_destroy(shape->plan);
    spw_course_plan_destroy(shape->best);
    spw_course_destroy(shape->course);
    free(shape->hopeless);
    *shape = (struct spw_tuned_iteration){0};
}

static struct spw_tuned_iteration *free_place(struct spw_tuned_iterations *shapes, const struct spw_tuned_iteration *but)
{
    struct spw_tuned_iteration *oldest = NULL;
    for (unsigned i = 0; i < shapes->count; i++) {
        struct spw_tuned_iteration *s = &shapes->list[i];
        if (!s->course)
            return s;
        if (s != but && (!oldest || s->last_used < oldest->last_used))
            oldest = s;
    }
    if (shapes->count < SPW_ITERATION_SHAPES)
        return &shapes->list[shapes->count++];
    spw_tuning_forget(oldest);
    return oldest;
}

static uint64_t serials; /* so far, of all devices */

struct spw_tuned_iteration *spw_tuned_iterations_add(struct spw_tuned_iterations *shapes, uint32_t id,
                                                     struct spw_course *course, uint64_t now,
                                                     const struct spw_tuned_iteration *but)
{
    struct spw_course_plan *none = spw_course_plan_none(course);
    if (!none)
        return NULL;
    struct spw_tuned_iteration *shape = free_place(shapes, but);
    *shape = (struct spw_tuned_iteration){.id = id, .serial = ++serials, .course = course, .plan = none, .last_used = now};
    shape->hopeless = calloc((size_t)course->op_count + 1, sizeof(bool));
    return shape;
}

void spw_tuned_iterations_finish(struct spw_tuned_iterations *shapes)
{
    for (unsigned i = 0; i < shapes->count; i++)
        spw_tuning_forget(&shapes->list[i]);
}

void spw_tuned_iterations_stop(struct spw_tuned_iterations *shapes)
{
    for (unsigned i = 0; i < shapes->count; i++)
        stop_planning(&shapes->list[i]);
}

/* ---- making plans ---- */

/* Of the host's memory, as much for each device that is in use. */
static uint64_t host_bytes_of_one(void)
{
    unsigned devices = 0;
    for (int i = 0; i < SPW_MAX_DEVICES; i++)
        devices += spw_devices[i].ready;
    return spw_host_memory_limit_locked() / (devices ? devices : 1);
}

/* A tensor that leaves and comes back has memory mapped twice: for whoever has that memory meanwhile, and for itself. Each
 * takes the host about 150 us on an H200, whatever the size (docs/decisions/039-a-move-costs-the-host.md). It is put down to
 * each copy, so that few large tensors are moved rather than many small ones. */
double spw_plan_move_us = 300;

static void terms_of(const struct spw_device *d, const struct spw_tuned_iteration *shape, double reserve,
                     struct spw_plan_terms *ret)
{
    const uint64_t budget = d->handles.budget_bytes, granule = (uint64_t)1 << d->granule_shift;
    const uint64_t own = spw_stash_bytes(budget, granule) + spw_workspace_bytes_locked(d);
    const uint64_t fixed = spw_slab_total_bytes_locked(d) + (shape->may_replay ? own : 0);
    struct spw_bandwidth bandwidth;
    (void)spw_bandwidth_locked(d->ordinal, &bandwidth); /* a guess is better than nothing */
    *ret = (struct spw_plan_terms){.device_bytes = budget > fixed ? budget - fixed : 0,
                                   .reserve = reserve,
                                   .host_bytes = host_bytes_of_one(),
                                   .granule_bytes = granule,
                                   .d2h_bytes_per_us = bandwidth.d2h_bytes_per_us,
                                   .h2d_bytes_per_us = bandwidth.h2d_bytes_per_us,
                                   .duplex = bandwidth.duplex_share,
                                   .move_us = spw_plan_move_us,
                                   .may_replay = shape->may_replay,
                                   .begin_with = &shape->plan->choices};
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

/* `plan` is in force from now on; the one before is the caller's. */
static struct spw_course_plan *put_in_force(struct spw_device *d, struct spw_tuned_iteration *shape,
                                            struct spw_course_plan *plan)
{
    struct spw_course_plan *before = shape->plan;
    shape->plan = plan;
    shape->rounds = 0;
    shape->number = plan->predicted_us < INFINITY ? spw_plan_follower_adopt_locked(d, shape->id, plan->predicted_us,
                                                                                   plan->compute_us, plan->lower_bound_us)
                                                  : 0;
    return before;
}

/* What a step of the shape takes on demand; INFINITY: that was not measured, or under other terms than those of today. */
static double on_demand_us(const struct spw_device *d, const struct spw_tuned_iteration *shape)
{
    const struct spw_steptime times = spw_steptime_locked(d->ordinal, shape->id);
    return times.count && !shape->on_other_terms ? times.mean_us : INFINITY;
}

static void say_on_demand(const struct spw_device *d, const struct spw_tuned_iteration *shape, double by_plan_us)
{
    spw_info("device %d: an iteration of %u operations takes %.3f ms by plan and %.3f ms on demand: no plan for it",
             d->ordinal, shape->course->op_count, by_plan_us / 1000, on_demand_us(d, shape) / 1000);
}

/* A plan that has not been tried: a better one for the same terms, or the next one to be tried. */
static void take_plan(struct spw_device *d, struct spw_tuned_iteration *shape, struct spw_course_plan *plan)
{
    if (!plan)
        return;
    const bool is_trial = shape->state == SPW_TUNING_TRYING;
    if (!is_trial && !shape->number && plan->predicted_us >= on_demand_us(d, shape)) {
        say_on_demand(d, shape, plan->predicted_us);
        spw_course_plan_destroy(plan);
        return;
    }
    if (!is_trial && plan->predicted_us >= shape->plan->predicted_us) {
        shape->plan->is_quick = false; /* there is no better one, but it has found a better bound */
        shape->plan->lower_bound_us = fmax(shape->plan->lower_bound_us, plan->lower_bound_us);
        spw_course_plan_destroy(plan);
        return;
    }
    say_plan(d, plan);
    struct spw_course_plan *before = put_in_force(d, shape, plan);
    if (is_trial && !shape->best)
        shape->best = before;
    else
        spw_course_plan_destroy(before);
}

static void plan_with(struct spw_device *d, struct spw_tuned_iteration *shape, double reserve)
{
    struct spw_plan_terms terms;
    struct spw_course_plan *plan = NULL;
    terms_of(d, shape, reserve, &terms);
    if (spw_settings_get()->plan != SPW_PLAN_WAIT)
        (void)spw_plan_thread_start(shape->course, &terms, &shape->planning);
    else if (spw_plan_course(shape->course, &terms, false, NULL, &plan) == 0)
        take_plan(d, shape, plan);
}

/* What an earlier run's choices come to takes one look at them. True: it is in force. */
static bool plan_as_remembered(struct spw_device *d, struct spw_tuned_iteration *shape, const struct spw_plan_terms *terms)
{
    struct spw_plan_terms only = *terms;
    struct spw_course_plan *plan;
    only.only_begin_with = true;
    if (shape->number || !shape->plan->choices.list || spw_plan_course(shape->course, &only, true, NULL, &plan) < 0)
        return false;
    take_plan(d, shape, plan);
    return shape->number;
}

void spw_tuning_plan(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    struct spw_plan_terms terms;
    struct spw_course_plan *plan = NULL;
    const bool wait = spw_settings_get()->plan == SPW_PLAN_WAIT;
    terms_of(d, shape, FIRST_RESERVE, &terms);
    shape->tried = 1;
    if (shape->state == SPW_TUNING_UNPLANNED)
        enter(shape, SPW_TUNING_FIRST);
    int r = 0;
    const bool is_there = !wait && plan_as_remembered(d, shape, &terms);
    terms.begin_with = &shape->plan->choices;
    if (wait || (!is_there && shape->course->op_count <= SMALL_COURSE)) {
        r = spw_plan_course(shape->course, &terms, !wait, NULL, &plan);
        take_plan(d, shape, r == 0 ? plan : NULL);
        terms.begin_with = &shape->plan->choices; /* which may be another plan by now */
    }
    if (!wait && r != -EINVAL)
        (void)spw_plan_thread_start(shape->course, &terms, &shape->planning);
    shape->lacked_memory = r == -ENOMEM;
    if (r < 0)
        spw_info("device %d: an iteration of %u operations cannot be planned (%s): eviction on demand goes on", d->ordinal,
                 shape->course->op_count, r == -ENOSPC ? "no plan within the budget" : strerror(-r));
}

void spw_tuning_begin_with(struct spw_tuned_iteration *shape, const uint8_t *choices, size_t count, uint64_t of)
{
    struct spw_plan_choices *now = &shape->plan->choices;
    uint8_t *list = count ? malloc(count) : NULL;
    if (!list)
        return;
    memcpy(list, choices, count);
    free(now->list);
    *now = (struct spw_plan_choices){.list = list, .count = count, .of = of};
}

const struct spw_plan_choices *spw_tuning_choices(const struct spw_tuned_iteration *shape)
{
    const struct spw_course_plan *plan = shape->best ? shape->best : shape->plan;
    return &plan->choices;
}

/* ---- what they turn out to take ---- */

/* Back to the best one that was tried; to none, where on demand is faster. */
static void settle(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    if (shape->best)
        spw_course_plan_destroy(put_in_force(d, shape, shape->best));
    shape->best = NULL;
    shape->strayed = 0;
    enter(shape, SPW_TUNING_SETTLED);
    if (shape->best_us <= on_demand_us(d, shape))
        return;
    struct spw_course_plan *none = spw_course_plan_none(shape->course);
    if (!none)
        return;
    say_on_demand(d, shape, shape->best_us);
    spw_course_plan_destroy(put_in_force(d, shape, none));
    shape->best_us = on_demand_us(d, shape);
}

/* For the plan that is tried next; 0: all were. Where operations run again steps differ, for some of them are compared: less
 * may have seemed better, and more is tried in any case. */
static double next_reserve(const struct spw_tuned_iteration *shape, bool is_better)
{
    if (shape->tried == 1)
        return SECOND_RESERVE;
    if (shape->tried == 2)
        return is_better ? LESS_RESERVE : MORE_RESERVE;
    return shape->tried == 3 && shape->plan->recorded_count && shape->plan->reserve < SECOND_RESERVE ? MORE_RESERVE : 0;
}

/* The plan in force took step_us. */
static void judge(struct spw_device *d, struct spw_tuned_iteration *shape, double step_us)
{
    const bool is_close = step_us <= CLOSE * shape->plan->lower_bound_us;
    spw_debug("device %d: %.3f ms by plan, where %.3f ms were predicted", d->ordinal, step_us / 1000,
              shape->plan->predicted_us / 1000);
    const bool is_better = shape->best_us == 0 || step_us < shape->best_us;
    if (is_better) {
        shape->best_us = step_us;
        spw_course_plan_destroy(shape->best);
        shape->best = NULL;
    }
    const double reserve = is_close ? 0 : next_reserve(shape, is_better);
    if (reserve <= 0) {
        settle(d, shape);
        return;
    }
    shape->tried++;
    enter(shape, SPW_TUNING_TRYING);
    plan_with(d, shape, reserve);
}

void spw_tuning_learned(struct spw_tuned_iteration *shape, bool may_replay)
{
    shape->may_replay = may_replay;
    shape->knows_more = true;
}

void spw_tuning_unlearned(struct spw_tuned_iteration *shape)
{
    shape->knows_more = true;
    shape->plan->predicted_us = INFINITY;
    spw_course_plan_destroy(shape->best);
    shape->best = NULL;
    shape->best_us = 0;
    enter(shape, SPW_TUNING_FIRST);
}

void spw_tuning_budget_changed(struct spw_tuned_iteration *shape)
{
    shape->on_other_terms = true;
    spw_tuning_unlearned(shape);
}

/* As for the first plan, but that there is something to hold it against. */
static void plan_with_what_was_learned(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    if (shape->planning)
        spw_plan_thread_abandon_locked(shape->planning);
    shape->planning = NULL;
    shape->knows_more = false;
    shape->tried = 1;
    enter(shape, shape->best_us > 0 ? SPW_TUNING_TRYING : SPW_TUNING_FIRST);
    plan_with(d, shape, FIRST_RESERVE);
}

bool spw_tuning_wants_versions(const struct spw_tuned_iteration *shape)
{
    if (!shape->course)
        return false;
    const bool is_open = shape->knows_more || shape->planning || (shape->number && shape->state < SPW_TUNING_SETTLED);
    return spw_course_plan_wants_versions(shape->plan) || (shape->may_replay && is_open);
}

/* Where copies go at another speed than the plan in force was made with, another one is held against what a step takes by
 * now, not against what it took. While plans are held against each other anyway nobody looks. True: so it is. */
static bool look_at_link(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    double step_us;
    if (shape->planning ||
        !spw_drift_iteration_locked(&shape->drift, d, shape->plan, shape->number, shape->best_us, &step_us))
        return false;
    shape->best_us = step_us;
    shape->on_other_terms = true;
    enter(shape, SPW_TUNING_TRYING);
    plan_with(d, shape, shape->plan->reserve);
    return true;
}

static bool is_tried_enough(const struct spw_tuned_iteration *shape)
{
    return shape->rounds >= (shape->best_us > 0 ? ROUNDS : FIRST_ROUNDS);
}

/* Nobody waits for long while steps take more by plan than without. What runs operations again is slow at first, while each
 * of them is compared. A plan that becomes slow later was good: something else has changed. */
static bool is_lost(const struct spw_device *d, const struct spw_tuned_iteration *shape, double usual_us)
{
    const bool is_new = shape->rounds > SPW_STEPTIME_MEDIAN_OF && shape->rounds <= 2 * SPW_STEPTIME_MEDIAN_OF;
    return is_new && is_of_copies(shape->plan) && usual_us > LOSES * on_demand_us(d, shape);
}

/* The plan in force is measured once it has been followed for long enough. */
static void judge_if_tried(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    const double usual_us = spw_plan_follower_times_locked(d, shape->number).median_us;
    const bool is_tried = is_tried_enough(shape) || is_lost(d, shape, usual_us);
    if (is_tried && shape->number && !shape->planning && usual_us > 0)
        judge(d, shape, usual_us);
}

/* ---- an iteration in each state ---- */

static void go_on_with_first(struct spw_device *d, struct spw_tuned_iteration *shape, bool went_by_plan)
{
    if (went_by_plan)
        (void)look_at_link(d, shape);
    judge_if_tried(d, shape);
}

static void look_for_strays(struct spw_device *d, struct spw_tuned_iteration *shape)
{
    const double step_us = spw_steptime_locked(d->ordinal, SPW_STEPTIME_ANY).last_us;
    if (shape->rounds == 0 || shape->rounds % LOOK_EVERY != 0 || step_us <= 0)
        return;
    const bool is_strange = step_us > STRAYS * shape->best_us || step_us * STRAYS < shape->best_us;
    shape->strayed = is_strange ? shape->strayed + 1 : 0;
    if (shape->strayed >= STRAYED)
        enter(shape, SPW_TUNING_STRAYED);
}

static void go_on_settled(struct spw_device *d, struct spw_tuned_iteration *shape, bool went_by_plan)
{
    if (went_by_plan && look_at_link(d, shape)) {
        judge_if_tried(d, shape);
        return;
    }
    look_for_strays(d, shape);
}

/* What has come about since the last iteration, whatever the state. */
static void take_what_is_there(struct spw_device *d, struct spw_tuned_iteration *shape, bool went_by_plan)
{
    if (shape->planning && spw_plan_thread_is_done(shape->planning)) {
        struct spw_plan_thread *planning = shape->planning;
        shape->planning = NULL;
        take_plan(d, shape, spw_plan_thread_finish(planning, false));
    }
    shape->rounds = went_by_plan ? shape->rounds + 1 : 0;
    const bool is_open = shape->state == SPW_TUNING_FIRST || shape->state == SPW_TUNING_TRYING;
    if (is_open && shape->lacked_memory && !shape->number && !shape->planning &&
        shape->rounds % LOOK_EVERY == LOOK_EVERY - 1)
        spw_tuning_plan(d, shape);
    if (shape->knows_more)
        plan_with_what_was_learned(d, shape);
}

bool spw_tuning_improve(struct spw_device *d, struct spw_tuned_iteration *shape, bool went_by_plan)
{
    take_what_is_there(d, shape, went_by_plan);
    switch (shape->state) {
    case SPW_TUNING_UNPLANNED:
    case SPW_TUNING_TRYING:
        judge_if_tried(d, shape);
        break;
    case SPW_TUNING_FIRST:
        go_on_with_first(d, shape, went_by_plan);
        break;
    case SPW_TUNING_SETTLED:
        go_on_settled(d, shape, went_by_plan);
        break;
    case SPW_TUNING_STRAYED:
        break;
    }
    return shape->state != SPW_TUNING_STRAYED;
}
