/* probe_policy.c - chooses what is to be learned from which launch, within the time that learning may take. */
#include "probe_policy.h"

#include "check.h"
#include "ledger.h"
#include "lock.h"

enum { LOOKS = 2, MORE_LOOKS = 8, TRIES = 2, FAILURES = 8 }; /* more: at launches that are given something else */

/* What a step costs beside the launch, in times of the launch, for one that does little else than move bytes: two passes
 * over what it touches; two more launches, three passes, everything copied twice and put back three times. */
static const double costs[] = {[SPW_PROBE_OBSERVE] = 2, [SPW_PROBE_REPLAY] = 12};

/* In iterations. */
#define ALLOWED_IN_ONE 1.5
#define ALLOWED_IN_ALL 2.5
#define ALLOWED_LATE   6 /* for copies to the host beside that */

void spw_probe_policy_begin(struct spw_probe_policy *l, double iteration_us)
{
    l->allowed_us = ALLOWED_IN_ONE * iteration_us;
    l->left_us = ALLOWED_IN_ALL * iteration_us;
    l->late_left_us = ALLOWED_LATE * iteration_us;
    l->spent_us = 0;
    l->is_complete = false;
    l->is_fresh = true;
    l->rounds = 0;
    for (struct spw_probed *it = l->device->probed; it; it = it->next)
        it->came = it->fits = it->fits_late = it->is_varied = false;
}

void spw_probe_policy_go_on(struct spw_probe_policy *l)
{
    l->is_fresh = true;
}

static bool may_try(const struct spw_probed *lesson)
{
    return lesson->class->changed && (lesson->fits || lesson->fits_late) && lesson->verdict <= SPW_REPLAYABLE &&
           lesson->tries < TRIES && lesson->failures < FAILURES && (lesson->fits || !lesson->tries) &&
           !spw_function_is_condemned_locked(lesson->class->function);
}

static bool is_wanted(const struct spw_probed *lesson)
{
    return lesson->came && lesson->failures < FAILURES &&
           (lesson->looks < LOOKS || (lesson->is_strange && lesson->looks < MORE_LOOKS) || may_try(lesson));
}

/* Where looking at everything twice would leave no time for probes, what was looked at once is tried. */
static bool is_short_of_time(const struct spw_probe_policy *l)
{
    return (l->left_us - l->spent_us) * ALLOWED_IN_ONE < l->allowed_us * (ALLOWED_IN_ALL / 2);
}

bool spw_probe_policy_wants_probes(const struct spw_probe_policy *l)
{
    bool trials = false, looks = false;
    for (const struct spw_probed *lesson = l->device->probed; lesson; lesson = lesson->next) {
        trials |= lesson->came && may_try(lesson);
        looks |= is_wanted(lesson) && lesson->looks < LOOKS;
    }
    return trials && (!looks || l->rounds > LOOKS || is_short_of_time(l));
}

bool spw_probe_policy_round(struct spw_probe_policy *l)
{
    bool under_way = false, wanted = false;
    for (const struct spw_probed *lesson = l->device->probed; lesson; lesson = lesson->next) {
        under_way |= lesson->under_way;
        wanted |= is_wanted(lesson);
    }
    l->rounds++;
    l->left_us -= l->spent_us;
    l->is_complete = !under_way && !l->is_fresh && (!wanted || (l->spent_us <= 0 && !l->is_awaited) || l->left_us <= 0);
    l->spent_us = 0;
    l->is_fresh = l->is_awaited = false;
    return l->is_complete;
}

/* No launch of the class fitted in a whole iteration: it is tried once with the help of host memory. */
static bool is_tried_late(const struct spw_probe_policy *l, const struct spw_probed *lesson,
                          const struct spw_probe_launch *launch)
{
    return !lesson->fits && !lesson->tries && lesson->came && lesson->first_round < l->rounds && launch->fits_late &&
           launch->late_us <= l->late_left_us;
}

static enum spw_probe_step step_of(const struct spw_probe_policy *l, const struct spw_probed *lesson,
                                   const struct spw_probe_launch *launch)
{
    if (lesson->under_way || lesson->failures >= FAILURES)
        return SPW_PROBE_NOTHING;
    const unsigned looks = launch->class->is_strange ? MORE_LOOKS : LOOKS;
    const bool is_seen = lesson->looks >= looks || (is_short_of_time(l) && lesson->looks > lesson->tries && may_try(lesson));
    if (!is_seen)
        return SPW_PROBE_OBSERVE;
    const bool leaves_it_to_another = lesson->tries && lesson->is_varied && lesson->tried_at == launch->geometry;
    const bool fits = launch->fits || is_tried_late(l, lesson, launch);
    return may_try(lesson) && fits && !leaves_it_to_another ? SPW_PROBE_REPLAY : SPW_PROBE_NOTHING;
}

static void note(const struct spw_probe_policy *l, struct spw_probed *lesson, const struct spw_probe_launch *launch)
{
    lesson->first_round = lesson->came ? lesson->first_round : l->rounds;
    lesson->came = true;
    lesson->is_strange |= launch->class->is_strange;
    lesson->fits_late |= launch->fits_late && launch->late_us <= l->late_left_us;
    if (!launch->fits)
        return;
    lesson->first_shape = lesson->fits ? lesson->first_shape : launch->geometry;
    lesson->is_varied |= lesson->first_shape != launch->geometry;
    lesson->fits = true;
}

static bool can_afford(struct spw_probe_policy *l, enum spw_probe_step step, const struct spw_probe_launch *launch)
{
    const double cost = costs[step] * launch->us, may_spend = l->allowed_us < l->left_us ? l->allowed_us : l->left_us;
    if (step == SPW_PROBE_REPLAY && !launch->fits) {
        l->late_left_us -= launch->late_us;
        return true;
    }
    if (step == SPW_PROBE_NOTHING || (l->spent_us + cost > may_spend && (l->spent_us > 0 || cost > l->left_us)))
        return false;
    l->spent_us += cost;
    return true;
}

enum spw_probe_step spw_probe_policy_next(struct spw_probe_policy *l, const struct spw_probe_launch *launch)
{
    if (!launch->class || !launch->class->count || l->is_complete)
        return SPW_PROBE_NOTHING;
    struct spw_probed *lesson = spw_probed_of_locked(launch->class, l->device);
    if (!lesson)
        return SPW_PROBE_NOTHING;
    note(l, lesson, launch);
    const enum spw_probe_step step = step_of(l, lesson, launch);
    const bool waits = step == SPW_PROBE_REPLAY && !launch->has_memory;
    const bool is_later = launch->fits_late && !lesson->fits && launch->late_us <= l->late_left_us && may_try(lesson);
    l->is_awaited |= lesson->under_way || waits || is_later;
    if (waits || !can_afford(l, step, launch))
        return SPW_PROBE_NOTHING;
    lesson->under_way = true;
    if (step == SPW_PROBE_REPLAY)
        lesson->tried_at = launch->geometry;
    return step;
}

/* The only place where the verdict on a class changes: a refusal is for good. */
static void judge(struct spw_probed *it, enum spw_replay_verdict verdict)
{
    SPW_ASSERT(it->verdict <= SPW_REPLAYABLE || verdict > SPW_REPLAYABLE, "a refusal is for good");
    it->verdict = verdict;
}

void spw_probe_class_observed(struct spw_probed *it)
{
    it->is_strange = false; /* or the next one says so again */
    it->under_way = false;
    it->looks++;
}

void spw_probe_class_widened(struct spw_probed *it)
{
    if (!it->tries || it->verdict > SPW_REPLAYABLE)
        return;
    it->tries = 0;
    judge(it, SPW_REPLAY_NOT_TRIED);
}

void spw_probe_class_replayed(struct spw_probed *it, enum spw_replay_verdict verdict)
{
    it->under_way = false;
    it->tries++;
    if (it->verdict <= SPW_REPLAYABLE)
        judge(it, verdict);
}

void spw_probe_class_missed(struct spw_probed *it)
{
    it->under_way = false;
    it->failures++;
}

enum spw_replay_verdict spw_probe_verdict_locked(const struct spw_launch_class *class, const struct spw_device *d)
{
    SPW_ASSERT_LOCKED(&spw_engine_lock);
    const struct spw_probed *it = class ? spw_probed_find(class, d) : NULL;
    if (!it)
        return SPW_REPLAY_NOT_TRIED;
    if (spw_function_is_condemned_locked(class->function))
        return SPW_REPLAY_MISMATCH;
    if (it->verdict == SPW_REPLAY_NOT_TRIED && class->changed && it->came && !it->fits && !it->fits_late)
        return SPW_REPLAY_TOO_LARGE;
    return it->verdict;
}
